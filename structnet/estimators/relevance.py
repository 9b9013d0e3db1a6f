"""How many columns of a table are enough.

A model of hundreds of columns fits the noise of those that tell nothing, if there are few rows.
What each column tells in a model of all shows none that tell only in a way that the model lacks:
held-out rows decide whether some are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from structnet.training.gains import is_better

FEWEST = 4  # smallest number of columns that are kept
# Rows for each column from which on all are kept, as a weight of noise is then small (Peduzzi et
# al., A simulation study of the number of events per variable in logistic regression, 1996).
PER_COLUMN = 10
FEW_ROWS = 30  # rows below which chance alone may look like a gain
WIDE = 4  # columns left out of so many in a step while there are more than rows; then of 2
# Standard errors by which fewer columns must be better: several numbers of them are tried.
SURE = 2.5


def most_telling(relevance: np.ndarray, number: int) -> np.ndarray:
    """The columns that tell most, ascending.

    Args:
        relevance: relevance of each column, such as :func:`.explained`.
        number: number of columns.

    Shapes:
        relevance ``[columns]`` -> ``[number]``.
    """
    return np.sort(np.argsort(-relevance, kind="stable")[:number])


def may_be_fewer(columns: int, rows: int) -> bool:
    """True if a table is such that fewer of its columns are tried; see :func:`enough`."""
    return columns > FEWEST and FEW_ROWS <= rows < PER_COLUMN * columns


def enough(
    columns: int,
    rows: int,
    losses: Callable[[int], np.ndarray],
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> int:
    """The number of columns with the least loss; all, unless fewer are better beyond chance.

    Fewer are not tried if there are ten rows for each column, or fewer than 30 rows.

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
    while may_be_fewer(every, rows) and columns > FEWEST:
        columns = max(FEWEST, -(-columns // (WIDE if columns > rows else 2)))
        yield columns
