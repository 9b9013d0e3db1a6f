"""Growth: what is decided, in which order, within which limits, and what stays as it was."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from forests import exactly
from growths import (
    LIKELIHOODS,
    Eager,
    assert_same_growth,
    assert_same_weights,
    grow,
    growth_on,
    make_growth,
    make_primitives,
    make_samples,
    make_tree,
    same_weights,
    scripted,
    visits,
)
from torch import Tensor, nn

from structnet.neural_tree import (
    Decision,
    Growth,
    NeuralTree,
    NeuralTreeSettings,
    Primitives,
    refine,
)
from structnet.neural_tree.growth import growth as growth_module
from structnet.neural_tree.growth.candidate import AtLeaf
from structnet.routing import Samples
from structnet.training.fitting import NonFiniteLossError
from structnet.training.metrics import evaluate

# ---- what is recorded


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_recorded_losses_are_those_of_the_tree(likelihood: str) -> None:
    found = []

    def check(growth: Growth, decision: Decision) -> None:
        tree = growth.tree
        loss = evaluate(tree, growth.validation, batch_size=7)["loss"]
        assert loss == pytest.approx(decision.loss, rel=1e-6)
        assert decision.loss == growth.loss
        assert decision.number == len(found)
        assert decision.leaves == tree.num_leaves
        assert decision.parameters == sum(p.numel() for p in tree.parameters())
        assert decision.seconds > 0
        found.append(decision)

    tree = make_tree(likelihood, norm=True)
    growth = grow(
        tree,
        likelihood=likelihood,
        epochs=6,
        max_leaves=4,
        max_transformers=3,
        callbacks=[check],
        warm_start_solvers=True,
    )
    taken = [decision for decision in found if decision.action != "keep"]
    assert len(taken) >= 3  # or this test has seen nothing
    losses = [decision.loss for decision in taken]
    assert losses == sorted(set(losses), reverse=True)
    assert found == growth.decisions
    assert growth.tree.num_leaves == 1 + sum(d.action == "split" for d in found)
    for before, after in pairwise(found):
        if after.action == "keep":
            assert (after.loss, after.leaves) == (before.loss, before.leaves)
        else:
            assert after.loss == min(after.candidates.values()) < before.loss


def test_history_names_what_each_epoch_trained() -> None:
    growth = grow(kind=scripted("split", "deepen"), max_leaves=2)
    phases = [(r["decision"], r["node"], r["phase"], r["epoch"]) for r in growth.history]
    expected = [(0, 0, "root", 1), (0, 0, "root", 2)]
    for decision in growth.decisions[1:]:
        for phase in decision.candidates:
            expected += [(decision.number, decision.node, phase, epoch) for epoch in (1, 2)]
    assert phases == expected
    assert "split" not in growth.decisions[-1].candidates
    for decision in growth.decisions[1:]:
        for phase, loss in decision.candidates.items():
            records = [r for r in growth.history if r["decision"] == decision.number]
            assert loss == min(r["validation_loss"] for r in records if r["phase"] == phase)


def test_the_best_of_several_attempts_counts() -> None:
    once = make_growth(kind=scripted("split"), seed=1)
    often = make_growth(kind=scripted("split"), seed=1, n_init=3)
    for growth in (once, often):
        growth.step()
        growth.step()
    for kind, loss in often.decisions[1].candidates.items():
        records = [r for r in often.history if (r["decision"], r["phase"]) == (1, kind)]
        attempts = [[r["validation_loss"] for r in records[i : i + 2]] for i in (0, 2, 4)]
        assert len(records) == 6
        assert len({losses[0] for losses in attempts}) == 3  # each began elsewhere
        assert min(attempts[0]) == once.decisions[1].candidates[kind]
        assert loss == min(map(min, attempts))
    assert often.decisions[1].loss < once.decisions[1].loss
    validation = evaluate(often.tree, often.validation)["loss"]
    assert validation == pytest.approx(often.decisions[1].candidates["split"], abs=1e-12)


class Breaking(nn.Linear):
    """A router that gives nothing but nan from its third use in training on."""

    used = 0

    def forward(self, x: Tensor) -> Tensor:
        self.used += self.training
        logit = super().forward(x)
        return logit * (torch.nan if self.used > 3 else 1.0)


def test_a_candidate_that_diverges_stops_there_and_growth_goes_on() -> None:
    plain = make_primitives()
    primitives = Primitives(lambda shape: Breaking(*shape, 1), plain.transformer, plain.solver)
    growth = make_growth(make_tree(primitives=primitives), epochs=5)
    growth.step()
    with pytest.warns(UserWarning, match=r"^a split of node 0 was stopped in epoch 2, batch 1:"):
        decision = growth.step()
    phases = [record["phase"] for record in growth.history if record["decision"] == 1]
    assert phases == ["split"] + ["deepen"] * 5
    first = next(record for record in growth.history if record["phase"] == "split")
    assert decision.candidates["split"] == first["validation_loss"]
    growth.tree.primitives = primitives.without(routers=True)
    growth.run()
    assert growth.done


def test_a_root_that_diverges_says_so() -> None:
    growth = make_growth(optimizer=partial(torch.optim.SGD, lr=1e300), likelihood="squares")
    with pytest.raises(NonFiniteLossError):
        growth.step()
    assert not growth.decisions


# ---- what stays as it was


@pytest.mark.parametrize("action", ["split", "deepen", "keep"])
@pytest.mark.parametrize("cache", [True, False])
def test_the_rest_of_the_tree_stays_as_it_is(action: str, cache: bool) -> None:
    tree = make_tree(norm=True, dropout=0.3)
    growth = make_growth(tree, scripted("split", "deepen", action), cache=cache)
    for _ in range(3):
        growth.step()
    leaf = growth.undecided[0]
    next(tree.nodes[0].transformers.parameters()).requires_grad_(False)
    for parameter in tree.parameters():
        parameter.grad = torch.ones_like(parameter)
    old = [*tree.named_parameters(), *tree.named_buffers()]
    before = [(value.detach().clone(), value.requires_grad) for _, value in old]
    assert any(name.endswith("running_mean") for name, _ in old)
    structure = tree.config()
    assert growth.step().action == action
    for (name, value), (then, requires_grad) in zip(old, before, strict=True):
        assert torch.equal(value, then), name
        assert value.requires_grad == requires_grad, name
        assert value.grad is None or torch.equal(value.grad, torch.ones_like(value)), name
    now = {id(value) for value in [*tree.parameters(), *tree.buffers()]}
    gone = [name for name, value in old if id(value) not in now]
    assert all(name.startswith(f"nodes.{leaf}.solver.") for name in gone)
    assert bool(gone) == (action != "keep")
    assert (tree.config() == structure) == (action == "keep")
    assert not any(module.training for module in tree.modules())
    new = [p for p in tree.parameters() if id(p) not in {id(value) for _, value in old}]
    assert all(p.requires_grad for p in new)


def test_a_trained_candidate_differs_from_its_start() -> None:
    growth = make_growth(make_tree(norm=True), scripted("split"))
    growth.step()
    fresh = growth._candidates(0)["split"]
    growth.step()
    router = growth.tree.nodes[0].router
    assert not torch.equal(router.weight, fresh.parts[0].weight)


def test_random_states_are_left_alone(tmp_path: Path) -> None:
    tree, again = (make_tree(primitives=noisy_primitives()) for _ in range(2))
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    growth = make_growth(tree, scripted("split", "deepen"), folder=tmp_path)
    for _ in range(3):
        growth.step()
    growth = make_growth(again, folder=tmp_path, resume=True)
    assert visits(growth) == [(0, "root"), (0, "split"), (1, "deepen")]
    assert random.getstate() == states[0]
    assert np.random.get_state()[1].tolist() == states[1]
    assert torch.equal(torch.get_rng_state(), states[2])


class Noise(nn.Module):
    """Noise in evaluation mode, too, of all three generators."""

    def forward(self, x: Tensor) -> Tensor:
        noise = random.random() + np.random.rand()
        return x + noise * nn.functional.dropout(torch.ones_like(x), training=True)


def noisy_primitives() -> Primitives:
    plain = make_primitives()
    return Primitives(
        plain.router,
        lambda shape: nn.Sequential(plain.transformer(shape), Noise()),
        plain.solver,
    )


# ---- in which order


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ((), [(0, "root"), (0, "keep")]),
        (
            ("split", "split", "keep"),
            [(0, "root"), (0, "split"), (1, "split"), (2, "keep"), (3, "keep"), (4, "keep")],
        ),
        (
            ("split", "keep", "split", "split"),
            [(0, "root"), (0, "split"), (1, "keep"), (2, "split"), (3, "split")]
            + [(v, "keep") for v in (4, 5, 6)],
        ),
        (
            ("deepen", "split", "deepen", "keep", "deepen"),
            [
                *[(0, "root"), (0, "deepen"), (0, "split"), (1, "deepen"), (2, "keep")],
                *[(1, "deepen"), (1, "keep")],
            ],
        ),
        (
            ("split", "deepen", "split", "split"),  # a deepened leaf waits behind its sister
            [(0, "root"), (0, "split"), (1, "deepen"), (2, "split"), (1, "split")]
            + [(v, "keep") for v in (3, 4, 5, 6)],
        ),
    ],
)
def test_every_leaf_is_visited_breadth_first(script: tuple, expected: list) -> None:
    growth = grow(kind=scripted(*script), epochs=1)
    assert visits(growth) == expected
    assert growth.done and growth.undecided == []
    assert growth.tree.num_leaves == 1 + script.count("split")
    with pytest.raises(StopIteration, match=exactly("every leaf is decided")):
        growth.step()
    growth.run()
    assert visits(growth) == expected


def test_callbacks_watch_every_step() -> None:
    seen = []
    growth = make_growth(
        kind=scripted("split"),
        epochs=1,
        callbacks=[lambda growth, decision: seen.append((growth.undecided[:], decision))],
    )
    assert not growth.done
    while not growth.done:
        decision = growth.step()
        assert seen[-1] == (growth.undecided, decision)
        assert decision is growth.decisions[-1]
    assert [undecided for undecided, _ in seen] == [[0], [1, 2], [2], []]


# ---- within which limits


def depth(tree: NeuralTree) -> int:
    return int(tree.topology.depth.max())


def longest(tree: NeuralTree) -> list[int]:
    return [tree.num_transformers(int(leaf)) for leaf in tree.topology.leaves]


def test_depth_is_limited() -> None:
    primitives = make_primitives().without(transformers=True)
    for limit in (0, 1, 2):
        growth = grow(make_tree(primitives=primitives), Eager, epochs=1, max_depth=limit)
        assert depth(growth.tree) == limit
        assert growth.tree.num_leaves == 2**limit


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_leaves_are_limited(limit: int) -> None:
    growth = grow(kind=Eager, epochs=1, max_leaves=limit, max_transformers=1)
    assert growth.tree.num_leaves == limit
    assert growth.decisions[-1].candidates == {}


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_transformers_are_limited(limit: int) -> None:
    class DeepFirst(Eager):
        order = ("deepen", "split")

    for kind in (Eager, DeepFirst):
        growth = grow(kind=kind, epochs=1, max_leaves=2, max_transformers=limit)
        assert longest(growth.tree) == [limit, limit]


def test_parameters_are_limited_to_the_number() -> None:
    for kind in ("split", "deepen"):
        reached = grow(kind=scripted(kind), epochs=1).decisions[1].parameters
        growth = grow(kind=scripted(kind), epochs=1, max_parameters=reached)
        assert growth.decisions[1].parameters == reached
        growth = grow(kind=scripted(kind), epochs=1, max_parameters=reached - 1)
        assert kind not in growth.decisions[1].candidates
        assert max(d.parameters for d in growth.decisions) < reached


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ({"split": 0.75, "deepen": 0.8}, "keep"),  # a gain of exactly min_gain is too small
        ({"split": 0.7, "deepen": 0.74}, "split"),
        ({"split": 0.8, "deepen": 0.74}, "deepen"),
        ({"split": 1.5}, "keep"),
        ({"deepen": 0.1}, "deepen"),
        ({"split": float("inf"), "deepen": 0.1}, "deepen"),
        ({}, "keep"),
    ],
)
def test_the_better_candidate_is_taken_if_it_gains_enough(losses: dict, expected: str) -> None:
    growth = make_growth(min_gain=0.25)
    growth.loss = 1.0
    assert growth.choose(losses) == expected


def test_without_a_gain_nothing_is_taken() -> None:
    growth = make_growth()
    growth.loss = 1.0
    assert growth.choose({"split": 1.0, "deepen": 1.0}) == "keep"


def test_no_routers_grow_a_chain() -> None:
    primitives = make_primitives().without(routers=True)
    growth = grow(make_tree(primitives=primitives), Eager, epochs=1, max_transformers=4)
    assert growth.tree.topology.num_nodes == 1 and longest(growth.tree) == [4]
    assert visits(growth) == [(0, "root"), *[(0, "deepen")] * 3, (0, "keep")]


def test_no_transformers_grow_by_splits_alone() -> None:
    primitives = make_primitives().without(transformers=True)
    growth = grow(make_tree(primitives=primitives), Eager, epochs=1, max_leaves=3)
    assert longest(growth.tree) == [0, 0, 0]
    assert {kind for d in growth.decisions for kind in d.candidates} == {"split"}


def test_neither_leaves_the_root_alone() -> None:
    primitives = make_primitives().without(routers=True, transformers=True)
    growth = grow(make_tree(primitives=primitives), epochs=1)
    assert visits(growth) == [(0, "root"), (0, "keep")]


def test_a_transformer_that_can_learn_nothing_is_no_candidate() -> None:
    plain = make_primitives()
    primitives = Primitives(plain.router, lambda shape: nn.Tanh(), plain.solver)
    growth = grow(make_tree(primitives=primitives), scripted("deepen"), epochs=1)
    assert set(growth.decisions[1].candidates) == {"split"}


@pytest.mark.parametrize(
    ("router", "transformer", "solver", "length", "expected"),
    [(7, 1, 1, 5, {"deepen"}), (1, 7, 1, 5, {"split"}), (1, 2, 7, 8, {"split"})],
)
def test_what_a_map_is_too_small_for_is_no_candidate(
    router: int, transformer: int, solver: int, length: int, expected: set
) -> None:
    def pooled(kernel: int, outputs: int) -> Callable:
        ends = nn.AdaptiveAvgPool1d(1), nn.Flatten()
        return lambda shape: nn.Sequential(nn.Conv1d(shape[0], outputs, kernel), *ends)

    primitives = Primitives(
        pooled(router, 1), lambda shape: nn.Conv1d(shape[0], 2, transformer), pooled(solver, 4)
    )
    samples = Samples(torch.randn(20, 3, length), torch.arange(20) % 4)
    growth = Growth(
        NeuralTree(primitives, (3, length)), samples, samples, NeuralTreeSettings(epochs=1)
    )
    growth.step()
    assert set(growth.step().candidates) == expected


@pytest.mark.parametrize("shared", ["router", "transformer", "solver"])
def test_modules_that_are_not_new_are_refused(shared: str) -> None:
    plain = make_primitives()
    parts = {name: getattr(plain, name) for name in ("router", "transformer", "solver")}
    only = parts[shared]((5,))
    parts[shared] = lambda shape: only
    if shared == "transformer":  # its shape must not change on the way
        only[0] = nn.Linear(3, 3)
    growth = make_growth(make_tree(primitives=Primitives(**parts)), scripted("split", "split"))
    growth.step()
    message = r"^the primitives gave a \w+ that shares what it learns with another module of the"
    with pytest.raises(ValueError, match=message):
        growth.run()


def test_several_attempts_at_one_module_are_refused() -> None:
    plain, router = make_primitives(), nn.Linear(5, 1)
    primitives = Primitives(lambda shape: router, plain.transformer, plain.solver)
    growth = make_growth(make_tree(primitives=primitives), n_init=2)
    growth.step()
    with pytest.raises(ValueError, match=r"^the primitives gave a Linear that shares what it"):
        growth.step()


def test_what_does_not_learn_may_be_shared() -> None:
    plain, frozen = make_primitives(), nn.Linear(5, 5).requires_grad_(False)
    primitives = Primitives(
        lambda shape: nn.Sequential(frozen, nn.Linear(5, 1)), plain.transformer, plain.solver
    )
    before, samples = frozen.weight.clone(), Samples(torch.randn(20, 3), torch.arange(20) % 4)
    how = {
        "n_init": 2,
        "max_leaves": 3,
        "max_transformers": 1,
        "balance_routers": False,
    }
    growth = growth_on(NeuralTree(primitives, (3,)), samples, samples, Eager, **how)
    growth.run()
    assert growth.tree.num_leaves == 3
    assert torch.equal(frozen.weight, before)


@pytest.mark.parametrize("weight", [None, 0.01])
@pytest.mark.parametrize("cache", [True, False])
def test_nothing_is_tried_where_hardly_a_sample_comes(cache: bool, weight: float | None) -> None:
    growth = make_growth(kind=scripted("split"), min_samples=5, cache=cache)
    if weight is not None:
        growth.train = Samples(growth.train.x, growth.train.targets, torch.full((60,), weight))
    growth.step()
    growth.step()
    nn.init.zeros_(growth.tree.nodes[0].router.weight)
    # of 60 samples, 4 are expected at the left leaf and 56 at the right one
    nn.init.constant_(growth.tree.nodes[0].router.bias, math.log(4 / 56))
    left, right = growth.step(), growth.step()
    assert (left.node, left.action, left.candidates) == (1, "keep", {})
    assert right.node == 2 and set(right.candidates) == {"split", "deepen"}


# ---- from which data


def test_all_training_is_on_the_samples_given(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    fit = growth_module.fit

    def watched(model: nn.Module, train: Any, validation: Any, **how: Any) -> Any:
        calls.append((train, validation, how["seed"]))
        return fit(model, train, validation, **how)

    monkeypatch.setattr(growth_module, "fit", watched)
    growth = grow(kind=scripted("split"), epochs=1, cache=False)
    assert len(calls) == 1 + 3 * 2
    for train, validation, _ in calls:
        assert train is growth.train and validation is growth.validation
    assert len({seed for *_, seed in calls}) == len(calls)


class Watched(Samples):
    """Counts how often each sample is taken."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "taken", np.zeros(len(self), np.int64))

    def __getitem__(self, indices: np.ndarray) -> Samples:
        self.taken[indices] += 1
        return super().__getitem__(indices)


