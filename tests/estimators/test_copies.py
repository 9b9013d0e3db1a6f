"""Rows that were given several times count as one row with a weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from structnet import (
    AdaptiveSoftmaxTreeClassifier,
    LabelTreeClassifier,
    NeuralTreeClassifier,
    NeuralTreeRegressor,
    SoftmaxTreeClassifier,
)
from structnet.estimators.checked import Checked
from structnet.estimators.copies import without_copies

CLASSIFIERS = (
    NeuralTreeClassifier,
    SoftmaxTreeClassifier,
    AdaptiveSoftmaxTreeClassifier,
    LabelTreeClassifier,
)


def table(size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of numbers, and noisy numbers to predict."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 4))
    return x, x[:, 0] + np.sin(2 * x[:, 1]) + 1.5 * rng.normal(size=size)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_an_oversampled_class_is_a_weight(kind: Any) -> None:
    x, y = table(150)
    labels = np.where(y > 1, "rare", "common")
    weights = np.where(labels == "rare", 3, 1)
    repeated = np.random.default_rng(0).permutation(np.repeat(np.arange(150), weights))
    first = np.sort(np.unique(repeated, return_index=True)[1])
    once = repeated[first]  # a seed draws the same rows only in the same order
    found = kind(random_state=0).fit(x[repeated], labels[repeated])
    weighed = kind(random_state=0).fit(x[once], labels[once], sample_weight=weights[once])
    assert (found.predict_proba(x) == weighed.predict_proba(x)).all()


def test_copies_do_not_make_a_regressor_memorise() -> None:
    x, y = table(700)
    once = NeuralTreeRegressor(random_state=0).fit(x[:200], y[:200])
    thrice = NeuralTreeRegressor(random_state=0).fit(np.tile(x[:200], (3, 1)), np.tile(y[:200], 3))
    assert thrice.get_n_leaves() == once.get_n_leaves()
    assert thrice.predict(x) == pytest.approx(once.predict(x), abs=1e-3)


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_of_copies_are_added(sparse: bool) -> None:
    x, y = table(40)
    twice, weights = np.r_[0:40, 0:10], np.r_[np.ones(40), np.full(10, 2.5)]
    rows = csr_matrix(x) if sparse else x
    found = without_copies(Checked(rows[twice], np.round(y)[twice], weights))
    dense = found.x.toarray() if sparse else found.x
    assert (dense == x).all() and (found.y == np.round(y)).all()
    assert found.weights is not None
    assert found.weights.tolist() == [3.5] * 10 + [1.0] * 30


def test_equal_rows_of_few_values_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, size=(3000, 2))
    one = rng.integers(0, 100, size=(3000, 1))
    words = csr_matrix((rng.random((3000, 30)) < 0.05).astype(float))
    of_each = np.concatenate([np.eye(12)[codes[:, 0]], np.eye(12)[codes[:, 1]]], axis=1)
    y = (codes[:, 0] * 7 + codes[:, 1]) % 5  # equal for equal rows
    number = np.asarray(words.sum(1))[:, 0].astype(int) % 2
    tables: list[tuple[Any, np.ndarray]] = [
        (codes, y),
        (codes.astype(float), y),
        (of_each, y),
        (one, one[:, 0] * 37 % 11),
        (words, number),
    ]
    for x, target in tables:
        assert len(without_copies(Checked(x, target, None)).y) == 3000


def test_equal_rows_with_other_targets_are_no_copies() -> None:
    x, _ = table(50)
    repeated = x.repeat(20, axis=0)
    y = np.random.default_rng(0).normal(size=1000)
    assert len(without_copies(Checked(repeated, y, None)).y) == 1000
    images = repeated.reshape(1000, 1, 2, 2)
    assert len(without_copies(Checked(images, np.arange(1000) // 40, None)).y) == 50
