"""Softmax trees as scikit-learn does it: weights of classes, jobs, answers and names."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.multiclass import OneVsRestClassifier
from softmax_trees import clusters

from structnet.estimators.scale import Standardizer
from structnet.softmax_tree import (
    AdaptiveSoftmaxTreeClassifier,
    SoftmaxTreeClassifier,
    SoftmaxTreeSettings,
    train,
)

X, Y = clusters(240, classes=6)
QUICK = {"start": "clusters", "leaf_penalty": 1.0, "max_iter": 3, "solver_steps": 15}
FIXED = SoftmaxTreeClassifier(depth=1, max_leaf_classes=6, random_state=0, **QUICK)
GROWN = AdaptiveSoftmaxTreeClassifier(start_depth=1, max_rounds=1, random_state=0, **QUICK)


# Weights of classes


@pytest.mark.parametrize("model", [FIXED, GROWN], ids=["fixed", "grown"])
def test_a_class_that_weighs_two_is_one_whose_rows_weigh_two(model: Any) -> None:
    weights = np.where(Y == 3, 2.0, 1.0)
    other = model.fit(X, Y, weights).predict_proba(X)
    twice = type(model)(**{**model.get_params(), "class_weight": {3: 2}})
    assert np.array_equal(twice.fit(X, Y).predict_proba(X), other)
    asked = {"X_val": X, "y_val": Y}
    held = model.fit(X, Y, weights, **asked, sample_weight_val=weights).history_[-1]
    found = twice.fit(X, Y, **asked).history_[-1]
    assert found["validation_error"] == held["validation_error"]


@pytest.mark.parametrize("model", [FIXED, GROWN], ids=["fixed", "grown"])
def test_balanced_classes_raise_the_recall_of_rare_ones(model: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 20 == 0).astype(int)
    x = rng.normal(size=(400, 3)) + y[:, None]
    plain = model.fit(x, y).predict(x)[y == 1].mean()
    model = type(model)(**{**model.get_params(), "class_weight": "balanced"})
    fair = model.fit(x, y).predict(x)[y == 1].mean()
    assert fair > plain + 0.2
    model.save(tmp_path / "model")
    assert type(model).load(tmp_path / "model").class_weight == "balanced"


@pytest.mark.parametrize("model", [FIXED, GROWN], ids=["fixed", "grown"])
def test_a_class_that_weighs_nothing_stays_known(model: Any) -> None:
    model = type(model)(**{**model.get_params(), "class_weight": {0: 0}}).fit(X, Y)
    assert model.classes_.tolist() == list(range(6))
    assert not (model.predict(X) == 0).any()
    wrong = type(model)(**{**model.get_params(), "class_weight": {7: 1}})
    with pytest.raises(ValueError, match=r"The 'class_weight' parameter must be of the classes"):
        wrong.fit(X, Y)


# Leaves, jobs, answers


def test_leaves_have_no_more_classes_than_there_are() -> None:
    wide = SoftmaxTreeClassifier(depth=1, max_leaf_classes=9, random_state=0, **QUICK).fit(X, Y)
    assert np.array_equal(wide.predict_proba(X), FIXED.fit(X, Y).predict_proba(X))
    assert (wide.max_leaf_classes, wide.settings_.max_leaf_classes) == (9, 6)
    model = SoftmaxTreeClassifier(depth=1, max_leaf_classes=6, random_state=0, **QUICK)
    assert OneVsRestClassifier(model).fit(X, Y).score(X, Y) > 0.8  # problems of two classes
    with pytest.raises(ValueError, match=r"'max_leaf_classes' .* at most 6, .* Got 7 instead"):
        train(X, Y, SoftmaxTreeSettings(depth=1, max_leaf_classes=7))


@pytest.mark.parametrize("jobs", [1, 2, -1, -2, -99])
def test_jobs_are_counted_as_joblib_counts_them(jobs: int) -> None:
    assert SoftmaxTreeClassifier().n_jobs is AdaptiveSoftmaxTreeClassifier().n_jobs is None
    several = SoftmaxTreeClassifier(**{**FIXED.get_params(), "n_jobs": jobs}).fit(X, Y)
    assert np.array_equal(several.predict_proba(X), FIXED.fit(X, Y).predict_proba(X))


def test_probabilities_take_their_own_memory_and_little_more() -> None:
    many = SoftmaxTreeClassifier(depth=1, max_leaf_classes=2, random_state=0, **QUICK)
    model = many.fit(np.repeat(np.arange(400.0)[:, None], 2, 0), np.repeat(np.arange(400), 2))
    rows = np.zeros((5000, 1))
    model.predict_proba(rows)
    tracemalloc.start()
    found = model.predict_proba(rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.3 * found.nbytes


# Names


@pytest.mark.parametrize("model", [FIXED, GROWN], ids=["fixed", "grown"])
def test_what_was_chosen_and_recorded_are_fitted_attributes(model: Any) -> None:
    unfitted = type(model)()
    assert not any(hasattr(unfitted, name) for name in ("settings_", "history_", "input_scale_"))
    model.fit(X, Y)
    assert model.settings_ is model.trained_.settings and model.settings_.leaf_penalty == 1
    assert model.history_ is model.trained_.history
    assert isinstance(model.input_scale_, Standardizer)


@pytest.mark.parametrize(("depth", "k"), [(3, 1), (2, 2), (1, 3), (0, 5)])
def test_the_likeliest_are_those_of_all_classes(depth: int, k: int) -> None:
    model = SoftmaxTreeClassifier(depth, k, **QUICK, random_state=0).fit(X, Y)
    prob = model.predict_proba(X)
    for number in (1, 2, 4, 9):
        labels, told = model.predict_top(X, number)
        best = np.argsort(-prob, axis=1, kind="stable")[:, :number]
        np.testing.assert_allclose(told, np.take_along_axis(prob, best, 1), rtol=1e-9)
        places = np.searchsorted(model.classes_, labels)
        np.testing.assert_allclose(np.take_along_axis(prob, places, 1), told, rtol=1e-9)
        assert all(len(set(row)) == len(row) for row in labels)


def test_settings_are_chosen_by_the_users_own_samples() -> None:
    """Only a weak penalty learns noise by heart, which X_val has too, or has not."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 60))
    true = (x[:, 0] > 0).astype(int)
    y = true ^ (rng.random(300) < 0.3)
    model = SoftmaxTreeClassifier(depth=0, max_leaf_classes=2, random_state=0)
    ways = {"y_val": y}, {"y_val": true}, {"y_val": y, "sample_weight_val": (y == true) * 1.0}
    same, clean, weighed = (model.fit(x, y, X_val=x, **way).settings_.leaf_penalty for way in ways)
    assert same < clean / 10 and weighed == clean
