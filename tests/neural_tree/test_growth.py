"""Growth: what is decided, in which order, from which data, and what stays as it was."""

from __future__ import annotations

import random
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
    Primitives,
)
from structnet.neural_tree.growth import growth as growth_module
from structnet.neural_tree.growth.candidate import AtLeaf
from structnet.routing import Samples
from structnet.training.loop import NonFiniteLossError
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
    splits = sum("split" in decision.candidates for decision in growth.decisions)
    # For the shares of a split's sides; for what is lost at the leaf, the losses before, and those
    # with each candidate.
    more = [0, visited] if cache else [splits, 2 * visited + candidates]
    for samples, asked in zip((train, validation), more, strict=True):
        expected = 2 + asked + (visited if cache else 2 * candidates)
        assert (samples.taken[32:] == expected).all()
        probes = 2 * visited if cache else 0
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
