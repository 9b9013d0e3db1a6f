"""The examples that a label tree learns from, and the mean example of each label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from structnet.label_tree.features import Features

AXES = 100  # random ones; so many features need none
ENOUGH, PARTS = 1_000, 10  # held-out rows up to which further parts are held out, and most parts


@dataclass(frozen=True)
class Examples:
    """The examples that a label tree learns from.

    Args:
        features: features of the examples.
        labels: numbers of their labels.
        shares: weight of each example; empty if all count the same.

    Shapes:
        labels ``[n]``, int64; shares ``[n]``, float32.
    """

    features: Features
    labels: np.ndarray
    shares: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Any) -> Examples:
        shares = self.shares[rows] if len(self.shares) else self.shares
        return Examples(self.features[rows], self.labels[rows], shares)

    def counts(self, num_classes: int) -> np.ndarray:
        """The number of times that each label occurs, by weight. ``[num_classes]``."""
        return np.bincount(self.labels, self.shares if len(self.shares) else None, num_classes)

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.shares.sum(dtype=np.float64)) if len(self.shares) else float(len(self))

    def weighed(self, numbers: np.ndarray) -> float:
        """The sum of one number for each example, ``[n]``, by weight."""
        return float(self.shares @ numbers if len(self.shares) else numbers.sum())

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


def tenths(examples: Examples, seed: int) -> Iterator[tuple[Examples, Examples]]:
    """Pairs of examples to learn from, and of held-out ones of the same labels.

    A tenth of few examples is too small to show how rarely a sure label is wrong: the tenths of one
    cross-validation, which have the same labels as far as possible, are held out one after the
    other until they have enough examples. There may be none, as if each label has one example.

    Args:
        examples: examples; those without weight are left out.
        seed: seed of the choice of tenths.

    Example:
        >>> rows = Examples(Features.from_table(np.eye(20)), np.arange(20) % 2)
        >>> [held.labels.tolist() for learn, held in tenths(rows, seed=0)][:2]
        [[0, 1], [0, 1]]
    """
    if len(examples.shares):
        examples = examples[examples.shares > 0]
    size = len(examples)
    order = np.random.default_rng(seed).permutation(size)
    order = order[np.argsort(examples.labels[order], kind="stable")]
    part = np.empty(size, np.int64)
    part[order] = np.arange(size) % PARTS
    for number in range(min(-(-ENOUGH // max(size // PARTS, 1)), PARTS)):
        learn, held = examples[part != number], examples[part == number]
        held = held[np.isin(held.labels, learn.labels)]
        if len(held):
            yield learn, held


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
    place = examples.labels, np.arange(len(examples))
    sums = csr_matrix((weights, place), (num_classes, len(examples)), np.float64) @ rows
    sums = sums @ axes if axes is not None else sums.toarray() if issparse(sums) else sums
    counts = examples.counts(num_classes)[:, None] + prior
    mean = sums.sum(0) / (counts - prior).sum()
    return np.where(counts > 0, (sums + prior * mean) / np.maximum(counts, 1e-300), mean)


def random_axes(features: Features) -> np.ndarray | None:
    """Random axes to project many sparse features on; None for few features, or a table.

    Shapes:
        ``[features, AXES]``.
    """
    if features.is_table or features.size <= AXES:
        return None
    return np.random.default_rng(0).normal(size=(features.size, AXES)) / np.sqrt(AXES)
