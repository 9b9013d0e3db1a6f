"""The two kinds of nodes in training: hyperplanes, and softmaxes over some of the classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from structnet.softmax_tree.points import Points


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """A decision node, where samples with ``w.x + b >= 0`` go right.

    Attributes:
        weight: weights w.
        bias: bias b.
        columns: features of the weights; None if every feature has one.

    Shapes:
        weight ``[D]`` or ``[len(columns)]``, float32.
    """

    weight: np.ndarray
    bias: float
    columns: np.ndarray | None = None

    @property
    def norm(self) -> float:
        """``||w||_1``."""
        return float(np.abs(self.weight).sum(dtype=np.float64))

    def full(self, num_features: int) -> np.ndarray:
        """The weights of all features. ``[D]``."""
        if self.columns is None:
            return self.weight
        weight = np.zeros(num_features, np.float32)
        weight[self.columns] = self.weight
        return weight

    def goes_right(self, points: Points, rows: np.ndarray) -> np.ndarray:
        """True for rows that go right. ``[len(rows)]``, bool."""
        return points.projections(rows, self.full(points.num_features), self.bias) >= 0


@dataclass(frozen=True, eq=False)
class Leaf:
    """A softmax over its own classes; all others have a fixed probability, 0 in training.

    Attributes:
        classes: classes S_j of the leaf, ascending; one of several parts occurs as often.
        weight, bias: weights W_j and biases c_j.
        k: largest number of classes that it may have.
        columns: features of the weights; None if every feature has weights.
        rest: probability of all other classes together, which share it by their frequency.

    Shapes:
        classes ``[classes]``; weight ``[D, classes]`` or ``[len(columns), classes]``; bias
        ``[classes]``; float32.
    """

    classes: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    k: int
    columns: np.ndarray | None = None
    rest: float = 0.0

    @property
    def norm(self) -> float:
        """``||W||_1``."""
        return float(np.abs(self.weight).sum(dtype=np.float64))

    @property
    def square(self) -> float:
        """``||W||^2``."""
        return float(np.square(self.weight, dtype=np.float64).sum())

    def at(self, temperature: float) -> Leaf:
        """The leaf with its scores divided by a temperature."""
        by = np.float32(1 / temperature)
        return replace(self, weight=self.weight * by, bias=self.bias * by)

    def scores(self, x: Any) -> np.ndarray:
        """The scores of its classes for rows. ``[n, D] -> [n, classes]``, float64."""
        x = x if self.columns is None else x[:, self.columns]
        return np.asarray(x @ self.weight + self.bias).astype(np.float64)

    def log_probs(self, x: Any) -> np.ndarray:
        """The log-softmax of its classes for rows. ``[n, D] -> [n, classes]``."""
        scores = self.scores(x)
        scores -= scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def places(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places of classes among the leaf's own, and True where they are. Both ``[n]``."""
        place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return place, self.classes[place] == y


def sparse_hyperplane(weight: np.ndarray, bias: float, columns: np.ndarray) -> Hyperplane:
    """A hyperplane with only the weights that are not 0. ``[columns], [columns]``."""
    kept = weight != 0
    return Hyperplane(weight[kept], bias, columns[kept])


def first_leaf(counts: np.ndarray, k: int, num_features: int, sparse: bool) -> Leaf:
    """A leaf that predicts the frequencies of its classes, with weights of 0.

    Args:
        counts: weight of each class at the leaf.
        k: largest number of classes of the leaf; of equally frequent ones, the first are taken.
        num_features: number of features D.
        sparse: True for sparse weights, of no features yet.

    Shapes:
        counts ``[K]``.
    """
    order = np.lexsort((np.arange(len(counts)), -counts))[:k]
    classes = np.sort(order[counts[order] > 0])
    if not len(classes):
        classes = np.sort(order[:1])
    share = counts[classes] / (counts[classes].sum() or 1.0)
    bias = np.log(np.maximum(share, 1e-12)).astype(np.float32)
    columns = np.zeros(0, np.int32) if sparse else None
    rows = 0 if sparse else num_features
    return Leaf(classes, np.zeros((rows, len(classes)), np.float32), bias, k, columns)
