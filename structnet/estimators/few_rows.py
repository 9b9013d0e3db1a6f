"""A softmax over all labels of dense rows, solved directly; of few rows, in two ways together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import (
    UNSEEN,
    Shrinkage,
    best_shrinkage,
    discriminant,
    losses_of,
    shrinkage_of,
    unit_of,
    with_weights,
)
from structnet.estimators.held_out import PARTS, tenths
from structnet.estimators.logistic import logistic_regression
from structnet.estimators.relevance import enough, may_be_fewer, most_telling
from structnet.estimators.row_space import RowSpace, space_of

FEW = 400  # rows up to which a tenth tells so little that what is trained gains nothing it can show
WORK = 1_000_000  # rows times columns times labels up to which both methods take about a second
LARGEST = 10  # times as much where columns may be left out: then fewer parts of rows are held out
HELD = 100  # held-out rows without which that would tell too little
PENALTIES = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)  # for rows of mean square 1
USUAL = 1.0  # penalty if no rows can be held out
STRONG = 10.0  # penalty of the weights by which columns are compared
# From rows, the number of labels and a seed, the weights and biases of a softmax.
Solve = Callable[[Checked, int, int], tuple[np.ndarray, np.ndarray]]


class Regularisation(NamedTuple):
    """What keeps the weights of few rows small.

    Attributes:
        shrinkage: that of the discriminant analysis.
        penalty: penalty of the squared weights of the logistic regression, for rows of mean square
            1; 0 leaves it out.
        wide: True if both learn from coordinates in the space that the rows span.
        columns: number of columns that have weights, those that tell most; 0 for all.
    """

    shrinkage: Shrinkage
    penalty: float
    wide: bool
    columns: int = 0


def solvable(x: np.ndarray, num_classes: int) -> bool:
    """True if dense rows, ``[n, columns]``, are so few that they are solved in two ways."""
    if _work(x, num_classes) <= WORK:
        return True
    held = _parts(x, num_classes) * len(x) / PARTS
    return may_be_fewer(x.shape[1], len(x)) and held >= HELD


def _work(x: np.ndarray, num_classes: int) -> int:
    return len(x) * min(x.shape) * num_classes


def _parts(x: np.ndarray, num_classes: int) -> int:
    """The number of tenths that can be held out in turn."""
    return min(LARGEST * WORK // _work(x, num_classes), PARTS)


def regularisation(rows: Checked, num_classes: int, seed: int = 0) -> Regularisation:
    """The regularisation of :func:`solved` that has the least loss by cross-validation.

    Fewer columns are taken if they are better than all by more than chance.

    Args:
        rows: dense rows with labels from 0.
        num_classes: number of labels.
        seed: seed of the choice of held-out rows.
    """
    rows = with_weights(rows)
    if not ((rows.y != rows.y[0]).any() and solvable(rows.x, num_classes)):
        return Regularisation(best_shrinkage(rows, num_classes, seed), 0.0, wide=False)
    number, size = rows.x.shape
    parts = list(islice(tenths(rows.y, seed, rows.groups), _parts(rows.x, num_classes)))
    if not parts:
        return _best([], num_classes, seed)._replace(wide=number < size)
    every, _ = _in_span(rows, number < size)  # of all rows, as their labels do not tell in it
    tried: dict[int, Regularisation] = {}

    @cache
    def relevance(part: int) -> np.ndarray:
        return explained(rows.take(parts[part][0]), num_classes)

    def pair(part: int, columns: int) -> tuple[Checked, Checked]:
        """Rows to learn from and held-out rows, as :func:`solved` sees them."""
        few = rows.of(most_telling(relevance(part), columns)) if columns < size else every
        learn, held = map(few.take, parts[part])
        learn, space = _in_span(learn, len(learn.y) < columns < size)
        return learn, held._replace(x=space.of(held.x)) if space else held

    def unseen(columns: int) -> np.ndarray:
        pairs = [pair(part, columns) for part in range(len(parts))]
        near = [*tried.values()][-1].penalty if tried else 0.0
        how = _best(pairs, num_classes, seed, near)
        tried[columns] = how._replace(
            wide=number < columns, columns=columns if columns < size else 0
        )
        return np.concatenate([_held_losses(*pair, num_classes, seed, how) for pair in pairs])

    held = rows.take(np.concatenate([held for _, held in parts]))
    return tried[enough(size, number, unseen, held.weights, held.groups)]


def solved(
    rows: Checked, num_classes: int, seed: int = 0, how: Regularisation | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of a softmax over all labels of dense rows, without training.

    They are those of a :func:`.discriminant` analysis. If rows are few, they are the means of these
    and of those of a logistic regression with a penalty of squared weights. The former is better
    where the rows of a label are distributed normally, the latter where they are not. Few rows do
    not show which it is; but as their errors differ, those of the mean are about as rare as those
    of the better one. Columns that tell little have no weights, if held-out rows show that most are
    noise. Of few rows with more columns than there are rows, both learn from coordinates in the
    space that the rows span, along which all that is known of them varies, in place of columns that
    hardly do.

    Args:
        rows: dense rows with labels from 0.
        num_classes: number of labels.
        seed: seed of the choice of held-out rows.
        how: regularisation; by default that of :func:`regularisation`.

    Shapes:
        weights ``[num_classes, columns]``; biases ``[num_classes]``; float32.

    Reference:
        Tibshirani, Hastie, Narasimhan, Chu, Diagnosis of multiple cancer types by shrunken
        centroids of gene expression, PNAS 2002, who leave out columns that tell little.

    Example:
        >>> table, labels = np.array([[0.0], [2.0], [8.0], [10.0]] * 9), np.array([0, 0, 1, 1] * 9)
        >>> weight, bias = solved(Checked(table, labels, None), 2)
        >>> middle = (bias[0] - bias[1]) / (weight[1] - weight[0])
        >>> middle.round(1).tolist()  # where both are equally likely
        [5.0]
    """
    rows = with_weights(rows)
    how = how or regularisation(rows, num_classes, seed)
    columns = columns_of(rows, num_classes, how)
    some, space = _in_span(rows.of(columns), how.wide)
    weight, bias = _mean_of_both(some, num_classes, seed, how)
    if space:
        weight, bias = space.model(weight, bias)
    if columns is not None:
        every = np.zeros((num_classes, rows.x.shape[1]))
        every[:, columns] = weight
        weight = every
    return weight.astype(np.float32), bias.astype(np.float32)


