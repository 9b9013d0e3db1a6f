"""From which samples, and from which seed, a tree grows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from growths import (
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

from structnet.neural_tree import Growth, Primitives
from structnet.neural_tree.growth import growth as growth_module
from structnet.neural_tree.growth.candidate import AtLeaf
from structnet.routing import Samples


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


def test_all_training_is_on_the_samples_given(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    fit = growth_module.fit

    def watched(model: nn.Module, train: Any, validation: Any, **how: Any) -> Any:
        calls.append((train, validation, how["seed"]))
        return fit(model, train, validation, **how)

    monkeypatch.setattr(growth_module, "fit", watched)
    growth = grow(kind=scripted("split"), epochs=1, cache_bytes=0)
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


@pytest.mark.parametrize("cache_bytes", [4e9, 0])
def test_how_often_a_sample_is_taken(cache_bytes: float) -> None:
    train, validation = (
        Watched(samples.x, samples.targets) for samples in (make_samples(60), make_samples(40, 1))
    )
    # A new router looks at some samples once more, to be scaled to them.
    how = {"balance_routers": False, "cache_bytes": cache_bytes}
    growth = growth_on(make_tree(), train, validation, scripted("split"), **how)
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
    more = [0, visited] if cache_bytes else [splits, 2 * visited + candidates]
    for samples, asked in zip((train, validation), more, strict=True):
        expected = 2 + asked + (visited if cache_bytes else 2 * candidates)
        assert (samples.taken[32:] == expected).all()
        probes = 2 * visited if cache_bytes else 0
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
    [first] = growth._candidates(1)["split"]
    assert same_weights(first, growth._candidates(1)["split"][0])
    growth.step()
    assert not same_weights(first, growth._candidates(2)["split"][0])
