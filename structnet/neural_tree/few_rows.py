"""The columns of few rows of many columns that tell most, and the penalty of their linear model.

These are the columns that explain most in the linear model of all: by themselves, columns that have
much in common may all tell alike.

Columns chosen on all rows suit the noise of all rows: held-out rows among these would find that
hardly any penalty is needed. So columns and penalty are chosen together by cross-validation, and
the columns anew in every fold (Ambroise, McLachlan, "Selection bias in gene extraction on the basis
of microarray gene-expression data", PNAS 2002).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.estimators import few_rows
from structnet.estimators.checked import Checked
from structnet.estimators.held_out import folds
from structnet.estimators.relevance import enough, may_be_fewer, most_telling
from structnet.estimators.tails import BentStandardizer
from structnet.neural_tree.ridge import Ridge

PARTS = 5  # parts of rows with numbers that are held out in turn
NUMBERS = 20_000_000  # largest size of a table with numbers, of which there will be several copies
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
    learns = [*(rows.take(learn) for learn, _ in parts), rows]
    columns, ridges = [np.arange(size) for _ in learns], [Ridge.of(learn) for learn in learns]
    found: dict[int, Line] = {}

    def unseen(number: int) -> np.ndarray:
        """The squared errors for a number of columns, of those before, at the best strength."""
        if found:
            *_, before = found.values()
            for i, learn in enumerate(learns):
                told = most_telling(ridges[i].explained(before.strength), number)
                columns[i] = columns[i][told]
                ridges[i] = Ridge.of(learn.of(columns[i]))
        losses = np.concatenate(
            [
                ridge.losses(rows.take(held).of(some), strengths)
                for (_, held), ridge, some in zip(parts, ridges[:-1], columns[:-1], strict=True)
            ],
            axis=1,
        )
        least = int((losses @ weights).argmin())
        found[number] = Line(columns[-1], float(strengths[least]))
        return losses[least]

    kept = enough(size, number, unseen, weights, groups)
    return found[kept] if kept < size else None