def columns_of(rows: Checked, num_classes: int, how: Regularisation) -> np.ndarray | None:
    """The columns that have weights, ascending; None for all.

    Args:
        rows: dense rows with labels from 0, and with weights.
        num_classes: number of labels.
        how: regularisation.

    Shapes:
        output ``[how.columns]``.
    """
    if not 0 < how.columns < rows.x.shape[1]:
        return None
    return most_telling(explained(rows, num_classes), how.columns)


def explained(rows: Checked, num_classes: int) -> np.ndarray:
    """The variation of the logits that each column explains, in a logistic regression of all.

    By themselves, columns that have much in common may all tell alike. The penalty is a strong
    one: a weak one of few rows would have learned their noise.

    Args:
        rows: dense rows with labels from 0, and with weights.
        num_classes: number of labels.

    Shapes:
        output ``[columns]``.

    Example:
        >>> random, y = np.random.default_rng(0), np.arange(90) % 3
        >>> x = random.normal(size=(90, 5)) + 5 * random.normal(size=(90, 1))  # much in common
        >>> x[:, 1] += 2 * y
        >>> explained(with_weights(Checked(x, y, None)), 3).argmax()
        np.int64(1)
    """
    assert rows.weights is not None
    some, space = _in_span(rows, len(rows.y) < rows.x.shape[1])
    unit = unit_of(some.x)
    found = regression(some, num_classes, unit, STRONG)
    weight = found[:-1].T / unit
    if space:
        weight, _ = space.model(weight, found[-1])
    x = np.subtract(rows.x, rows.x[0], dtype=np.float64)  # so that constants are 0, not rounded
    x -= rows.weights @ x / rows.weights.sum()
    return np.square(weight).sum(0) * (rows.weights @ np.square(x))


def strength_of(rows: Checked, columns: np.ndarray | None, how: Regularisation) -> float:
    """The penalty of half the squared weights of the columns as they are, beside the mean loss.

    Args:
        rows: dense rows with labels from 0, and with weights.
        columns: columns that have weights; None for all.
        how: regularisation, with a penalty.

    Shapes:
        columns ``[how.columns]``.
    """
    assert rows.weights is not None
    some, _ = _in_span(rows.of(columns), how.wide)
    return how.penalty * unit_of(some.x) ** 2 / rows.weights.sum()