@pytest.mark.parametrize("cache", [True, False])
def test_how_often_a_sample_is_taken(cache: bool) -> None:
    train, validation = (
        Watched(samples.x, samples.targets) for samples in (make_samples(60), make_samples(40, 1))
    )
    # A new router looks at some samples once more, to be scaled to them.
    growth = growth_on(
        make_tree(), train, validation, scripted("split"), balance_routers=False, cache=cache
    )
    growth.step()
    assert (train.taken == 2).all()  # once an epoch
    assert (validation.taken == 3).all()  # and before the first
    validation.taken -= 1
    growth.run()
    candidates = sum(len(decision.candidates) for decision in growth.decisions)
    visited = sum(bool(decision.candidates) for decision in growth.decisions)
    assert (candidates, visited) == (6, 3)
    for samples in (train, validation):
        expected = 2 + (visited if cache else 2 * candidates)
        assert (samples.taken[32:] == expected).all()
        probes = visited if cache else 0
        assert (samples.taken[:32] == expected + probes).all()


def test_a_cache_is_given_to_the_candidates_where_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = []
    monkeypatch.setattr(
        Growth,
        "_train",
        lambda self, model, phase, node, *data, **_: kinds.append([*map(type, data[:2])]) or 1.0,
    )
    samples = make_samples(60)
    size = 60 * (5 + 1 + 1) * 8  # features, log-probability and class of the root's samples
    for room, expected in (
        (2 * size, (AtLeaf, AtLeaf)),
        (2 * size - 1, (AtLeaf, Samples)),
        (size - 1, (Samples, Samples)),
        (0, (Samples, Samples)),
    ):
        kinds.clear()
        growth_on(make_tree(), samples, samples, cache_bytes=room).run()
        assert kinds[1:] == [list(expected)] * 2


