"""Columns whose largest numbers are far from all others, as among prices and sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structnet import LabelTreeClassifier, SoftmaxTreeClassifier

ROWS, CLASSES = 1600, 16


def clusters(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows around the centre of their class, and the classes."""
    rng = np.random.default_rng(seed)
    centres, y = rng.normal(size=(CLASSES, 6)), rng.integers(CLASSES, size=ROWS)
    return centres[y] + 0.5 * rng.normal(size=(ROWS, 6)), y


@pytest.mark.parametrize("kind", [SoftmaxTreeClassifier, LabelTreeClassifier])
def test_heavy_tails_cost_little(kind: Any, tmp_path: Path) -> None:
    plain, y = clusters(7)
    heavy = np.where(np.arange(6) < 3, np.exp(3 * plain), plain)
    learn, test = slice(0, 1000), slice(1000, None)
    model = kind(random_state=0)
    straight, bent = (model.fit(x[learn], y[learn]).score(x[test], y[test]) for x in (plain, heavy))
    assert straight > 0.8 and bent > straight - 0.04
    assert [bend.column for bend in model.input_scale_.bends] == [0, 1, 2]
    model.save(tmp_path / "model")
    again = kind.load(tmp_path / "model")
    assert (again.predict_proba(heavy) == model.predict_proba(heavy)).all()


def test_single_rows_are_bent_alike() -> None:
    x, y = clusters(8)
    x[:, 0] = np.exp(3 * x[:, 0])
    model = SoftmaxTreeClassifier(3, 6, random_state=0).fit(x, y)
    assert model.input_scale_.bends
    for row, expected, prob in zip(x, model.predict(x), model.predict_proba(x), strict=True):
        classes, own = model.predict_proba_one(row)
        assert model.predict_one(row) == expected
        assert own == pytest.approx(prob[classes], rel=1e-6)