def _in_span(rows: Checked, wide: bool) -> tuple[Checked, RowSpace | None]:
    """Wide rows as coordinates, and their space; as they are if not wide, or all the same."""
    space = space_of(rows.x.astype(np.float64), outputs=np.inf) if wide else None
    return (rows._replace(x=space.coordinates) if space else rows), space


def _best(
    pairs: list[tuple[Checked, Checked]], num_classes: int, seed: int, near: float = 0.0
) -> Regularisation:
    """The best shrinkage and the best penalty for all columns that there are.

    Args:
        pairs: rows to learn from, and held-out ones.
        num_classes: number of labels.
        seed: seed of the choice of rows for large covariances.
        near: penalty that is likely to be close; 0 if none is known.
    """
    shrinkage = shrinkage_of(pairs, num_classes, seed)
    if not shrinkage.certainty:
        return Regularisation(shrinkage, 0.0, wide=False)
    ways: dict[int, np.ndarray] = {}

    def loss(penalty: float) -> float:
        total = 0.0
        for place, (learn, held) in enumerate(pairs):
            unit = unit_of(learn.x)
            way = ways[place] = regression(learn, num_classes, unit, penalty, ways.get(place))
            logits = held.x @ (way[:-1] / unit) + way[-1]
            total += float(held.weights @ losses_of(logits, held.y, len(learn.y)))
        return total

    begin = PENALTIES.index(near) if near in PENALTIES else 0
    best = lowest(loss, begin) if pairs else USUAL
    return Regularisation(shrinkage, best, wide=False)


def lowest(
    loss: Callable[[float], float], begin: int, penalties: Sequence[float] = PENALTIES
) -> float:
    """The penalty of the least loss, downhill from one of them: less is worse, and takes longer.

    Args:
        loss: function of a penalty.
        begin: place of the first one among the penalties.
        penalties: penalties, descending.

    Example:
        >>> lowest(lambda penalty: abs(penalty - 3), begin=0)
        3.0
    """
    least, best = loss(penalties[begin]), begin
    for step in (1, -1):
        while 0 <= best + step < len(penalties):
            if (new := loss(penalties[best + step])) >= least:
                break
            least, best = new, best + step
        if best != begin:
            break
    return penalties[best]


def _held_losses(
    learn: Checked, held: Checked, num_classes: int, seed: int, how: Regularisation
) -> np.ndarray:
    """The loss of each held-out row, ``[n]``."""
    weight, bias = _mean_of_both(learn, num_classes, seed, how)
    return losses_of(held.x @ weight.T + bias, held.y, len(learn.y))


def _mean_of_both(
    rows: Checked, num_classes: int, seed: int, how: Regularisation
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of both solutions, or the discriminant analysis alone, in double precision."""
    found = discriminant(rows, num_classes, seed, how.shrinkage)
    weight, bias = (part.astype(np.float64) for part in found)
    if how.penalty and weight.any():
        unit = unit_of(rows.x)
        fitted = regression(rows, num_classes, unit, how.penalty)
        weight, bias = (weight + fitted[:-1].T / unit) / 2, (bias + fitted[-1]) / 2
    return weight, bias


def regression(
    rows: Checked,
    num_classes: int,
    unit: float,
    penalty: float,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Weights and, in the last row, biases; see :func:`.logistic_regression`.

    A label without rows has weights of 0, and a low bias.

    Args:
        rows: dense rows with labels from 0, and with weights above 0.
        num_classes: number of labels.
        unit: number by which the rows are divided.
        penalty: penalty of the squared weights.
        start: weights and biases to start from.

    Shapes:
        start and output ``[columns + 1, num_classes]``.
    """
    assert rows.weights is not None
    there, labels = np.unique(rows.y, return_inverse=True)
    coefficients = np.zeros((rows.x.shape[1] + 1, num_classes))
    coefficients[-1] = np.log(UNSEEN / rows.weights.sum())
    if len(there) == 1:  # whatever the row
        coefficients[-1, there] = 0.0
        return coefficients
    begin = None if start is None else start[:, there]
    coefficients[:, there] = logistic_regression(
        rows.x / unit, labels, penalty, rows.weights, begin
    )
    return coefficients