# ---- from which seed


def test_the_seed_decides_the_tree() -> None:
    first, second, other = (
        grow(make_tree(dropout=0.2), max_leaves=3, max_transformers=2, kind=Eager, seed=seed)
        for seed in (3, 3, 4)
    )
    assert_same_growth(first, second)
    assert not same_weights(first.tree, other.tree)


def test_the_state_of_the_generators_does_not() -> None:
    noisy = noisy_primitives()
    first = grow(make_tree(primitives=noisy), scripted("split", "deepen"), epochs=1)
    random.random(), np.random.rand(), torch.rand(1)
    second = grow(make_tree(primitives=noisy), scripted("split", "deepen"), epochs=1)
    # Validation is random with these modules, but it is seeded with the epoch.
    assert_same_growth(first, second)


def test_modules_that_draw_from_numpy_are_seeded() -> None:
    def router(shape: tuple) -> nn.Module:
        module = nn.Linear(*shape, 1)
        nn.init.constant_(module.weight, np.random.rand() + random.random())
        return module

    plain = make_primitives()
    primitives = Primitives(router, plain.transformer, plain.solver)
    first = grow(make_tree(primitives=primitives), scripted("split"), epochs=1)
    random.random(), np.random.rand()
    second = grow(make_tree(primitives=primitives), scripted("split"), epochs=1)
    assert_same_growth(first, second)


