"""The columns of a table that tell something of its targets; the others only add noise.

A leaf's line, a router and a layer have a weight for every column, and with few rows each weight
fits some noise. Trees of single columns hardly suffer from that, and find what several columns tell
only together. So columns are left out step by step, always those that tell least by a linear model
and a forest of what it leaves unexplained. Both are fitted anew after each step, and held-out rows
decide how many columns are kept.

Reference:
    Guyon, Weston, Barnhill, Vapnik, "Gene Selection for Cancer Classification using Support Vector
    Machines", Machine Learning, 2002; Geurts, Ernst, Wehenkel, "Extremely Randomized
    Trees", Machine Learning, 2006.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import RidgeCV

from structnet.estimators.held_out import folds, of_ridge
from structnet.estimators.scale import Standardizer, moments
from structnet.estimators.tails import BentStandardizer
from structnet.training.gains import is_better

LEAST = 5  # columns of a table from which on some may be left out
ROWS = 5000  # rows that are looked at
NUMBERS = 2**20  # largest product of rows, columns, outputs and fits: about ten seconds
FEWEST = 50  # rows from which on columns are compared
PARTS = 5  # parts that are held out in turn
ENOUGH = 2000  # rows from which on one held-out part is enough; of half as many, it takes two
TREES = 30  # trees of a forest, few of which suffice to compare columns
SHARE = 0.3  # share of the columns that a step leaves out
SURE = 3  # standard errors by which fewer columns must be better
MAYBE = 1  # the same up to which it is worth to look at further parts
PENALTIES = np.logspace(-2, 5, 15)  # penalties of the linear model


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
    tried: list[np.ndarray] = []
    seen = np.zeros(0, np.int64)
    for learn, held in islice(folds(np.arange(rows), PARTS, groups), number):
        tried.append(_unseen(x, y, counts, groups, learn, held, seed))
        losses, seen = np.concatenate(tried, axis=1), np.append(seen, held)
        counted, grouped = counts[seen], None if groups is None else groups[seen]
        best = int((losses @ counted).argmin())
        # Most tables need all their columns, which the first part shows in a fifth of the time.
        if not is_better(losses[0], losses[best], MAYBE, counted, grouped):
            return None
    if not tried or not is_better(losses[0], losses[best], SURE, counted, grouped):
        return None
    [kept] = islice((each.columns for each in _fewer(x, y, counts, groups, seed)), best, best + 1)
    return kept


class Fit(NamedTuple):
    """A linear model of some columns, and a forest of what it leaves.

    Attributes:
        columns: columns, ascending.
        line: linear model.
        forest: trees, whose mean it is.
    """

    columns: np.ndarray
    line: Any
    forest: list[Any]

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The sum of both. ``[n, columns of the table] -> [n, outputs]``."""
        x = x[:, self.columns]
        return self.line.predict(x).reshape(len(x), -1) + self._rest(x)

    def explained(self, x: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The variance that each of the columns explains.

        Shapes:
            x ``[n, columns of the table]``, counts ``[n]`` -> ``[columns]``.
        """
        x = x[:, self.columns]
        weights = self.line.coef_.reshape(-1, len(self.columns))  # flat for one output
        by_line = np.square(weights).sum(0) * moments(x, counts)[1] ** 2
        rest = (moments(self._rest(x), counts)[1] ** 2).sum()
        return by_line + np.mean([tree.feature_importances_ for tree in self.forest], axis=0) * rest

    def _rest(self, x: np.ndarray) -> np.ndarray:
        """What the forest predicts. ``[n, columns] -> [n, outputs]``."""
        few = np.ascontiguousarray(x, np.float32)
        found = [tree.predict(few, check_input=False).reshape(len(few), -1) for tree in self.forest]
        return np.mean(found, axis=0)


def _unseen(
    x: np.ndarray,
    y: np.ndarray,
    counts: np.ndarray,
    groups: np.ndarray | None,
    learn: np.ndarray,
    held: np.ndarray,
    seed: int,
) -> np.ndarray:
    """The squared errors of rows that are held out, for fewer and fewer columns.

    Shapes:
        x ``[n, columns]``, y ``[n, outputs]``, counts, groups ``[n]``, learn ``[n - m]``, held
        ``[m]`` -> ``[steps, m]``.
    """
    groups = None if groups is None else groups[learn]
    fits = _fewer(x[learn], y[learn], counts[learn], groups, seed)
    return np.stack([np.square(each.predict(x[held]) - y[held]).sum(1) for each in fits])


def _fewer(
    x: np.ndarray, y: np.ndarray, counts: np.ndarray, groups: np.ndarray | None, seed: int
) -> Iterator[Fit]:
    """The fits of all columns, then of fewer and fewer, down to one."""
    from sklearn.tree import ExtraTreeRegressor

    columns, by = np.arange(x.shape[1]), of_ridge(groups)
    while True:
        some = x[:, columns]
        line = RidgeCV(PENALTIES, **by).fit(some, y, counts)
        rest = y - line.predict(some).reshape(y.shape)
        # Fitted one by one: an ExtraTreesRegressor takes twice as long for trees as small as these.
        few, forest = np.ascontiguousarray(some, np.float32), []
        for each in np.random.SeedSequence(seed).generate_state(TREES).tolist():
            tree = ExtraTreeRegressor(min_samples_leaf=2, random_state=each)
            forest.append(tree.fit(few, rest, counts, check_input=False))
        yield (fit := Fit(columns, line, forest))
        if len(columns) == 1:
            return
        step = max(1, int(SHARE * len(columns)))
        order = (-fit.explained(x, counts)).argsort(kind="stable")
        columns = np.sort(columns[order[: len(columns) - step]])
