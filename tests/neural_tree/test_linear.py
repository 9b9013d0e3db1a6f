"""The linear model that a tree of a table begins as: its optimum, and what keeps it small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from alike import assert_same_weights
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from structnet.neural_tree import (
    Categorical,
    GaussianMixture,
    Growth,
    NeuralTree,
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    NeuralTreeSettings,
    SquaredError,
    Trained,
    from_sequential,
    linear,
    presets,
    train,
)
from structnet.neural_tree.linear import fit_linear, is_linear_model
from structnet.routing import Samples


def rows(size: int = 60, columns: int = 8) -> Samples:
    """A noisy table of numbers, each row with a weight."""
    x, y = make_regression(size, columns, n_informative=3, noise=30.0, random_state=0)
    x, y, w = (torch.from_numpy(part).float() for part in (x, y, np.linspace(0.5, 1.5, size)))
    return Samples(x, (y / y.std())[:, None], w)


def check_optimum(tree: NeuralTree, samples: Samples) -> None:
    """A linear model is fitted; at its optimum the loss pulls against the penalty alone."""
    fit_linear(tree, samples, seed=0)
    slope, weights = slope_and_weights(tree, samples)
    strength = -(slope @ weights) / (weights @ weights)
    assert strength > 0 and torch.allclose(slope, -strength * weights, atol=1e-3)


def slope_and_weights(tree: NeuralTree, samples: Samples) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of the loss of a linear model, and what it was taken at."""
    solver = tree.nodes[0].end
    assert isinstance(solver, nn.Linear)
    loss = tree.loss(samples)
    return torch.autograd.grad(loss, solver.weight)[0].flatten(), solver.weight.detach().flatten()


@pytest.mark.parametrize("numbers", [2**22, 80])
def test_at_the_optimum_the_loss_pulls_against_the_penalty_alone(
    numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "NUMBERS", numbers)  # in a table's batch: 80 are 10 rows
    samples = rows()
    tree = NeuralTree(presets.table(1), (8,), SquaredError())
    check_optimum(tree, samples)


def test_classes_have_an_optimum_too() -> None:
    x, y = make_classification(80, 6, random_state=0)
    samples = Samples(torch.from_numpy(x).float(), torch.from_numpy(y))
    tree = NeuralTree(presets.table(2), (6,), Categorical())
    check_optimum(tree, samples)


def test_numbers_of_a_wide_table_are_predicted_as_well_as_by_ridge_regression() -> None:
    x, y = make_regression(400, 600, n_informative=10, noise=20.0, random_state=0)
    x, x_test, y, y_test = train_test_split(x, y, train_size=200, random_state=0)
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 5, 15))).fit(x, y)
    score = NeuralTreeRegressor(random_state=0).fit(x, y).score(x_test, y_test)
    assert score > ridge.score(x_test, y_test) - 0.02 > 0


def test_classes_of_a_wide_table_are_predicted_as_well_as_by_logistic_regression() -> None:
    x, y = make_classification(500, 300, n_informative=8, n_redundant=0, random_state=0)
    x, x_test, y, y_test = train_test_split(x, y, train_size=150, random_state=0)
    other = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    score = NeuralTreeClassifier(random_state=0).fit(x, y).score(x_test, y_test)
    assert score > other.score(x_test, y_test) - 0.02 > 0.5


def test_many_columns_of_numbers_are_predicted_as_well_as_by_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 100))
    y = x @ rng.normal(size=(100, 100)) / 10 + rng.normal(size=(800, 100))
    x, x_test, y, y_test = train_test_split(x, y, train_size=400, random_state=0)
    ridge = RidgeCV(np.logspace(-2, 5, 15)).fit(x, y)
    score = (
        NeuralTreeRegressor(max_leaves=1, max_transformers=0, random_state=0)
        .fit(x, y)
        .score(x_test, y_test)
    )
    assert score > ridge.score(x_test, y_test) - 0.02 > 0.1


@pytest.mark.parametrize("unit", [1e-6, 1e10])
def test_targets_may_have_any_unit(unit: float) -> None:
    samples = rows()
    trees = [NeuralTree(presets.table(1), (8,), SquaredError()) for _ in range(2)]
    for tree, times in zip(trees, (1.0, unit), strict=True):
        told = Samples(samples.x, (samples.targets + 5) * times, samples.weights)
        fit_linear(tree, told, seed=0)
        fit_linear(tree, told, seed=0)  # where it begins plays no part
    one, other = (tree.output(samples.x).detach() for tree in trees)
    assert one.std() > 0.5 and torch.allclose(other / unit, one, atol=1e-2)


def test_a_network_that_knows_better_is_left_as_it_is() -> None:
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    known = nn.Linear(3, 1)
    validation = Samples(x[20:], known(x[20:]).detach())
    wrong = Samples(x[:20], -known(x[:20]).detach())
    tree = from_sequential(nn.Sequential(known), presets.table(1), (3,), SquaredError())
    Growth(tree, wrong, validation, NeuralTreeSettings(max_leaves=1, max_transformers=0)).run()
    solver = tree.nodes[0].end
    assert isinstance(solver, nn.Linear) and torch.equal(solver.weight, known.weight)


def test_a_training_that_refined_a_linear_model_is_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, few = rows(), NeuralTreeSettings(max_leaves=1, epochs=2, refine_epochs=4)
    for module in ("growth.growth", "training"):  # as before it was asked
        name = f"structnet.neural_tree.{module}.is_linear_model"
        monkeypatch.setattr(name, lambda *about: False)

    def trained() -> Trained:
        tree = NeuralTree(presets.table(1), (8,), SquaredError())
        return train(tree, few, samples, samples, samples, folder=tmp_path)

    before = trained()
    monkeypatch.undo()
    again = trained()
    assert is_linear_model(again.tree, samples) and len(again.refinement) == 4
    assert_same_weights(again.tree, before.tree)


def test_numbers_that_no_float_can_hold_leave_it_as_it_is() -> None:
    samples = rows()
    tree = NeuralTree(presets.table(1), (8,), SquaredError())
    before = [part.clone() for part in tree.parameters()]
    fit_linear(tree, Samples(samples.x * 1e25, samples.targets), seed=0)
    assert all(map(torch.equal, tree.parameters(), before))


def test_what_is_no_linear_model_of_a_table() -> None:
    samples = rows()
    tree = NeuralTree(presets.table(1), (8,), SquaredError())
    assert is_linear_model(tree, samples)
    assert not is_linear_model(NeuralTree(presets.mlp(1), (8,), SquaredError()), samples)
    unbounded = NeuralTree(presets.table(2), (8,), GaussianMixture())
    assert not is_linear_model(unbounded, samples)
    assert not is_linear_model(tree, samples[np.arange(5)])  # too few to hold some out
    assert not is_linear_model(tree, Samples(samples.x, samples.targets, augment=torch.relu))
    pairs = list(zip(samples.x, samples.targets, strict=True))
    assert not is_linear_model(tree, Samples.from_dataset(pairs))
    tree.split(0)
    assert not is_linear_model(tree, samples)