def test_every_decision_draws_its_own_modules() -> None:
    growth = make_growth(kind=scripted("split"))
    growth.step()
    growth.step()
    first = growth._candidates(1)["split"]
    assert same_weights(first, growth._candidates(1)["split"])
    growth.step()
    assert not same_weights(first, growth._candidates(2)["split"])


# ---- with which solvers


def test_warm_solvers_are_copies_of_the_leafs() -> None:
    growth = make_growth(warm_start_solvers=True)
    growth.step()
    old = growth.tree.nodes[0].solver
    candidates = growth._candidates(0)
    new = [*candidates["split"].parts[1:], *candidates["deepen"].parts[1:]]
    assert len(new) == 3
    storages = {p.untyped_storage().data_ptr() for p in old.parameters()}
    for solver in new:
        assert torch.equal(solver.weight, old.weight) and torch.equal(solver.bias, old.bias)
        here = {p.untyped_storage().data_ptr() for p in solver.parameters()}
        assert not here & storages
        storages |= here
    cold = make_growth()
    cold.step()
    assert not same_weights(cold._candidates(0)["split"].parts[1], cold.tree.nodes[0].solver)


def test_a_warm_split_starts_at_the_trees_loss() -> None:
    growth = make_growth(warm_start_solvers=True)
    growth.step()
    split = growth._candidates(0)["split"]
    loss = evaluate(split, growth.validation)["loss"]
    assert loss == pytest.approx(growth.loss, rel=1e-12)


