"""Which kinds of softmax trees are compared, and with which penalties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from structnet import SoftmaxTreeClassifier
from structnet.softmax_tree import SoftmaxTreeSettings, train
from structnet.softmax_tree.choice import chosen
from structnet.softmax_tree.fold import Fold
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenSettings


def found_of(
    monkeypatch: pytest.MonkeyPatch,
    mistakes: Callable[[ChosenSettings], int],
    settings: SoftmaxTreeSettings,
) -> ChosenSettings:
    """The choice if a kind has so many of fifty held-out samples wrong; nothing is trained."""

    def wrong_about(self: Fold, kind: ChosenSettings, *_: Any) -> np.ndarray:
        return np.arange(len(self.test)) < mistakes(kind)

    monkeypatch.setattr(Fold, "wrong_about", wrong_about)
    x = np.random.default_rng(0).normal(size=(4050, 16))
    points = Points.made(x, np.arange(4050) % 400, 400)
    rows = np.arange(4050)
    return chosen(points.take(rows[50:]), settings, None, held_out=points.take(rows[:50]))[0]


@pytest.mark.parametrize(("behind", "taken"), [(3, 2), (30, 0)])
def test_kinds_are_compared_with_the_penalty_found(
    behind: int, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flat softmax is the best with the first penalty, a tree with the best one, unless it begins
    so far behind that no penalty can make that good."""

    def mistakes(kind: ChosenSettings) -> int:
        if kind.leaf_penalty == 10:
            return 5 if kind.depth == 2 else 9 if not kind.depth else 40  # surely better
        return 10 + (behind if kind.depth == 2 else 30 if kind.depth else 0)

    found = found_of(monkeypatch, mistakes, SoftmaxTreeSettings(start="centroids"))
    assert (found.depth, found.leaf_penalty) == (taken, 10)


def test_trees_on_single_features_are_tried_whatever_came_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The deepest is worse than the flat softmax, the next better."""

    def mistakes(kind: ChosenSettings) -> int:
        return {4: 15, 2: 5, 1: 9}.get(kind.depth or 0, 30) if kind.start == "axes" else 10

    found = found_of(monkeypatch, mistakes, SoftmaxTreeSettings(leaf_penalty=1))
    assert (found.start, found.depth) == ("axes", 2)


def test_the_plain_decision_tree_is_taken_where_regions_are_many() -> None:
    """Cells of a fine grid, of which a few cuts say nothing."""
    rng = np.random.default_rng(0)
    x, cells = rng.random((4000, 2)), rng.integers(0, 5, (10, 10))
    y = cells[tuple((10 * x).astype(int).T)]
    found = train(x.astype(np.float32), y, num_classes=5).settings
    assert (found.start, found.max_iter) == ("axes", 0)
    given = train(x.astype(np.float32), y, SoftmaxTreeSettings(k=2), num_classes=5).settings
    assert given.k == 2


def test_sparse_rows_without_entries() -> None:
    y = np.arange(100) % 2
    assert train(csr_matrix((100, 5), dtype=np.float32), y, num_classes=2).tree is not None


def test_a_single_leaf_has_a_chance_with_penalties_of_its_own() -> None:
    """A deeper tree is better with the penalties by which kinds are compared."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(10, 400)) * (rng.random((10, 400)) < 0.05)
    y = rng.integers(10, size=3000)
    x = centres[y] * (rng.random((3000, 400)) < 0.5)
    x += rng.normal(size=x.shape) * (rng.random(x.shape) < 0.03)
    told = np.where(rng.random(3000) < 0.25, rng.integers(10, size=3000), y)
    model = SoftmaxTreeClassifier(random_state=0).fit(csr_matrix(x[:1800]), told[:1800])
    assert model.settings_.depth == 0 and model.settings_.leaf_ridge >= 10
    assert model.score(csr_matrix(x[1800:]), told[1800:]) > 0.73
