"""A fit that fails or is interrupted leaves its estimator as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_estimators import classifier

from structnet.label_tree import LabelTreeClassifier
from structnet.label_tree.training import Training
from structnet.softmax_tree import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier
from structnet.training.loop import Loop

TOLD: dict[str, Any] = {"leaf_penalty": 1.0, "start": "centroids", "max_iter": 3}
UPDATE = "structnet.softmax_tree.optimisation.updated_leaf"


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(
    ("model", "broken"),
    [
        (SoftmaxTreeClassifier(1, 2, **TOLD, random_state=0), (UPDATE,)),
        (AdaptiveSoftmaxTreeClassifier(depth=1, **TOLD, random_state=0), (UPDATE,)),
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
