"""What is tried at a leaf and what is taken: within which limits, with which solvers."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
import torch
from growths import (
    LIKELIHOODS,
    Eager,
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
from torch import nn

from structnet.neural_tree import Growth, NeuralTree, NeuralTreeSettings, Primitives
from structnet.neural_tree.growth.decision import Gain
from structnet.routing import Samples
from structnet.routing.visits import shares
from structnet.training.gains import gained
from structnet.training.metrics import evaluate

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
    gains = {kind: Gain(loss, 1.0 - loss, error=0.01) for kind, loss in losses.items()}
    assert make_growth(min_gain=0.25).choose(gains) == expected


@pytest.mark.parametrize(
    ("given", "gain", "expected"),
    [
        ({"gain_errors": 2.0}, Gain(0.8, 0.2, error=0.1), "keep"),  # exactly as much is noise
        ({"gain_errors": 2.0}, Gain(0.8, 0.2, error=0.099), "split"),
        ({"gain_errors": 0.1}, Gain(0.8, 0.2, error=float("inf")), "keep"),  # of one sample
        ({"gain_errors": 0.0}, Gain(0.8, 0.2, error=float("inf")), "split"),
        ({}, Gain(1.0, 0.0, error=0.0), "keep"),
        ({"prune": 0.02}, Gain(0.5, 0.5, error=0.1, share=0.019), "keep"),
        ({"prune": 0.02}, Gain(0.5, 0.5, error=0.1, share=0.02), "split"),
        ({"prune": None}, Gain(0.5, 0.5, error=0.1, share=0.0), "split"),
    ],
)
def test_noise_and_handfuls_are_no_gain(given: dict, gain: Gain, expected: str) -> None:
    assert make_growth(**given).choose({"split": gain}) == expected


def test_a_split_may_be_preferred_unless_a_deepening_is_better_beyond_chance() -> None:
    gains = {"split": Gain(0.8, 0.2, 0.04), "deepen": Gain(0.7, 0.3, 0.03)}
    assert make_growth(prefer_split=False).choose(gains) == "deepen"
    assert make_growth(prefer_split=True, gain_errors=2.1).choose(gains) == "split"
    assert make_growth(prefer_split=True, gain_errors=1.9).choose(gains) == "deepen"
    assert (
        make_growth(prefer_split=True, gain_errors=1.9).choose({"split": gains["split"]}) == "split"
    )
    noise = gains | {"split": Gain(0.8, 0.2, 0.3)}
    assert make_growth(prefer_split=True, gain_errors=1.0).choose(noise) == "deepen"


@pytest.mark.parametrize("prefer", [True, False])
def test_where_a_split_is_taken_a_deepening_need_not_be_tried(prefer: bool) -> None:
    growth = grow(kind=scripted("split"), prefer_split=prefer)
    assert set(growth.decisions[1].candidates) == ({"split"} if prefer else {"split", "deepen"})
    assert {"split", "deepen"} == set(growth.decisions[2].candidates)  # nothing was taken there


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_a_gain_and_its_error_are_those_of_the_trees(likelihood: str, weighted: bool) -> None:
    tree = make_tree(likelihood)
    samples = [make_samples(n, n, likelihood, weighted) for n in (60, 40)]
    growth = growth_on(tree, *samples, scripted("split"))
    for _ in range(2):
        before, _ = deepcopy(growth.tree), growth.step()
    decision, weights = growth.decisions[1], torch.from_numpy(samples[1].counts())
    with torch.no_grad():
        drops = before.losses(samples[1]) - growth.tree.losses(samples[1])
    gain = (weights * drops).sum() / weights.sum()
    assert gain.item() == pytest.approx(growth.decisions[0].loss - decision.loss)
    if not weighted:  # as every book has it
        assert decision.errors["split"] == pytest.approx(drops.std().item() / 40**0.5)
    doubled = gained(*np.random.default_rng(0).random((2, 9)), np.full(9, 7.0))
    assert doubled == pytest.approx(gained(*np.random.default_rng(0).random((2, 9)), np.ones(9)))


def test_the_share_of_a_split_is_that_of_its_least_leaf() -> None:
    found = []

    class Asked(Growth):
        def choose(self, gains: dict[str, Gain]) -> str:
            found.append(gains["split"].share)
            return "split" if len(found) == 1 else "keep"

    growth = make_growth(kind=Asked)
    for _ in range(2):
        growth.step()
    assert found == [pytest.approx(shares(growth.tree, growth.train, "multi")[[1, 2]].min())]


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
        NeuralTree(primitives, (3, length)),
        samples,
        samples,
        NeuralTreeSettings(epochs=1, min_samples=2),
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
    message = r"^the primitives gave a \w+ that shares parameters with another module of the"
    with pytest.raises(ValueError, match=message):
        growth.run()


def test_several_attempts_at_one_module_are_refused() -> None:
    plain, router = make_primitives(), nn.Linear(5, 1)
    primitives = Primitives(lambda shape: router, plain.transformer, plain.solver)
    growth = make_growth(make_tree(primitives=primitives), n_init=2)
    growth.step()
    with pytest.raises(ValueError, match=r"^the primitives gave a Linear that shares parameters"):
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
@pytest.mark.parametrize("cache_bytes", [4e9, 0])
def test_nothing_is_tried_where_hardly_a_sample_comes(
    cache_bytes: float, weight: float | None
) -> None:
    growth = make_growth(kind=scripted("split"), min_samples=5, cache_bytes=cache_bytes)
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


# ---- with which solvers


def test_warm_solvers_are_copies_of_the_leafs() -> None:
    growth = make_growth(warm_start_solvers=True)
    growth.step()
    old = growth.tree.nodes[0].solver
    [split], [deepening] = growth._candidates(0).values()
    new = [*split.parts[1:], *deepening.parts[1:]]
    assert len(new) == 3
    storages = {p.untyped_storage().data_ptr() for p in old.parameters()}
    for solver in new:
        assert torch.equal(solver.weight, old.weight) and torch.equal(solver.bias, old.bias)
        here = {p.untyped_storage().data_ptr() for p in solver.parameters()}
        assert not here & storages
        storages |= here
    cold = make_growth()
    cold.step()
    assert not same_weights(cold._candidates(0)["split"][0].parts[1], cold.tree.nodes[0].solver)


def test_a_warm_split_starts_at_the_trees_loss() -> None:
    growth = make_growth(warm_start_solvers=True)
    growth.step()
    [split] = growth._candidates(0)["split"]
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
    assert growth._candidates(0)["deepen"][0].parts[1].weight.shape == (4, 7)
