"""Samples that were given several times, as by oversampling a rare class or by a bootstrap.

A held-out sample whose copy was learned from is predicted well by a model that memorises, so
choices by held-out samples go wrong. A copy is better told as a weight. But in a table of few
values, such as codes, equal rows are no copies: rows to come will equal those that were seen, and
samples are held out one by one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.checked import Checked

FEWEST = 0.01  # share of the samples that must be copies to be looked at
AGREE = 0.95  # share of equal rows that must have equal targets
CHANCE = 0.01  # share of the pairs of equal rows that may be chance
LOOKED_AT = 1000  # rows by which chance is estimated
LEAST = 20  # different rows from which on it is


def without_copies(found: Checked) -> Checked:
    """The samples without copies, each weighing as much as all of its copies.

    Equal rows are copies if nearly all of them have equal targets, and if columns that were
    independent of each other would hardly ever give equal rows by chance.

    Args:
        found: samples.

    Example:
        >>> rows = np.random.default_rng(0).normal(size=(30, 2)).repeat(3, axis=0)
        >>> once = without_copies(Checked(rows, np.arange(90) // 45, None))
        >>> once.x.shape, once.weights.max()
        ((30, 2), np.float64(3.0))
        >>> codes = np.arange(300)[:, None] % [5, 6]
        >>> len(without_copies(Checked(codes, codes.sum(1), None)).x)
        300
    """
    size, rows = len(found.y), _digests(found.x)
    _, first, which, counts = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) < LEAST or size - len(first) < FEWEST * size:
        return found
    targets = _digests(found.y.reshape(size, -1))
    agree = targets == targets[first][which]
    pairs = (counts * (counts - 1.0)).sum() / 2
    if agree[counts[which] > 1].mean() < AGREE:
        return found
    if size**2 / 2 * _chance(found.x[np.sort(first)[:LOOKED_AT]]) > CHANCE * pairs:
        return found
    both = np.stack([rows, targets], axis=1)
    _, first, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
    order, weights = np.argsort(first), np.bincount(which, found.weights).astype(np.float64)
    return found.take(first[order])._replace(weights=weights[order])


def _digests(x: Any) -> np.ndarray:
    """A number for each row, equal for equal rows; others are equal once in 2^64. ``[n]``."""
    if issparse(x):
        parts = [slice(*ends) for ends in pairwise(x.indptr.tolist())]
        rows = ((x.indices[part].tobytes(), x.data[part].tobytes()) for part in parts)
    else:
        rows = (row.tobytes() for row in x)
    return np.fromiter(map(hash, rows), np.int64, x.shape[0])


def _chance(x: Any) -> float:
    """The probability that two rows are equal, if columns were independent of each other.

    Shapes:
        x ``[m, ...]``, different rows.
    """
    x = x.toarray() if issparse(x) else x.reshape(len(x), -1)
    found, pairs = 1.0, len(x) * (len(x) - 1.0)
    for column in x.T:
        values, counts = np.unique(column, return_counts=True)
        same = (counts * (counts - 1.0)).sum() / pairs
        if (values == np.rint(values)).all():  # other rows may have the whole numbers between
            same = max(same, 1 / (values[-1] - values[0] + 1))
        found *= same
    return found