def test_a_solver_of_another_shape_starts_anew() -> None:
    plain = make_primitives()
    widths = iter([5, 7, 9])
    primitives = Primitives(
        plain.router, lambda shape: nn.Linear(*shape, next(widths)), plain.solver
    )
    growth = make_growth(make_tree(primitives=primitives), warm_start_solvers=True)
    growth.step()
    assert growth._candidates(0)["deepen"].parts[1].weight.shape == (4, 7)


# ---- when something goes wrong


def test_an_interrupted_step_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = grow(kind=scripted("split", "deepen"))
    growth = make_growth(kind=scripted("split", "deepen"))
    growth.step()
    train = Growth._train

    def interrupted(self: Growth, model: nn.Module, phase: str, *rest: Any) -> float:
        if phase == "deepen":
            raise KeyboardInterrupt
        return train(self, model, phase, *rest)

    monkeypatch.setattr(Growth, "_train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        growth.step()
    monkeypatch.undo()
    growth.run()
    assert_same_growth(growth, whole)


def test_validation_samples_that_are_not_finite_are_refused() -> None:
    train, validation = make_samples(60), make_samples(40)
    validation.x[3] = torch.nan
    growth = growth_on(make_tree(), train, validation)
    message = "the validation loss of the root is nan; expected a finite one: look for nan and inf"
    with pytest.raises(ValueError, match=message):
        growth.step()
    assert not growth.decisions


def test_a_loss_that_is_never_finite_is_never_taken() -> None:
    class Mean(nn.Linear):  # finite where it learns, nan where it is judged
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * (1.0 if self.training else torch.nan)

    plain = make_primitives()
    primitives = Primitives(lambda shape: Mean(*shape, 1), plain.transformer, plain.solver)
    growth = make_growth(make_tree(primitives=primitives), balance_routers=False)
    growth.step()
    decision = growth.step()
    assert decision.candidates["split"] == float("inf")
    assert decision.action != "split"


def test_a_root_that_begins_as_a_trained_network_does_not_get_worse() -> None:
    first = make_growth(epochs=20)
    first.step()
    tree = make_tree()
    tree.load_state_dict(first.tree.state_dict())
    again = make_growth(tree, optimizer=partial(torch.optim.SGD, lr=300.0))
    assert again.step().loss == pytest.approx(first.loss, abs=1e-12)
    assert_same_weights(again.tree, first.tree)
    assert min(again.history["validation_loss"]) > first.loss
    assert again.history.best is None


@pytest.mark.parametrize("name", ["n_init", "epochs", "patience", "batch_size", "max_leaves"])
def test_numbers_out_of_range(name: str) -> None:
    message = f"The '{name}' parameter must be an int in the range [1, inf)"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}.* Got 0 instead.$"):
        make_growth(**{name: 0})


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("wrong", [4, -1])
def test_every_class_has_an_output(place: int, wrong: int) -> None:
    both = [make_samples(20), make_samples(20)]
    both[place].targets[7] = wrong
    message = f"targets must be classes from 0 to 3, as the tree has 4 outputs. Got {wrong}."
    with pytest.raises(ValueError, match=exactly(message)):
        Growth(make_tree(), *both)


