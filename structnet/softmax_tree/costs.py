"""What a trial costs, in sums, by the sizes of its data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.softmax_tree.fold import STEPS
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.start import CODES

LOOKED = 64  # rows and columns by which the thresholds of a feature are estimated


def flat_sums(points: Points) -> float:
    """An estimate of the number of sums to try a flat softmax on some rows.

    Args:
        points: rows to learn from.
    """
    return 2.0 * _entries(points.x) * points.num_classes * STEPS


def axes_sums(points: Points, depth: float) -> float:
    """An estimate of the number of sums to grow a decision tree on single features.

    Each threshold between two rows of different values takes one sum for each class, or each of
    their codes.

    Args:
        points: rows to learn from.
        depth: depth of the tree.
    """
    each = _thresholds(points.x) * min(points.num_classes, CODES) + math.log2(len(points) + 1)
    return _entries(points.x) * depth * each


def _thresholds(x: Any) -> float:
    """The share of adjacent rows that differ in a feature, by a sample of rows and columns."""
    rows, columns = (np.linspace(0, n - 1, LOOKED).astype(int) for n in x.shape)
    some = x[rows][:, columns]
    values = np.sort(some.toarray() if issparse(some) else some, axis=0)
    return float((np.diff(values, axis=0) > 0).mean())


def _entries(x: Any) -> int:
    """The number of stored entries of rows, without the zeros of sparse ones."""
    return x.nnz if issparse(x) else x.size
