"""A batch gives the classes of its rows one by one, also where rounding decides."""

from __future__ import annotations

import numpy as np
import pytest

from structnet.softmax_tree import SoftmaxTree
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane, Leaf

FEATURES, CLASSES = 37, 9


def drawn(seed: int, ties: float) -> SoftmaxTree:
    """A tree of three leaves whose classes have nearly the same weights."""
    rng = np.random.default_rng(seed)
    planes = [Hyperplane(rng.normal(size=FEATURES).astype(np.float32), 0.1) for _ in range(2)]
    leaves = []
    for _ in range(3):
        common = rng.normal(size=(FEATURES, 1))
        weight = (common + ties * rng.normal(size=(FEATURES, CLASSES))).astype(np.float32)
        leaves.append(Leaf(np.arange(CLASSES), weight, np.zeros(CLASSES, np.float32), CLASSES))
    draft = Draft([(1, 2), (3, 4), (), (), ()], [*planes, *leaves])
    return SoftmaxTree.from_draft(draft, FEATURES, CLASSES)


@pytest.mark.parametrize("ties", [1.0, 1e-6, 0.0])
@pytest.mark.parametrize("number", [0, 1, 7, 400])
def test_alone_and_together(ties: float, number: int) -> None:
    tree = drawn(0, ties)
    x = np.random.default_rng(1).normal(size=(number, FEATURES)).astype(np.float32)
    ask = tree.predictor().class_of
    assert tree.classes_of(x).tolist() == [ask(row) for row in x]


def test_many_rows_of_one_leaf() -> None:
    leaf = drawn(0, 1.0).draft().leaf(2)
    tree = SoftmaxTree.from_draft(Draft([()], [leaf]), FEATURES, CLASSES)
    x = np.random.default_rng(1).normal(size=(400, FEATURES)).astype(np.float32)
    assert tree.classes_of(x).tolist() == [tree.predictor().class_of(row) for row in x]


def test_rows_near_hyperplanes() -> None:
    tree = drawn(2, 1.0)
    x = np.random.default_rng(1).normal(size=(400, FEATURES)).astype(np.float32)
    plane = tree.draft().plane(0)
    x -= np.outer(x @ plane.weight + plane.bias, plane.weight) / (plane.weight @ plane.weight)
    alone = [int(tree.leaves_of(row[None])[0]) for row in x]
    assert len(set(alone)) == 3  # rounding sends some to either side
    assert tree.leaves_of(x).tolist() == alone


def test_a_row_that_is_a_column_of_memory() -> None:
    tree = drawn(0, 1.0)
    x = np.random.default_rng(1).normal(size=(40, FEATURES)).astype(np.float32)
    ask = tree.predictor()
    for row, apart in zip(x, np.asfortranarray(x), strict=True):
        assert ask.class_of(apart) == ask.class_of(row)
        assert ask.probabilities(apart)[1].tolist() == ask.probabilities(row)[1].tolist()
