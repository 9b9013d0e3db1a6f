"""Splits that begin as steps: regions with hard borders, each with a constant residual."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from outputs import effective
from sklearn.tree import DecisionTreeClassifier

from structnet.neural_tree import (
    Growth,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeSettings,
    SquaredError,
    presets,
)
from structnet.neural_tree.growth.decision import Gain, takes_place
from structnet.neural_tree.growth.lookahead import FEW
from structnet.neural_tree.growth.regions import Regions, border_at, find_regions
from structnet.neural_tree.growth.steps import find_steps
from structnet.routing import Samples
from structnet.routing.topology import Topology
from structnet.training.gains import gained


def rules(size: int, seed: int, columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Two classes by three thresholds, two of which are seen only together."""
    x = np.random.default_rng(seed).normal(size=(size, columns))
    return x, (((x[:, 0] > 0.3) & (x[:, 1] < 0.5)) ^ (x[:, 2] > 0.6)).astype(int)


def towers(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers on four levels, with noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(size, 3))
    y = 4.0 * (x[:, 0] > 0.3) + 2.0 * (x[:, 2] > 0.8) + 0.1 * rng.normal(size=size)
    return x, y[:, None] - y.mean()


def left_over(found: Regions, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """The weighted sum of squares around the mean of each region, found without the tree."""
    at = np.zeros(len(x), int)
    for v, cut in enumerate(found.cuts):
        if cut is not None:
            np.testing.assert_array_equal(cut.members, (at == v) & (weights > 0))
            left, right = found.children[v]
            below = x @ found.axes[cut.axis] < cut.threshold
            at = np.where(at == v, np.where(below, left, right), at)
    total = 0.0
    for v in np.unique(at):
        w, part = weights[at == v], y[at == v]
        if w.sum():
            total += float(w @ np.square(part - np.average(part, axis=0, weights=w)).sum(1))
    return total


def test_borders_are_the_thresholds_of_the_steps() -> None:
    x, y = towers(600)
    found = find_steps(x, y, np.ones(600), most=16, least=8)
    Topology(found.children)  # refuses what is no tree
    cuts = sorted((cut.axis, round(cut.threshold, 2)) for cut in found.cuts if cut)
    assert {axis for axis, _ in cuts} == {0, 2} and len(cuts) == 3
    assert all(abs(at - {0: 0.3, 2: 0.8}[axis]) <= 0.02 for axis, at in cuts)


@pytest.mark.parametrize("outputs", [1, 3])
def test_its_criterion_is_that_of_what_is_left(outputs: int) -> None:
    rng = np.random.default_rng(1)
    x, y = towers(400)
    y = y @ rng.normal(size=(1, outputs)) + 0.1 * rng.normal(size=(400, outputs))
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=400)
    found = find_steps(x, y, weights, most=16, least=8)
    number, total = sum(cut is not None for cut in found.cuts), weights.sum()
    assert number >= 3
    whole = left_over(Regions([()], [None], np.eye(3)), x, y, weights)
    apart = effective(y, weights)
    price = ((1 + apart) * np.log(total) + 2 * np.log(3)) * number
    told = total * apart * np.log(left_over(found, x, y, weights) / whole) + price
    assert found.value == pytest.approx(told)
    one_cut_less = found.first(len(found.children) - 2)
    less = total * apart * np.log(left_over(one_cut_less, x, y, weights) / whole)
    assert found.value < less + price


def test_noise_is_one_region() -> None:
    x, y = towers(600)
    noise = np.random.default_rng(3).permutation(y)
    for columns in (x, np.random.default_rng(4).normal(size=(600, 60))):
        found = find_steps(columns, noise, np.ones(600), most=16, least=8)
        assert (found.children, found.value) == ([()], 0.0)


def test_regions_are_as_few_and_as_large_as_asked() -> None:
    x, y = towers(600)
    assert len(find_steps(x, y, np.ones(600), most=2, least=8).children) == 3
    assert len(find_steps(x, y, np.ones(600), most=1, least=8).children) == 1
    assert len(find_steps(x, y, np.ones(600), most=16, least=301).children) == 1
    found = find_steps(x, y, np.ones(600), most=16, least=100)
    assert len(found.children) > 1  # the region of 20 % of 30 % is too small
    assert all(cut.members.sum() >= 200 for cut in found.cuts if cut)


def growth_of(x: np.ndarray, y: np.ndarray) -> Growth:
    samples = Samples(torch.tensor(x).float(), torch.tensor(y).float())
    root = NeuralTree(presets.table(1), (x.shape[1],), SquaredError())
    growth = Growth(root, samples, samples, NeuralTreeSettings(epochs=20))
    growth.step()
    return growth


