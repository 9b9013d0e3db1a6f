"""Directions of classes' residuals: one for steps of a number, all where each class is a kind."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from structnet.neural_tree import NeuralTree, NeuralTreeSettings, presets
from structnet.neural_tree.growth.candidate import Deepening
from structnet.neural_tree.growth.directions import telling
from structnet.neural_tree.growth.proposal import propose
from structnet.neural_tree.linear import fit_linear
from structnet.routing import Samples


def ordered(size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, a curved number with noise, and the fifths that it falls into."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (size, 5))
    number = np.sin(2 * x[:, 0]) + np.square(x[:, 1]) / 2 + np.abs(x[:, 2])
    number += 0.3 * rng.normal(size=size)
    return x, number, np.searchsorted(np.quantile(number, [0.2, 0.4, 0.6, 0.8]), number)


def residuals_of(codes: np.ndarray) -> np.ndarray:
    found = np.eye(codes.max() + 1)[codes]
    return found - found.mean(axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_steps_of_a_number_have_its_direction(seed: int) -> None:
    x, number, codes = ordered(800, seed)
    found = telling(x, residuals_of(codes), np.ones(800))
    assert found.shape == (5, 1)
    along = residuals_of(codes) @ found
    assert abs(np.corrcoef(along[:, 0], number)[0, 1]) > 0.9
    assert along.var() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
def test_kinds_and_noise_have_all_directions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(4, size=600)
    kinds = rng.normal(scale=4, size=(4, 6))[codes] + rng.normal(size=(600, 6))
    for x in (kinds, rng.normal(size=(600, 6)), np.zeros((600, 6))):
        assert np.array_equal(telling(x, residuals_of(codes), np.ones(600)), np.eye(4))


@pytest.mark.parametrize("seed", range(3))
def test_noise_of_many_classes_has_all_directions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for size, columns, classes in ((100, 100, 10), (1000, 20, 26), (2000, 20, 100)):
        x, codes = rng.normal(size=(size, columns)), np.arange(size) % classes
        found = telling(x, residuals_of(codes), np.ones(size))
        assert np.array_equal(found, np.eye(classes))


def test_two_classes_few_samples_and_what_is_explained_have_all_directions() -> None:
    x, _, codes = ordered(800, 0)
    assert np.array_equal(telling(x, residuals_of(codes // 3), np.ones(800)), np.eye(2))
    few = np.arange(50)  # too few for the steps of one column
    assert np.array_equal(telling(x[few], residuals_of(codes)[few], np.ones(50)), np.eye(5))
    endless = np.tile(x, 201)  # more columns than are looked at
    assert np.array_equal(telling(endless, residuals_of(codes), np.ones(800)), np.eye(5))
    assert np.array_equal(telling(x, np.zeros((800, 3)), np.ones(800)), np.eye(3))


@pytest.mark.parametrize("columns", [20, 80])
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_noise_hide_no_direction(seed: int, columns: int) -> None:
    x, number, codes = ordered(800, seed)
    noise = np.random.default_rng(seed + 10).normal(size=(800, columns))
    found = telling(np.hstack([noise, x]), residuals_of(codes), np.ones(800))
    assert found.shape == (5, 1)
    assert abs(np.corrcoef(residuals_of(codes) @ found[:, 0], number)[0, 1]) > 0.9
    assert np.array_equal(telling(noise, residuals_of(codes), np.ones(800)), np.eye(5))


def test_a_weight_is_a_number_of_copies() -> None:
    x, _, codes = ordered(500, 1)
    residuals = residuals_of(codes)
    weights = np.random.default_rng(2).integers(3, size=500).astype(float)
    x[::2] = x[1::2]  # whose quantiles do not depend on copies
    weights[::2] = 2 - weights[1::2]
    many = np.repeat(np.arange(500), weights.astype(int))
    one, other = telling(x, residuals, weights), telling(x[many], residuals[many], np.ones(500))
    assert one.shape == other.shape
    np.testing.assert_allclose(abs(one), abs(other), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_ordered_classes_begin_as_a_sum_of_steps(seed: int) -> None:
    x, _, codes = ordered(800, seed)
    samples = Samples(torch.from_numpy(x).float(), torch.from_numpy(codes))
    tree = NeuralTree(presets.table(5), (5,))
    assert fit_linear(tree, samples, seed=0) is not None
    found = propose(tree, 0, NeuralTreeSettings(), seed=0, look_at=samples)["deepen"]
    assert [isinstance(each, Deepening) and each.steps for each in found] == [False, True, True]


@pytest.mark.parametrize("seed", range(3))
def test_regions_of_ordered_classes_explain_their_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.integers(24, size=800), rng.integers(7, size=800)]).astype(float)
    number = np.where(x[:, 1] < 5, np.sin(x[:, 0] / 2), np.cos(x[:, 0] / 3))
    number += 0.2 * rng.normal(size=800)
    codes = np.searchsorted(np.quantile(number, [0.2, 0.4, 0.6, 0.8]), number)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    samples = Samples(torch.from_numpy(x).float(), torch.from_numpy(codes))
    tree = NeuralTree(presets.table(5), (2,))
    assert fit_linear(tree, samples, seed=0) is not None
    found = propose(tree, 0, NeuralTreeSettings(), seed=0, look_at=samples)["split"]
    assert [each.steps for each in found][:2] == [True, False]
    by_number, lines = [len(each.solvers) for each in found][:2]
    assert by_number > lines > 5
