"""LabelTreeClassifier: samples that validate its training, given to ``fit``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from label_trees import tokens
from scipy.sparse import csr_matrix

from structnet.label_tree import LabelTreeClassifier, choice
from structnet.label_tree.examples import Examples
from structnet.label_tree.trials import Trials


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, "tokens"])
def test_validation_samples_choose_the_settings(kind: Any, points: tuple, monkeypatch: Any) -> None:
    parts: list[tuple[Examples, Examples]] = []

    class Seen(Trials):
        def __init__(self, learn: Examples, held: Examples, *others: Any, **told: Any):
            super().__init__(learn, held, *others, **told)
            parts.append((learn, held))

    monkeypatch.setattr(choice, "Trials", Seen)
    x, y = tokens(1000) if kind == "tokens" else (kind(points[0]), points[1])
    how: dict[str, Any] = {"tokens": kind == "tokens", "arity": 3, "epochs": 3, "random_state": 0}
    weights = np.arange(200) % 3
    told = {"X_val": x[:200], "y_val": y[:200], "sample_weight_val": weights}
    model = LabelTreeClassifier(**how).fit(x[200:], y[200:], **told)
    ((learn, held),) = parts
    assert (len(learn), len(held)) == (len(y) - 200, np.count_nonzero(weights))
    given = np.flatnonzero(weights)
    log_p = model.predict_log_proba(x[:200])[given, np.searchsorted(model.classes_, y[given])]
    loss = -np.average(log_p, weights=weights[given])
    assert model.history_[-1]["validation_loss"] == pytest.approx(loss, rel=1e-5)
    again = LabelTreeClassifier(**how).fit(x[200:], y[200:], X_val=x[:200], y_val=y[:200])
    assert len(parts[1][1]) == 200 and len(again.history_) == 3
    with pytest.raises(ValueError, match="Got X_val without y_val"):
        LabelTreeClassifier(**how).fit(x, y, X_val=x)
    with pytest.raises(ValueError, match="got the class"):
        LabelTreeClassifier(**how).fit(x[200:], y[200:], X_val=x[:200], y_val=["other"] * 200)


def test_validation_samples_get_the_weights_of_their_classes(points: tuple) -> None:
    x, y = points
    seen = []
    for weights in ({}, {"group 0": 0.0}):
        model = LabelTreeClassifier(
            arity=3,
            epochs=5,
            learning_rate=0.1,
            tree="learned",
            random_state=0,
            class_weight=weights,
        )
        model.fit(x[200:], y[200:], X_val=x[:200], y_val=y[:200])
        count = y[:200] != "group 0" if weights else np.ones(200, bool)
        log_p = model.predict_log_proba(x[:200])
        mine = log_p[np.arange(200), np.searchsorted(model.classes_, y[:200])][count]
        assert model.history_[-1]["validation_loss"] == pytest.approx(-mine.mean(), rel=1e-5)
        seen.append(-mine.mean())
    assert seen[0] != seen[1]
