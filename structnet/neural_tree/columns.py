"""The columns of a table that tell something of its targets; the others only add noise.

A leaf's line, a router and a layer have a weight for every column, and with few rows each weight
fits some noise. Trees of single columns hardly suffer from that, and find what several columns tell
only together. So columns are left out step by step, always those that tell least by a linear model
and a forest of what it leaves unexplained. Both are fitted anew after each step, and held-out rows
decide how many columns are kept; and the penalty of the linear model at each step, as the rows by
which columns were chosen would take hardly any.

Reference:
    Guyon, Weston, Barnhill, Vapnik, "Gene Selection for Cancer Classification using Support Vector
    Machines", Machine Learning, 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from structnet.estimators.checked import Checked
from structnet.estimators.held_out import folds
from structnet.estimators.questions import grown_tree
from structnet.estimators.relevance import most_telling
from structnet.estimators.scale import Standardizer
from structnet.estimators.tails import BentStandardizer
from structnet.neural_tree.ridge import Ridge
from structnet.training.gains import is_better

LEAST = 5  # columns of a table from which on some may be left out
ROWS = 5000  # rows that are looked at
NUMBERS = 2**20  # largest product of rows, columns, outputs and fits: about ten seconds
FEWEST = 50  # rows from which on columns are compared
PARTS = 5  # parts that are held out in turn
ENOUGH = 2000  # rows from which on one held-out part is enough; of half as many, it takes two
TREES = 30  # trees of a forest, few of which suffice to compare columns
SHARE = 0.3  # share of the columns that a step leaves out
SURE = 2  # standard errors by which fewer columns must be better
MAYBE = 1  # the same up to which it is worth to look at further parts
STRENGTHS = np.logspace(3, -5, 17)  # penalties of the linear model


def telling_columns(
    x: np.ndarray | csr_matrix,
    y: np.ndarray,
    weights: np.ndarray | None,
    seed: int,
    groups: np.ndarray | None = None,
) -> np.ndarray | None:
    """The columns that are enough to predict unseen targets; None if all are kept.

    All are kept if fewer are not better beyond chance; of fewer than five columns or fewer than 50
    rows; and of tables so large that to compare columns would take longer than it is worth.

    Args:
        x: rows, which may be sparse.
        y: codes of classes, integers, or numbers in columns.
        weights: weight of each row; None for equal weights.
        seed: seed that determines which rows are held out, and the forests.
        groups: groups of the rows, none of which is split; None if each row is one by itself.

    Shapes:
        x ``[n, columns]``; y ``[n]`` or ``[n, outputs]``; weights, groups ``[n]`` -> ``[kept]``,
        ascending.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(500, 8))
        >>> y = np.where(x[:, [2]] > 0, x[:, [5]], -x[:, [5]])
        >>> telling_columns(x, y, None, seed=0)
        array([2, 5])
    """
    rows, outputs = min(x.shape[0], ROWS), 1 + int(y.max()) if y.dtype.kind == "i" else y.shape[1]
    number = min(PARTS, -(-ENOUGH // max(rows, 1)))  # of parts, beside which all rows are fitted
    size = rows * x.shape[1] * outputs * (number + 1)
    if rows < FEWEST or x.shape[1] < LEAST or size > NUMBERS:
        return None
    order = np.random.default_rng(seed).permutation(x.shape[0])[:ROWS]
    x, y, groups = x[order], y[order], groups if groups is None else groups[order]
    counts = np.ones(rows) if weights is None else weights[order] / weights.max()
    y = np.eye(outputs)[y] if y.dtype.kind == "i" else Standardizer.fitted(y, counts)(y)
    x = BentStandardizer.learned(x, y, counts)(x)
    every = Checked(x, y, counts, groups).counting(0)
    tried: list[tuple[np.ndarray, np.ndarray]] = []
    seen = np.zeros(0, np.int64)
    for learn, held in islice(folds(np.arange(len(every.y)), PARTS, every.groups), number):
        tried.append(_unseen(every.take(learn), every.take(held), seed))
        losses = np.concatenate([part for part, _ in tried], axis=1)
        seen = np.append(seen, held)
        _, _, counted, grouped = every.take(seen)
        best = int((losses @ counted).argmin())
        # Most tables need all their columns, which the first part shows in a fifth of the time.
        if not is_better(losses[0], losses[best], MAYBE, counted, grouped):
            return None
    if not tried or not is_better(losses[0], losses[best], SURE, counted, grouped):
        return None
    strengths = iter(STRENGTHS[np.sum([lines for _, lines in tried], axis=0).argmin(1)])
    steps = _fewer(every, seed, lambda *_: next(strengths))
    [kept] = islice((each.columns for each in steps), best, best + 1)
    return kept


class Fit(NamedTuple):
    """A linear model of some columns, and a forest of what it leaves.

    Attributes:
        columns: columns, ascending.
        line: linear models of all strengths.
        strength: strength of the one that counts.
        forest: trees, whose mean it is.
    """

    columns: np.ndarray
    line: Ridge
    strength: float
    forest: list[Any]

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The sum of both. ``[n, columns of the table] -> [n, outputs]``."""
        x = x[:, self.columns]
        few = np.ascontiguousarray(x, np.float32)
        found = [tree.predict(few, check_input=False).reshape(len(few), -1) for tree in self.forest]
        return self.line.predict(x, self.strength) + np.mean(found, axis=0)


def _unseen(rows: Checked, held: Checked, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The squared errors of held-out rows, for fewer and fewer columns.

    Returns:
        Those of each row, and the sums of those of the linear models of all strengths.

    Shapes:
        output ``[steps, held]``, ``[steps, strengths]``.
    """
    lines: list[np.ndarray] = []

    def best(line: Ridge, columns: np.ndarray) -> float:
        lines.append(line.losses(held.of(columns), STRENGTHS) @ held.weights)
        return STRENGTHS[lines[-1].argmin()]

    losses = [np.square(fit.predict(held.x) - held.y).sum(1) for fit in _fewer(rows, seed, best)]
    return np.stack(losses), np.stack(lines)


def _fewer(
    rows: Checked, seed: int, strength_of: Callable[[Ridge, np.ndarray], float]
) -> Iterator[Fit]:
    """The fits of all columns, then of fewer and fewer, down to one.

    Args:
        rows: rows with weights.
        seed: seed of the forests.
        strength_of: function of the linear models and their columns that returns the strength.
    """
    columns = np.arange(rows.x.shape[1])
    while True:
        some = rows.of(columns)
        line = Ridge.of(some)
        strength = strength_of(line, columns)
        rests = some._replace(
            x=np.ascontiguousarray(some.x, np.float32), y=some.y - line.predict(some.x, strength)
        )
        # Fitted one by one: an ExtraTreesRegressor takes twice as long for trees as small as these.
        forest, explained = [], line.explained(strength)
        for each in np.random.SeedSequence(seed).generate_state(TREES).tolist():
            tree, gains = grown_tree(rests, each)
            forest.append(tree)
            explained += gains / TREES
        yield Fit(columns, line, strength, forest)
        if len(columns) == 1:
            return
        step = max(1, int(SHARE * len(columns)))
        columns = columns[most_telling(explained, len(columns) - step)]
