"""A label tree of few rows of a table: solved, and not tried."""

from __future__ import annotations

import numpy as np
import pytest
from label_trees import around_centres
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from structnet.label_tree import LabelTreeClassifier, LabelTreeSettings
from structnet.label_tree.tree import LabelTree
from structnet.label_tree.trials import Trials, Tried


@pytest.mark.parametrize("number", [30, 90])
def test_of_few_rows_nothing_is_sure_by_chance(number: int) -> None:
    """Rows of two labels that lie apart on some of many columns, with heavy tails."""
    rng, found = np.random.default_rng(0), []
    for seed in range(2):
        y = rng.permutation(np.arange(1000) % 2)
        x = rng.standard_t(3, size=(1000, 20))
        x[:, :6] += 1.2 * y[:, None]
        learn, asked = slice(0, number), slice(number, None)
        model = LabelTreeClassifier(random_state=seed).fit(x[learn], y[learn])
        assert not model.history_
        usual = LogisticRegression().fit(x[learn] / x[learn].std(0), y[learn])
        theirs = usual.predict_proba(x[asked] / x[learn].std(0))
        found.append(
            (log_loss(y[asked], model.predict_proba(x[asked])), log_loss(y[asked], theirs))
        )
    ours, expected = np.mean(found, axis=0)
    assert ours < expected


def test_validation_samples_choose_also_of_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[LabelTreeSettings] = []
    trial = Trials._trial

    def noted(self: Trials, settings: LabelTreeSettings, *target: float) -> tuple[Tried, LabelTree]:
        tried.append(settings)
        return trial(self, settings, *target)

    monkeypatch.setattr(Trials, "_trial", noted)
    x, y = around_centres(30, 20, 24, 0.8, seed=5)
    model = LabelTreeClassifier(random_state=0).fit(x[:300], y[:300])
    assert not tried and model.settings_.arity == 30
    model.fit(x[:300], y[:300], X_val=x[300:], y_val=y[300:])
    assert len(tried) > 1
