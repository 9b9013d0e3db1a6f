"""The columns of few rows of many columns that tell most, and the penalty of their linear model.

These are the columns that explain most in the linear model of all: by themselves, columns that have
much in common may all tell alike.

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
from structnet.estimators.relevance import enough, may_be_fewer, most_telling
from structnet.estimators.tails import BentStandardizer

PARTS = 5  # parts of rows with numbers that are held out in turn
NUMBERS = 20_000_000  # largest size of a table with numbers, of which there will be several copies
ROUNDING = 1e-12  # share of the largest square of a singular value up to which one is 0
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
        rows: rows, with codes of classes, or with numbers in columns, which count by variance.
        seed: seed of the choice of held-out rows.
        standardize: scale the columns first.

    Returns:
        None if all columns are kept; if there are ten rows for each, or fewer than 30 rows; for
        sparse rows; and for tables that are too large, see :func:`.few_rows.solvable`.

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
    small = isinstance(rows.x, np.ndarray) and few_rows.solvable(rows.x, outputs)
    if not small or not may_be_fewer(rows.x.shape[1], len(rows.y)):
        return None
    assert rows.weights is not None
    weights = rows.weights / rows.weights.mean()
    scale = BentStandardizer.learned(*rows[:3]) if standardize else None
    x = scale(rows.x) if scale else rows.x - weights @ rows.x / len(weights)
    rows = rows._replace(x=x, weights=weights)
    if classes:
        return _of_classes(rows, outputs, seed)
    return _of_numbers(rows, seed) if rows.x.size <= NUMBERS else None


def _of_classes(rows: Checked, outputs: int, seed: int) -> Line | None:
    how = few_rows.regularisation(rows, outputs, seed)
    columns = few_rows.columns_of(rows, outputs, how)
    if columns is None or not how.penalty:
        return None
    return Line(columns, few_rows.strength_of(rows, columns, how))


def _of_numbers(rows: Checked, seed: int) -> Line | None:
    assert rows.weights is not None
    number, size = rows.x.shape
    order = np.random.default_rng(seed).permutation(number)
    parts = list(folds(order, PARTS, rows.groups))
    if not parts:
        return None
    places = np.concatenate([held for _, held in parts])
    weights = rows.weights[places]
    groups = None if rows.groups is None else rows.groups[places]
    strengths = STRENGTHS * few_rows.unit_of(rows.x) ** 2
    best: dict[int, float] = {}

    @cache
    def every(part: int) -> _Ridge:
        return _Ridge.of(rows.take(parts[part][0]))

    def losses(part: int, columns: int) -> np.ndarray:
        """The squared errors of a part for each strength, ``[strengths, m]``."""
        learn, held = parts[part]
        if columns == size:
            return every(part).losses(rows.take(held), strengths)
        some = rows.of(most_telling(every(part).explained(best[size]), columns))
        return _Ridge.of(some.take(learn)).losses(some.take(held), strengths)

    def unseen(columns: int) -> np.ndarray:
        found = np.concatenate([losses(part, columns) for part in range(len(parts))], axis=1)
        least = int((found @ weights).argmin())
        best[columns] = float(strengths[least])
        return found[least]

    kept = enough(size, number, unseen, weights, groups)
    if kept == size:
        return None
    return Line(most_telling(_Ridge.of(rows).explained(best[size]), kept), best[kept])


class _Ridge(NamedTuple):
    """The linear models of all strengths, with ``x - mean = left * values @ right`` of each row.

    Attributes:
        mean, level: means of the columns and of the targets.
        values, right: singular values and right vectors of the rows, by the roots of their shares.
        along: targets along the left vectors.
        spread: variance of each column.

    Shapes:
        mean, spread ``[columns]``; level ``[outputs]``; values ``[rank]``; right ``[rank,
        columns]``; along ``[rank, outputs]``.
    """

    mean: np.ndarray
    level: np.ndarray
    values: np.ndarray
    right: np.ndarray
    along: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, rows: Checked) -> _Ridge:
        """The models of rows with weights."""
        assert rows.weights is not None
        shares = rows.weights / rows.weights.sum()
        mean, level, root = shares @ rows.x, shares @ rows.y, np.sqrt(shares)[:, None]
        x = root * (rows.x - mean)
        if len(x) < x.shape[1]:  # far faster than by the wide matrix itself
            squares, left = np.linalg.eigh(x @ x.T)
            there = squares > ROUNDING * squares[-1]
            values, left = np.sqrt(squares[there]), left[:, there]
            right = (left / values).T @ x
        else:
            left, values, right = np.linalg.svd(x, full_matrices=False)
        along = left.T @ (root * (rows.y - level))
        return cls(mean, level, values, right, along, np.square(x).sum(0))

    def losses(self, held: Checked, strengths: np.ndarray) -> np.ndarray:
        """The mean squared error of each row, ``[strengths, m]``."""
        factors = self._factors(strengths[:, None])
        found = ((held.x - self.mean) @ self.right.T * factors[:, None]) @ self.along + self.level
        return np.square(found - held.y).mean(-1)

    def explained(self, strength: float) -> np.ndarray:
        """The variance that each column's weights explain, ``[columns]``."""
        weights = self.right.T @ (self._factors(strength)[:, None] * self.along)
        return np.square(weights).sum(1) * self.spread

    def _factors(self, strengths: np.ndarray | float) -> np.ndarray:
        outputs = len(self.level)  # over which the loss is a mean
        return self.values / (self.values**2 + outputs / 2 * strengths)