def test_a_tree_that_has_grown_cannot_grow_again() -> None:
    tree = make_tree()
    tree.split(0)
    message = "growth begins with a root alone; the tree has 2 leaves"
    with pytest.raises(ValueError, match=exactly(message)):
        make_growth(tree)


def test_there_must_be_a_sample_for_each_class() -> None:
    message = "there are 3 samples to learn 4 classes from; expected at least one for each"
    with pytest.raises(ValueError, match=exactly(message)):
        Growth(make_tree(), make_samples(3), make_samples(40))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.0] * 5, "the weights of all 5 samples are 0; expected one that counts"),
        ([3.0, 3.0, 0.0, 0.0, -1.0], "weights must be 0 or more. Got -1."),
    ],
)
def test_weights_must_count(weights: list, message: str) -> None:
    x, classes = torch.zeros(5, 3).double(), torch.arange(5) % 4
    with pytest.raises(ValueError, match=exactly(message)):
        Growth(make_tree(), make_samples(60), Samples(x, classes, torch.tensor(weights)))
    with pytest.raises(ValueError, match=exactly(message)):
        refine(make_tree(), Samples(x, classes, torch.tensor(weights)), make_samples(60))


def test_settings_and_likelihoods_are_what_they_should_be() -> None:
    with pytest.raises(
        TypeError, match=r"^The 'settings' parameter of Growth must be Neural.* Got {"
    ):
        Growth(make_tree(), make_samples(60), make_samples(40), {"max_leaves": 3})
    with pytest.raises(TypeError, match=r"^the likelihood must be one, such as Sq.* Got 'gauss'"):
        NeuralTree(make_primitives(), (3,), "gauss")
    with pytest.raises(TypeError, match=r"^x must be a tensor. Got ndarray"):
        Samples(np.zeros((3, 2)), torch.zeros(3))


@pytest.mark.parametrize(("train", "validation"), [(0, 40), (60, 0)])
def test_there_must_be_samples(train: int, validation: int) -> None:
    message = (
        "growth needs samples to learn from and others to decide by; got "
        f"{train} for training and {validation} for validation"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        Growth(make_tree(), make_samples(train), make_samples(validation))
