"""The columns of few rows of many columns that tell most, and the penalty of their linear model.

Columns chosen on all rows suit the noise of all rows: held-out rows among these would find that
hardly any penalty is needed. So columns and penalty are chosen together by cross-validation, and
the columns anew in every fold (Ambroise, McLachlan, "Selection bias in gene extraction on the basis
of microarray gene-expression data", PNAS 2002).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from structnet.estimators import few_rows
from structnet.estimators.checked import Checked
from structnet.estimators.held_out import folds
from structnet.estimators.relevance import enough, explained, most_telling
from structnet.estimators.tails import BentStandardizer

PARTS = 5  # parts of rows with numbers that are held out in turn
STRENGTHS = np.logspace(1, -6, 15)  # penalties, for columns whose mean square is 1


class Line(NamedTuple):
    """The penalised linear model of some columns.

    Attributes:
        columns: columns that it reads, ascending.
        strength: strength of its penalty, as :func:`.fit_linear` takes it.
    """

    columns: np.ndarray
    strength: float


def few_columns(rows: Checked, seed: int, *, standardize: bool = True) -> Line | None:
    """The columns that are enough for a linear model, if far fewer than all are surely better.

    Args:
        rows: rows, with codes of classes, or with standardized numbers in columns.
        seed: seed of the choice of held-out rows.
        standardize: scale the columns first.

    Returns:
        None if all columns are kept; if there are ten rows for each; for sparse rows; and for
        tables that are too large, see :func:`.few_rows.solvable`.

    Example:
        >>> random = np.random.default_rng(1)
        >>> x = random.normal(size=(100, 200))
        >>> y = x[:, [3, 9, 50, 99]].sum(1, keepdims=True) + 0.1 * random.normal(size=(100, 1))
        >>> few_columns(Checked(x, y / y.std(), None), 0).columns
        array([ 3,  9, 50, 99])
    """
    rows = few_rows.with_weights(rows)
    classes = rows.y.dtype.kind == "i"
    outputs = 1 + int(rows.y.max()) if classes else rows.y.shape[1]
    if not isinstance(rows.x, np.ndarray) or not few_rows.solvable(rows.x, outputs):
        return None
    assert rows.weights is not None
    rows = rows._replace(weights=rows.weights / rows.weights.mean())
    if standardize:
        rows = rows._replace(x=BentStandardizer.learned(*rows[:3])(rows.x))
    return _of_classes(rows, outputs, seed) if classes else _of_numbers(rows, seed)


def _of_classes(rows: Checked, outputs: int, seed: int) -> Line | None:
    how = few_rows.regularisation(rows, outputs, seed)
    columns = few_rows.columns_of(rows, how)
    if columns is None or not how.penalty:
        return None
    return Line(columns, few_rows.strength_of(rows, how))


def _of_numbers(rows: Checked, seed: int) -> Line | None:
    assert rows.weights is not None
    number, size = rows.x.shape
    order = np.random.default_rng(seed).permutation(number)
    parts = list(folds(order, PARTS, rows.groups))
    if not parts:
        return None
    places = np.concatenate([held for _, held in parts])
    strengths = STRENGTHS * few_rows.unit_of(rows.x) ** 2
    best: dict[int, int] = {}

    @cache
    def relevance(part: int) -> np.ndarray:
        some = rows.take(parts[part][0])
        assert some.weights is not None
        return explained(some.x, some.y, some.weights)

    def unseen(columns: int) -> np.ndarray:
        tried = []
        for part, (learn, held) in enumerate(parts):
            some = rows.of(most_telling(relevance(part), columns) if columns < size else None)
            tried.append(_unseen(some.take(learn), some.take(held), strengths))
        losses = np.concatenate(tried, axis=1)
        best[columns] = int((losses @ weights).argmin())
        return losses[best[columns]]

    weights = rows.weights[places]
    groups = None if rows.groups is None else rows.groups[places]
    kept = enough(size, number, unseen, weights, groups)
    if kept == size:
        return None
    found = most_telling(explained(rows.x, rows.y, rows.weights), kept)
    return Line(found, float(strengths[best[kept]]))


def _unseen(learn: Checked, held: Checked, strengths: np.ndarray) -> np.ndarray:
    """The squared errors of held-out rows for each strength, ``[strengths, m]``."""
    assert learn.weights is not None
    shares = learn.weights / learn.weights.sum()
    mean, level = shares @ learn.x, shares @ learn.y
    root = np.sqrt(shares)[:, None]
    left, values, right = np.linalg.svd(root * (learn.x - mean), full_matrices=False)
    outputs = learn.y.shape[1]  # over which the loss is a mean
    factors = values / (values**2 + outputs / 2 * strengths[:, None])  # [strengths, rank]
    along = left.T @ (root * (learn.y - level))  # [rank, outputs]
    found = ((held.x - mean) @ right.T * factors[:, None]) @ along + level
    return np.square(found - held.y).mean(-1)
