"""How much each column of a table tells by itself, and how many columns are enough.

A model of hundreds of columns fits the noise of those that tell nothing, if there are few rows.
Here each column is looked at by itself, which takes no longer than reading the table, but does not
show what several tell only together: held-out rows decide whether some are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from structnet.estimators.discriminant_analysis import class_sums
from structnet.training.gains import is_better

FEWEST = 4  # smallest number of columns that are kept
# Rows for each column from which on all are kept, as a weight of noise is then small (Peduzzi et
# al., A simulation study of the number of events per variable in logistic regression, 1996).
PER_COLUMN = 10
WIDE = 4  # columns left out of so many in a step while there are more than rows; then of 2
# Standard errors by which fewer columns must be better: several numbers of them are tried.
SURE = 2.5


def between(x: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The share of each column's variance that is between labels, as in an analysis of variance.

    Args:
        x: rows.
        labels: label of each row, from 0.
        weights: weight of each row, above 0.

    Shapes:
        x ``[n, columns]``; labels, weights ``[n]`` -> ``[columns]``, 0 for constants.

    Example:
        >>> x = np.array([[0.0, 1.0], [1.0, 1.0], [4.0, 1.0], [5.0, 1.0]])
        >>> between(x, np.array([0, 0, 1, 1]), np.ones(4)).round(3).tolist()  # 4 of 4.25
        [0.941, 0.0]
    """
    x = np.subtract(x, x[0], dtype=np.float64)  # so that constants are 0, without rounding
    x -= weights @ x / weights.sum()
    variances = weights @ np.square(x)
    counts = np.bincount(labels, weights)[:, None]
    sums = class_sums(x, labels, weights, len(counts))
    found = np.divide(sums**2, counts, out=np.zeros_like(sums), where=counts > 0).sum(0)
    return np.divide(found, variances, out=np.zeros_like(found), where=variances > 0)


def explained(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The share of the targets' variance that a line of each column explains.

    Args:
        x: rows.
        y: targets, with a mean square of 1 if there are several, as all count alike.
        weights: weight of each row, above 0.

    Shapes:
        x ``[n, columns]``; y ``[n, outputs]``; weights ``[n]`` -> ``[columns]``, 0 for constants.

    Example:
        >>> x = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
        >>> explained(x, np.array([[0.0], [2.0], [1.0]]), np.ones(3)).tolist()
        [0.25, 0.0]
    """
    x, y = (np.subtract(each, each[0], dtype=np.float64) for each in (x, y))
    x, y = (each - weights @ each / weights.sum() for each in (x, y))
    variances = weights @ np.square(x)
    found = np.square((weights[:, None] * y).T @ x).sum(0) / (weights @ np.square(y)).sum()
    return np.divide(found, variances, out=np.zeros_like(found), where=variances > 0)


def most_telling(relevance: np.ndarray, number: int) -> np.ndarray:
    """The columns that tell most by themselves, ascending.

    Args:
        relevance: relevance of each column, such as :func:`between`.
        number: number of columns.

    Shapes:
        relevance ``[columns]`` -> ``[number]``.
    """
    return np.sort(np.argsort(-relevance, kind="stable")[:number])


def enough(
    columns: int,
    rows: int,
    losses: Callable[[int], np.ndarray],
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> int:
    """The number of columns with the least loss; all, unless fewer are better beyond chance.

    Fewer are not tried if there are ten rows for each column.

    Args:
        columns: number of all columns.
        rows: number of rows.
        losses: function that returns the losses of held-out rows for a number of columns.
        weights, groups: weights and groups of the held-out rows, or None.

    Shapes:
        losses, weights, groups ``[held]``.

    Example:
        >>> enough(16, 100, lambda number: np.arange(50) / 50 + abs(number - 4))
        4
    """
    found: dict[int, np.ndarray] = {}
    for number in _fewer(columns, rows):
        found[number] = new = losses(number)
        every = found[columns]
        good = [k for k in found if is_better(every, found[k], SURE, weights, groups)]
        means = {k: float(np.average(found[k], weights=weights)) for k in good or [columns]}
        best = min(means, key=lambda k: means[k])
        if is_better(new, found[best], SURE, weights, groups):
            break  # these are too few
    return best


def _fewer(every: int, rows: int) -> Iterator[int]:
    """Numbers of columns to try: all, then fewer and fewer."""
    yield (columns := every)
    while rows < PER_COLUMN * every and columns > FEWEST:
        columns = max(FEWEST, -(-columns // (WIDE if columns > rows else 2)))
        yield columns
