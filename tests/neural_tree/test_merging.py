"""Leaves of a new split that need not be told apart become one leaf again."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from structnet.neural_tree import (
    Growth,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeSettings,
    SquaredError,
    presets,
)
from structnet.neural_tree.growth import judging
from structnet.neural_tree.growth.candidate import Split
from structnet.neural_tree.growth.merging import merged
from structnet.routing import Samples
from structnet.routing.topology import Topology
from structnet.training.metrics import evaluate

CUTS = [(1, 2), (3, 4), (5, 6), (), (), (), ()]  # at 0.5, and at 0.25 and 0.75


def stairs(heights: list[float]) -> Split:
    """A split of the numbers from 0 to 1 into four steps."""
    tree = NeuralTree(presets.table(1), (1,), SquaredError())
    parts: list[nn.Linear] = []
    for v, below in enumerate(CUTS):
        part = nn.Linear(1, 1)
        weight, bias = (-400.0, 400.0 * (0.5, 0.25, 0.75)[v]) if below else (0.0, heights[v - 3])
        nn.init.constant_(part.weight, weight)
        nn.init.constant_(part.bias, bias)
        parts.append(part)
    return Split(tree, 0, parts, Topology(CUTS), steps=True)


def samples(size: int, heights: list[float]) -> Samples:
    x = torch.rand(size, 1, generator=torch.Generator().manual_seed(size))
    return Samples(x, torch.tensor(heights)[(4 * x[:, 0]).long()][:, None])


@pytest.mark.parametrize(
    ("heights", "children"),
    [
        ([0.0, 1.0, 2.0, 3.0], CUTS),
        ([0.0, 0.0, 2.0, 3.0], [(1, 2), (), (3, 4), (), ()]),
        ([0.0, 1.0, 3.0, 3.0], [(1, 2), (3, 4), (), (), ()]),
        ([0.0, 0.0, 3.0, 3.0], [(1, 2), (), ()]),
        ([1.0, 1.0, 1.0, 1.0], [(1, 2), (), ()]),  # the first cut stays
    ],
)
def test_only_cuts_that_separate_nothing_go(heights: list, children: list) -> None:
    split, validation = stairs(heights), samples(300, heights)
    smaller, loss = merged(split, samples(200, heights), validation, 0.01)
    assert smaller.topology.to_lists() == children and smaller.steps
    assert (smaller is split) == (children == CUTS)
    assert loss == pytest.approx(evaluate(smaller, validation)["loss"])
    torch.testing.assert_close(smaller.losses(validation), split.losses(validation))


def test_all_cuts_that_go_cost_no_more_than_allowed() -> None:
    """Each of the two lower cuts gains about 0.005: one of them may go at 0.007, both at 0.02."""
    heights = [0.0, 0.2, 3.0, 3.2]
    split, validation = stairs(heights), samples(4000, heights)
    leaves = [
        len(merged(split, validation, validation, least)[0].solvers) for least in (0.0, 0.007, 0.02)
    ]
    assert leaves == [4, 3, 2]


def test_one_leaf_in_place_of_two_is_their_mean_by_shares() -> None:
    heights = [0.0, 0.4, 3.0, 5.0]
    split, train = stairs(heights), samples(1000, heights)
    kept = (train.x[:, 0] < 0.25) | (torch.arange(1000) % 3 == 0)
    train = Samples(train.x, train.targets, kept.float() * 1000 / kept.sum())
    smaller, _ = merged(split, train, samples(300, heights), 0.05)
    assert smaller.topology.to_lists() == [(1, 2), (), (3, 4), (), ()]
    lower = train.x[kept & (train.x[:, 0] < 0.5), 0]
    share = (lower > 0.25).double().mean().item()
    assert smaller.parts[1].bias.item() == pytest.approx(0.4 * share, abs=0.01)
    assert split.parts[3].bias.item() == 0  # the split itself stays as it was


def test_a_growth_takes_the_smaller_split(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(800, 5))
    y = ((x[:, 0] > 0.3) & (x[:, 1] < 0.5)) ^ (x[:, 2] > 0.6)
    data = Samples(torch.tensor(x).float(), torch.tensor(y).long())
    rest, validation = data[np.arange(600)], data[np.arange(600, 800)]
    found = []
    monkeypatch.setattr(judging, "merged", lambda split, *_: (split, 0.0))
    root = NeuralTree(presets.table(2), (5,))
    growth = Growth(root, rest, validation, NeuralTreeSettings())
    growth.step()
    old = root.losses(validation).detach().numpy()
    trained = growth._train_candidates(0)["split"][1]
    for least in (-1e9, 0.003):  # nothing may be lost; as by default
        smaller, loss = merged(trained, rest, validation, least)
        found.append((len(smaller.solvers), loss))
    assert found[1][0] < found[0][0] and found[1][1] <= found[0][1] + 0.003
    monkeypatch.undo()
    before = growth.loss
    told = growth.step()
    assert growth.tree.num_leaves == found[1][0]
    assert told.loss == told.candidates["split"] == growth.loss  # of the smaller split
    after = growth.tree.losses(validation).detach().numpy()
    assert told.errors["split"] == pytest.approx(np.std(old - after, ddof=1) / len(old) ** 0.5)
    assert before - told.loss == pytest.approx((old - after).mean(), rel=1e-4)
    assert growth.loss == pytest.approx(evaluate(growth.tree, validation)["loss"], rel=1e-4)


def test_a_split_is_judged_without_the_cuts_that_go() -> None:
    """Its gain, by which it is taken or not, is that of the split which is put into the tree."""
    heights = [0.0, 0.1, 3.0, 3.1]  # each lower cut gains about 0.001
    split, train, validation = stairs(heights), samples(800, heights), samples(4000, heights)
    judge = judging.Judge(split.tree, train, validation, NeuralTreeSettings())
    before = judge.before()
    gain, smaller = judge.judged(0.0, before, split, train, validation)
    assert gain.leaves == len(smaller.solvers) == 2
    after = smaller.losses(validation).detach().double().numpy()
    assert gain.loss == pytest.approx(after.mean()) and gain.loss > 0.001
    assert gain.gain == pytest.approx((before - after).mean())


def test_rules_are_as_short_as_they_can_be_and_as_right() -> None:
    def boxes(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(size, 4))
        inside = (np.abs(x[:, 0]) < 0.7) & (np.abs(x[:, 1]) < 0.9)
        return x, inside ^ (rng.uniform(size=size) < 0.05)

    model = NeuralTreeClassifier(random_state=0).fit(*boxes(1000, 100))
    assert model.get_n_leaves() == 5  # a box has four sides
    assert model.score(*boxes(5000, 900)) > 0.93
