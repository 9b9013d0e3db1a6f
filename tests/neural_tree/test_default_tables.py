"""What a tree at its defaults makes of tables that are hard for linear maps and tanh."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from structnet.estimators.tails import BentStandardizer
from structnet.neural_tree.estimator import NeuralTreeClassifier, NeuralTreeRegressor

SHORT: dict[str, Any] = {"epochs": 10, "refine_epochs": 4, "random_state": 0}


def sizes(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Sizes over nine orders of magnitude, of which those between two thresholds are a class."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(rng.uniform(0, 20, n)), rng.normal(size=n)])
    return X, ((X[:, 0] > 3e2) & (X[:, 0] < 3e5)).astype(int)


@pytest.fixture(scope="module")
def of_sizes() -> NeuralTreeClassifier:
    return NeuralTreeClassifier(transformers=False, random_state=0).fit(*sizes())


def test_thresholds_of_a_heavy_tail_are_learned(of_sizes: NeuralTreeClassifier) -> None:
    X, y = sizes()
    assert of_sizes.score(X, y) > 0.95
    numbers = np.log(X[:, 0])
    linear = NeuralTreeRegressor(max_depth=0, transformers=False, **SHORT).fit(X, numbers)
    assert linear.score(X, numbers) > 0.9


def test_what_a_router_asks_of_a_heavy_tail_is_true(of_sizes: NeuralTreeClassifier) -> None:
    X, y = sizes()
    tree = of_sizes.tree_
    told = re.search(r"left: feature 0 ([<>]) (?:about )?([\d.e+]+)", of_sizes.export_text(X, y))
    assert told is not None
    above, edge = told[1] == ">", float(told[2])
    assert X[:, 0].min() < edge < X[:, 0].max()
    said = (X[:, 0] > edge) == above
    left = tree.topology.children_of(0)[0]
    went = of_sizes.decision_path(X)[:, [left]].toarray()[:, 0].astype(bool)
    assert (said == went).mean() > 0.97  # the other column has a small weight


def test_bent_columns_are_kept(of_sizes: NeuralTreeClassifier, tmp_path: Path) -> None:
    X, y = sizes()
    of_sizes.save(tmp_path / "model.safetensors")
    loaded = NeuralTreeClassifier.load(tmp_path / "model.safetensors")
    expected = of_sizes.predict_proba(X)
    for again in (loaded, pickle.loads(pickle.dumps(of_sizes))):
        np.testing.assert_array_equal(again.predict_proba(X), expected)
        assert again.export_text(X, y) == of_sizes.export_text(X, y)
    np.testing.assert_allclose(of_sizes.predict_proba(csr_matrix(X)), expected, atol=1e-9)
    single = of_sizes.predict_proba(X.astype(np.float32))
    assert single.dtype == np.float32 or single.dtype == np.float64
    assert np.abs(single - expected).mean() < 1e-3


def test_a_warm_start_keeps_the_curves() -> None:
    X, y = sizes()
    model = NeuralTreeClassifier(max_leaves=2, warm_start=True, **SHORT).fit(X, y)
    before = model.members_[0].inputs
    assert isinstance(before, BentStandardizer) and before.bends
    model.fit(np.sqrt(X + 30), y)
    assert model.members_[0].inputs is before


def test_without_standardizing_nothing_is_bent() -> None:
    X, y = sizes()
    model = NeuralTreeClassifier(max_leaves=1, standardize=False, **SHORT).fit(np.log(X + 30), y)
    assert model.members_[0].inputs is None


# ---- transformers


def test_sums_of_squares_are_learned() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    y = (X**2).sum(axis=1) > 5.35  # the median
    model = NeuralTreeClassifier(random_state=0).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.9
