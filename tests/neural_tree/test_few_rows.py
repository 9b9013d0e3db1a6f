"""Of few rows of many columns, those that tell most have weights, and a penalty that suits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn import linear_model
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from structnet import NeuralTreeClassifier, NeuralTreeRegressor
from structnet.estimators import few_rows
from structnet.estimators.checked import Checked
from structnet.neural_tree import NeuralTree, SquaredError, presets
from structnet.neural_tree.few_rows import few_columns
from structnet.neural_tree.linear import fit_linear
from structnet.neural_tree.ridge import Ridge
from structnet.routing.samples import Samples


def kinds(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four kinds that 20 of 600 columns tell from each other."""
    how = {"n_informative": 20, "n_redundant": 0, "n_classes": 4, "n_clusters_per_class": 1}
    return make_classification(size, 600, class_sep=2, random_state=seed, **how)


def line(size: int, seed: int, columns: int = 400, noise: float = 0.3) -> Checked:
    """Numbers that eight columns, each eighth of the first 64, explain."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(size, columns))
    y = x[:, :64:8].sum(1, keepdims=True) / 8**0.5 + noise * random.normal(size=(size, 1))
    return Checked(x, y / y.std(), None)


def test_kinds_are_told_from_the_columns_that_tell_most() -> None:
    x, y = kinds(600, 0)
    model = NeuralTreeClassifier(random_state=0).fit(x[:200], y[:200])
    assert model.columns_ is not None and len(model.columns_) < 100
    assert model.settings_.strength is not None and model.strength is None
    alone = NeuralTreeClassifier(select_columns=False, random_state=0).fit(x[:200], y[:200])
    mistakes = [log_loss(y[200:], each.predict_proba(x[200:])) for each in (model, alone)]
    assert mistakes[0] < mistakes[1] - 0.1 and model.score(x[200:], y[200:]) > 0.85


def test_columns_of_numbers_are_found_where_a_forest_would_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structnet.neural_tree.columns.NUMBERS", 1)
    learn, new = line(150, 0), line(500, 1)
    model = NeuralTreeRegressor(random_state=0).fit(learn.x, learn.y[:, 0])
    assert model.columns_ is not None and len(model.columns_) < 40
    alone = NeuralTreeRegressor(select_columns=False, random_state=0).fit(learn.x, learn.y[:, 0])
    scores = [each.score(new.x, new.y[:, 0]) for each in (model, alone)]
    assert scores[0] > 0.75 and scores[1] < 0.6


def test_where_all_columns_tell_something_all_are_kept() -> None:
    random = np.random.default_rng(0)
    y = np.arange(120) % 3
    x = random.normal(size=(120, 300)) + 0.15 * random.normal(size=(3, 300))[y]
    assert few_columns(Checked(x, y, None), 0) is None
    dense = x @ random.normal(size=(300, 1))
    assert few_columns(Checked(x, dense / dense.std(), None), 0) is None


def test_noise_rows_enough_for_all_and_sparse_rows_are_left_as_they_are() -> None:
    few, many = line(100, 0), line(650, 0, columns=64)
    noise = np.random.default_rng(1).normal(size=few.y.shape)
    assert few_columns(few, 0) is not None
    assert few_columns(few._replace(y=noise), 0) is None
    assert few_columns(many, 0) is None
    assert few_columns(few._replace(x=csr_matrix(few.x)), 0) is None
    assert few_columns(few._replace(groups=np.zeros(100, int)), 0) is None  # none can be held out
    assert few_columns(few.take(np.arange(29)), 0) is None


def test_no_more_than_all_rows_in_place_of_a_table_of_constants() -> None:
    rows = line(100, 0)
    assert few_columns(rows._replace(x=np.ones_like(rows.x)), 0) is None


def test_the_offset_of_columns_that_are_not_scaled_plays_no_part() -> None:
    x, y = kinds(200, 0)
    x = x / x.std(0)
    found = [few_columns(Checked(x + by, y, None), 0, standardize=False) for by in (0, 30)]
    assert found[0] is not None and found[1] is not None
    assert found[0].strength == pytest.approx(found[1].strength, rel=1e-3)


@pytest.mark.parametrize("standardize", [True, False])
def test_units_and_the_scale_of_weights_play_no_part(standardize: bool) -> None:
    rows = line(120, 0)
    other = rows._replace(x=rows.x * 1000 + 5, weights=np.full(120, 7.0))
    found = [few_columns(each, 0, standardize=standardize) for each in (rows, other)]
    assert found[0] is not None and found[1] is not None
    np.testing.assert_array_equal(found[0].columns, found[1].columns)
    scale = 1.0 if standardize else 1e6
    assert found[1].strength == pytest.approx(scale * found[0].strength, rel=0.1)


def test_errors_of_held_out_rows_are_those_of_ridge_regression() -> None:
    rows, both = line(60, 0, columns=90), line(60, 1, columns=90)
    random = np.random.default_rng(2)
    rows = rows._replace(y=random.normal(size=(60, 2)), weights=random.uniform(0.5, 2, 60))
    held = both._replace(y=random.normal(size=(60, 2)))
    assert rows.weights is not None
    found = Ridge.of(rows).losses(held, np.array([0.3, 0.01]))
    for strength, errors in zip((0.3, 0.01), found, strict=True):
        # scikit-learn's loss is the sum over rows and outputs
        ridge = linear_model.Ridge(strength * 2 / 2 * rows.weights.sum()).fit(
            rows.x, rows.y, rows.weights
        )
        expected = np.square(ridge.predict(held.x) - held.y).mean(1)
        np.testing.assert_allclose(errors, expected, rtol=1e-6)
        mean = np.average(rows.x, axis=0, weights=rows.weights)
        spread = np.average(np.square(rows.x - mean), axis=0, weights=rows.weights)
        told = np.square(ridge.coef_).sum(0) * spread
        np.testing.assert_allclose(Ridge.of(rows).explained(strength), told, rtol=1e-6)


def test_the_strength_is_that_of_the_regression_in_other_units() -> None:
    x, y = kinds(120, 1)
    rows = few_rows.with_weights(Checked(3 * x, y, None))
    how = few_rows.Regularisation(few_rows.Shrinkage(0, 0.1, 1.0), 10.0, wide=True, columns=200)
    some = rows.of(few_rows.columns_of(rows, 4, how))
    space = few_rows.space_of(some.x, outputs=np.inf)
    assert space is not None
    unit = few_rows.unit_of(space.coordinates)
    w = few_rows.regression(some._replace(x=space.coordinates), 4, unit, how.penalty)
    coef, bias = space.model(w[:-1].T / unit, w[-1])
    tree = NeuralTree(presets.table(4), (200,)).double()
    samples = Samples(torch.from_numpy(some.x), torch.from_numpy(y))
    strength = few_rows.strength_of(rows, few_rows.columns_of(rows, 4, how), how)
    assert fit_linear(tree, samples, seed=0, strength=strength) == strength
    logits = tree.output(samples.x).detach().numpy()
    expected = some.x @ coef.T + bias
    expected -= np.log(np.exp(expected).sum(1, keepdims=True))
    np.testing.assert_allclose(logits, expected, atol=0.05)  # of two solvers


def test_a_strength_from_the_user_is_taken() -> None:
    rows = line(80, 0, columns=20)
    model = NeuralTreeRegressor(strength=0.7, max_leaves=1, max_transformers=0, random_state=0)
    model.fit(rows.x, rows.y[:, 0])
    assert model.settings_.strength == 0.7
    tree = NeuralTree(presets.table(1), (20,), SquaredError())
    inputs, targets = model.samples(rows.x, rows.y[:, 0]).x, model.samples(rows.x, rows.y[:, 0])
    fit_linear(tree, targets, seed=0, strength=0.7)
    assert model.columns_ is None
    torch.testing.assert_close(model.tree_.output(inputs), tree.output(inputs), atol=1e-4, rtol=0)
