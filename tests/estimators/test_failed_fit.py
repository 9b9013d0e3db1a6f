"""A fit that fails or is interrupted leaves its estimator as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from small_estimators import classifier

from structnet import TreeLSTMClassifier, TreeLSTMNodeClassifier, TreeLSTMRegressor
from structnet.label_tree import LabelTreeClassifier, LabelTreeLanguageModel
from structnet.label_tree.training import Training
from structnet.naru import RoutedLanguageModel
from structnet.softmax_tree import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier
from structnet.training.loop import Loop, NonFiniteLossError

TOLD: dict[str, Any] = {"leaf_penalty": 1.0, "start": "centroids", "max_iter": 3}
UPDATE = "structnet.softmax_tree.optimisation.updated_leaf"


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(
    ("model", "broken"),
    [
        (SoftmaxTreeClassifier(1, 2, **TOLD, random_state=0), (UPDATE,)),
        (AdaptiveSoftmaxTreeClassifier(start_depth=1, **TOLD, random_state=0), (UPDATE,)),
        (classifier(), (Loop, "_step")),
        (LabelTreeClassifier(epochs=2, random_state=0), (Training, "run")),
    ],
    ids=["softmax", "adaptive", "neural", "label"],
)
def test_an_interrupted_fit_leaves_no_trace(
    model: Any, broken: tuple, error: type, blobs: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise error

    X, y = blobs
    before = model.fit(X, y).predict_proba(X)
    names = set(vars(model))
    with monkeypatch.context() as patched:
        patched.setattr(*broken, fail)
        with pytest.raises(error):
            model.fit(100 * X + 7, np.resize(["p", "q", "r", "s"], len(y)))
    assert (model.predict_proba(X) == before).all()
    assert model.classes_.tolist() == ["a", "b", "c"] and set(vars(model)) == names
    assert model.predict(X[:1])[0] in model.classes_


TREES = ["(+ 1 2)", "(- 1 2)", "(+ (- 1 2) 3)", "(- (+ 3 1) 2)"] * 5
TEXT = ["the cat sees the dog .", "a dog sees the cat ."] * 10
QUICK: dict[str, Any] = {"epochs": 2, "random_state": 0}
OTHER = ["one two three", "two three one"] * 10
NARU = RoutedLanguageModel(sizes=(1, 2, 1), dims=(4,), vector_size=4, **QUICK)


@pytest.mark.parametrize(
    ("model", "data", "others"),
    [
        (NARU, (TEXT,), (OTHER,)),
        (LabelTreeLanguageModel(vector_size=4, **QUICK), (TEXT,), (OTHER,)),
        (TreeLSTMClassifier(**QUICK), (TREES, [0, 1] * 10), (TREES[::-1], [2, 3] * 10)),
        (TreeLSTMRegressor(**QUICK), (TREES, range(20)), (TREES[::-1], range(20))),
        (
            TreeLSTMNodeClassifier(**QUICK),
            *(([tree] * 9, [[*names]] * 9) for tree, names in (("(a b)", "xy"), ("(b a)", "pq"))),
        ),
    ],
    ids=["naru", "language model", "classifier", "regressor", "nodes"],
)
def test_a_fit_whose_loss_is_not_finite_leaves_no_trace(
    model: Any, data: tuple, others: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise NonFiniteLossError("loss", 1, 1, [0], [])

    for known in (False, True):
        model = clone(model)
        if known:
            model.fit(*data)
        before, told = model.predict(data[0]) if known else None, dict(vars(model))
        with monkeypatch.context() as patched:
            patched.setattr(Loop, "_step", fail)
            with pytest.raises(NonFiniteLossError):
                model.set_params(random_state=1).fit(*others)
        model.set_params(random_state=0)
        assert vars(model) == told
        if known:
            np.testing.assert_array_equal(model.predict(data[0]), before)
        else:
            with pytest.raises(NotFittedError):
                model.predict(data[0])
