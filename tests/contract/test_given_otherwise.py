"""What every estimator does with labels of several kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expressions import data

from structnet import (
    AdaptiveSoftmaxTreeClassifier,
    LabelTreeClassifier,
    NeuralTreeClassifier,
    SoftmaxTreeClassifier,
    TreeLSTMClassifier,
    TreeLSTMNodeClassifier,
)

PARSES, CLASSES = data(40)
ROWS = np.random.default_rng(0).normal(size=(40, 3))
TOKENS = [[i % 3, 3] for i in range(40)]
NODES = [[node.label for node in tree.preorder()] for tree in PARSES]
ONE = {"epochs": 1, "random_state": 0}
CASES = [
    (NeuralTreeClassifier(**ONE, refine_epochs=1, max_leaves=1), ROWS, CLASSES),
    (SoftmaxTreeClassifier(random_state=0), ROWS, CLASSES),
    (AdaptiveSoftmaxTreeClassifier(random_state=0), ROWS, CLASSES),
    (LabelTreeClassifier(**ONE), ROWS, CLASSES),
    (LabelTreeClassifier(**ONE, tokens=True), TOKENS, CLASSES),
    (TreeLSTMClassifier(**ONE), PARSES, CLASSES),
    (TreeLSTMNodeClassifier(**ONE), PARSES, NODES),
]


@pytest.mark.parametrize(("model", "X", "y"), CASES)
@pytest.mark.parametrize("first", [1, 2.5, True])
def test_numbers_beside_text_are_no_labels(model: Any, X: Any, y: Any, first: Any) -> None:
    labels: list[Any] = [first, *["a", "b"] * 20][:40]
    if y is NODES:
        labels = [[first, *["a"] * (len(each) - 1)] for each in y]
    with pytest.raises(ValueError, match="y must be all text, all numbers, or all True and Fal"):
        model.fit(X, labels)
