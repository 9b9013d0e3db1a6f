"""How surely one model is better than another on the same samples."""

from __future__ import annotations

import numpy as np
import pytest

from structnet.training.gains import gained, is_better


def test_fewer_mistakes_by_chance() -> None:
    before, after = np.zeros(100, bool), np.zeros(100, bool)
    before[:20], after[15:30] = True, True  # 15 and 10 differ: of 25 that differ, 5 more
    assert is_better(before, after, 0.5) and not is_better(before, after, 2.0)
    assert not is_better(after, before, 0.5) and not is_better(before, before, 0.5)


def test_what_is_right_elsewhere_as_often_is_no_better() -> None:
    before = np.arange(100) >= 50
    assert not is_better(before, ~before, 0)
    few = before & (np.arange(100) < 97)
    assert is_better(before, few, 1) and not is_better(before, few, 2)
    assert not is_better(before, few ^ (np.arange(100) < 2), 1)


def test_samples_count_by_weight() -> None:
    """The many light ones are worse, the few heavy ones better."""
    rng = np.random.default_rng(0)
    heavy = np.arange(200) < 40
    before = rng.normal(size=200)
    after = before + np.where(heavy, -0.5, 0.5) + 0.1 * rng.normal(size=200)
    weights = np.where(heavy, 1.0, 1e-6)
    assert is_better(before, after, 2, weights) and is_better(after, before, 2)
    found, alone = gained(before, after, weights), gained(before[heavy], after[heavy])
    assert found == pytest.approx(alone, rel=1e-3)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 0.0])])
def test_any_fall_is_enough_where_no_error_is_asked(weights: np.ndarray | None) -> None:
    size = 1 if weights is None else 2
    before, after = np.full(size, 2.0), np.full(size, 1.0)
    assert is_better(before, after, 0, weights) and not is_better(after, before, 0, weights)
    assert not is_better(before, before, 0, weights)


def test_one_sample_is_never_sure() -> None:
    before, after = np.array([3.0, 1.0]), np.array([0.0, 1.0])
    assert gained(before[:1], after[:1])[1] == np.inf
    assert not is_better(before, after, 1, np.array([1.0, 0.0]))


@pytest.mark.parametrize("number", range(2, 400, 7))
def test_one_sample_that_differs_is_one_error(number: int) -> None:
    before, after = np.zeros((2, number))
    before[0] = 1
    assert is_better(before, after, 0.99) and not is_better(before, after, 1)
