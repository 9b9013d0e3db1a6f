"""How wrong a tree is about samples that it has not learnt from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from structnet.softmax_tree import SoftmaxTreeSettings, train
from structnet.softmax_tree.fold import BETTER, Fold
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenSettings
from structnet.softmax_tree.wrongness import FEW, wrong_about
from structnet.training.gains import is_better


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, FEW, FEW + 1])
def test_of_few_classes_probabilities_count_beside_the_mistakes(classes: int, sparse: bool) -> None:
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(400, 4)).astype(np.float32)
    y = np.argmax(x @ rng.normal(size=(4, classes)) + rng.normal(size=(400, classes)), 1)
    rows = csr_matrix(x) if sparse else x
    tree = train(rows[:200], y[:200], SoftmaxTreeSettings(depth=1, k=2), num_classes=classes).tree
    parts = (Points.made(rows[i], y[i], classes, None) for i in (slice(200), slice(200, None)))
    found = wrong_about(tree.draft(), *parts)
    prob = tree.predict_proba(rows[200:]).numpy()
    expected = (prob.argmax(1) != y[200:]).astype(float)
    assert 0.1 < expected.mean() < 0.9
    if classes <= FEW:
        expected += ((prob - np.eye(classes)[y[200:]]) ** 2).sum(1) / 2
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_of_kinds_with_the_same_mistakes_the_one_that_knows_more_is_better() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6000, 1)).astype(np.float32)
    y = (rng.random(6000) < 1 / (1 + np.exp(4 - 1.2 * x[:, 0]))).astype(int)
    points = Points.made(x, y, 2, None)
    fold = Fold(points.take(np.arange(3000)), points.take(np.arange(3000, 6000)))
    kinds = [
        ChosenSettings.of(
            SoftmaxTreeSettings(depth=0, k=2, leaf_penalty=p, decision_penalty=p, start="rows")
        )
        for p in (1.0, 3000.0)
    ]
    weak, strong = (fold.wrong_about(kind, None, None) for kind in kinds)
    assert (weak // 1 == strong // 1).mean() > 0.995  # whole parts are mistakes
    assert is_better(strong, weak, BETTER) and not is_better(weak, strong, BETTER)


def test_unsure_leaves_that_are_more_often_right_are_better_at_their_temperature() -> None:
    """Of noisy rows of many columns, as a strong ridge makes them."""
    rng = np.random.default_rng(0)
    centres, y = rng.normal(size=(20, 100)), rng.integers(20, size=1600)
    x = (0.3 * centres[y] + rng.normal(size=(1600, 100))).astype(np.float32)
    points = Points.made(x, np.where(rng.random(1600) < 0.2, rng.integers(20, size=1600), y), 20)
    parts = points.take(np.arange(800)), points.take(np.arange(800, 1600))
    how = {"depth": 0, "k": 20, "leaf_penalty": 0.01, "decision_penalty": 1.0, "start": "rows"}
    kinds = [ChosenSettings(**how, leaf_ridge=ridge) for ridge in (30.0, 100.0)]
    weak, strong = (Fold(*parts).wrong_about(kind, None, None) for kind in kinds)
    assert is_better(weak // 1, strong // 1, 2) and not is_better(weak, strong, 2)
    weak, strong = (Fold(*parts, tempered=True).wrong_about(kind, None, None) for kind in kinds)
    assert is_better(weak, strong, 2)
