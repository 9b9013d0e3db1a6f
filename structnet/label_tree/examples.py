"""The examples that a label tree learns from, and the mean example of each label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import class_means, class_sums
from structnet.label_tree.features import Features

AXES = 100  # random ones; so many features need none


@dataclass(frozen=True)
class Examples:
    """The examples that a label tree learns from.

    Args:
        features: features of the examples.
        labels: numbers of their labels.
        shares: weight of each example; empty if all count the same.
        groups: group of each example, as a number; examples are held out in whole groups. None if
            each is a group by itself.

    Shapes:
        labels ``[n]``, int64; shares ``[n]``, float32; groups ``[n]``.
    """

    features: Features
    labels: np.ndarray
    shares: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Any) -> Examples:
        shares = self.shares[rows] if len(self.shares) else self.shares
        groups = None if self.groups is None else self.groups[rows]
        return Examples(self.features[rows], self.labels[rows], shares, groups)

    @property
    def checked(self) -> Checked:
        """The rows, dense or sparse, with their labels and weights."""
        shares = self.shares if len(self.shares) else None
        x = self.features.table if self.features.is_table else self.features.to_csr()
        return Checked(x, self.labels, shares, self.groups)

    def counts(self, num_classes: int) -> np.ndarray:
        """The number of times that each label occurs, by weight. ``[num_classes]``."""
        return np.bincount(self.labels, self.shares if len(self.shares) else None, num_classes)

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.shares.sum(dtype=np.float64)) if len(self.shares) else float(len(self))

    def mean(self, numbers: np.ndarray) -> float:
        """The weighted mean of one number for each example, ``[n]``."""
        return float(np.average(numbers, weights=self.shares if len(self.shares) else None))

    @property
    def effective(self) -> float:
        """The number of examples of equal weight whose mean would be as certain."""
        if not len(self.shares):
            return len(self)
        shares = self.shares.astype(np.float64)
        return float(shares.sum() ** 2 / np.square(shares).sum())

    @property
    def sum_of_squares(self) -> float:
        """The sum of the squares of all features, by weight."""
        features, shares = self.features, self.shares
        if not len(shares):
            return features.sum_of_squares
        if features.is_table:
            rows = np.einsum("nd,nd->n", features.table, features.table, dtype=np.float64)
            return float(rows @ shares)
        counts = np.repeat(shares, np.diff(features.offsets))
        return float(np.square(features.values, dtype=np.float64) @ counts)


def guessing_loss(counts: np.ndarray) -> float:
    """The loss of guessing by the frequencies of the labels, ``[labels]``.

    Example:
        >>> round(guessing_loss(np.array([2, 2, 0])), 3)
        0.693
    """
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum())


def label_means(
    examples: Examples, num_classes: int, axes: np.ndarray | None = None, prior: float = 0.0
) -> np.ndarray:
    """The mean features of each label's examples.

    Args:
        axes: directions that the features are projected on, ``[features, columns]``.
        prior: number of examples at the mean of all that are added to a label's own.

    Shapes:
        ``[num_classes, columns]``; the mean of all for a label without examples.
    """
    rows = examples.features.table if examples.features.is_table else examples.features.to_csr()
    weights = examples.shares if len(examples.shares) else np.ones(len(examples))
    sums = class_sums(rows, examples.labels, weights, num_classes)
    sums = sums @ axes if axes is not None else sums.toarray() if issparse(sums) else sums
    return class_means(sums, examples.counts(num_classes), prior)


def random_axes(features: Features) -> np.ndarray | None:
    """Random axes to project many sparse features on; None for few features, or a table.

    Shapes:
        ``[features, AXES]``.
    """
    if features.is_table or features.size <= AXES:
        return None
    return np.random.default_rng(0).normal(size=(features.size, AXES)) / np.sqrt(AXES)