def test_steps_are_tried_beside_lines_where_they_tell_more() -> None:
    x, y = rules(800, 0)
    starts = growth_of(x, y[:, None] - y.mean())._candidates(0)["split"]
    assert len(starts) == 2
    samples = Samples(torch.tensor(x).float(), torch.tensor(y))
    reached = [start.shares(samples) for start in starts]
    soft, hard = (each.max(1).values.mean().item() for each in reached)
    assert soft < 0.8 and hard > 0.98  # the share that takes its likeliest way
    assert reached[1].mean(0).min() * 800 >= FEW - 1
    bent = np.abs(x[:, :1]) - 0.8  # two lines, and many steps
    assert len(growth_of(x, bent)._candidates(0)["split"]) == 1


def test_steps_replace_lines_only_beyond_chance() -> None:
    how, rng = (NeuralTreeSettings(gain_errors=2.0), gained), np.random.default_rng(0)
    losses = rng.uniform(size=100)
    lines = Gain(losses.mean(), 0.1, 0.01, after=losses, leaves=2)
    for lower, sure in ((0.05, True), (0.001, False)):
        after = losses - lower + 0.05 * rng.normal(size=100)
        after += losses.mean() - lower - after.mean()
        steps = Gain(after.mean(), 0.1, 0.01, steps=True, after=after, leaves=3)
        assert takes_place(steps, lines, *how) == sure
        assert takes_place(steps._replace(steps=False), lines, *how)
        assert takes_place(steps._replace(leaves=2), lines, *how)  # follows no more noise
        sums = steps._replace(leaves=1), lines._replace(leaves=1)
        assert takes_place(*sums, *how) == sure
        assert not takes_place(lines, steps, *how)
        diverged = Gain(float("inf"), 0.0, 0.0, after=np.full(100, np.nan))
        assert takes_place(steps, diverged, *how)


def test_rules_with_thresholds_are_learned_as_by_a_decision_tree() -> None:
    x, y = rules(600, 0)
    x_test, y_test = rules(4000, 1)
    model = NeuralTreeClassifier(random_state=0, refine_epochs=5).fit(x, y)
    tree = DecisionTreeClassifier(random_state=0).fit(x, y)
    assert model.score(x_test, y_test) > max(0.975, tree.score(x_test, y_test) - 0.015)


def test_as_many_regions_are_told_apart_as_there_are() -> None:
    """Eight classes in 25 fields of uneven sizes: with 16 leaves, 7 % are wrong."""

    def fields(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        x = np.random.default_rng(seed).uniform(size=(size, 4))
        row, column = (np.searchsorted([0.15, 0.4, 0.6, 0.85], x[:, i]) for i in (0, 1))
        return x, np.random.default_rng(5).permutation(25)[5 * row + column] % 8

    x, y = fields(1200, 0)
    model = NeuralTreeClassifier(random_state=0, refine_epochs=5).fit(x, y)
    assert model.score(*fields(4000, 1)) > 0.97


def test_a_smooth_surface_is_not_cut_into_steps() -> None:
    x = np.random.default_rng(0).normal(size=(1000, 6))
    y = np.square(x).sum(axis=1) > 5.35  # the median
    model = NeuralTreeClassifier(random_state=0, refine_epochs=0).fit(x, y)
    assert model.get_n_leaves() == 1 and model.tree_.num_transformers(0) == 1


def test_between_few_values_there_is_no_doubt() -> None:
    """Of hours, 6 and 7 are as different as 0 and 23, though they are close to each other."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(0, 24, 900), rng.normal(15, 8, 900)]).astype(float)
    rush = ((x[:, 0] >= 7) & (x[:, 0] <= 9)) * 3 + ((x[:, 0] >= 17) & (x[:, 0] <= 20)) * 5
    y = rush + 0.3 * np.maximum(18 - x[:, 1], 0) + 0.8 * rng.normal(size=900)
    found = find_regions(x, y[:, None] - y.mean(), np.ones(900), most=8, least=36)
    hours = [cut for cut in found.cuts if cut is not None and cut.axis == 0]
    assert hours and all(cut.threshold % 1 == 0.5 and cut.reach == 0.5 for cut in hours)
    few_samples = x[:30, 1]  # which are not few values
    assert border_at(few_samples, 15.0) == (15.0, few_samples.std())


def test_of_many_columns_only_those_of_cuts_are_axes() -> None:
    x = np.random.default_rng(0).normal(size=(200, 3000))
    found = find_steps(x, np.where(x[:, [7]] > 0, 3.0, -3.0), np.ones(200), most=8, least=8)
    first = found.cuts[0]
    assert first is not None and found.axes[first.axis].argmax() == 7
    assert len(found.axes) <= sum(cut is not None for cut in found.cuts)
    assert find_steps(x[:9], x[:9, [0]], np.ones(9), most=8, least=8).axes.shape == (0, 3000)
