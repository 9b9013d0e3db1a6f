"""A softmax over all labels of dense rows, solved directly; of few rows, in two ways together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import (
    UNSEEN,
    Shrinkage,
    best_shrinkage,
    discriminant,
    losses_of,
    unit_of,
    with_weights,
)
from structnet.estimators.held_out import tenths
from structnet.estimators.logistic import logistic_regression
from structnet.estimators.row_space import RowSpace, space_of

FEW = 400  # rows up to which a tenth tells so little that what is trained gains nothing it can show
WORK = 1_000_000  # rows times columns times labels up to which both methods take about a second
PENALTIES = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)  # for rows of mean square 1
USUAL = 1.0  # penalty if no rows can be held out


class Regularisation(NamedTuple):
    """What keeps the weights of few rows small.

    Attributes:
        shrinkage: that of the discriminant analysis.
        penalty: penalty of the squared weights of the logistic regression, for rows of mean square
            1; 0 leaves it out.
        wide: True if both learn from coordinates in the space that the rows span.
    """

    shrinkage: Shrinkage
    penalty: float
    wide: bool


def solvable(x: np.ndarray, num_classes: int) -> bool:
    """True if dense rows, ``[n, columns]``, are so few that they are solved in two ways."""
    return len(x) * min(x.shape) * num_classes <= WORK


def regularisation(rows: Checked, num_classes: int, seed: int = 0) -> Regularisation:
    """The regularisation of :func:`solved` that has the least loss by cross-validation.

    Args:
        rows: dense rows with labels from 0.
        num_classes: number of labels.
        seed: seed of the choice of held-out rows.
    """
    rows = with_weights(rows)
    wide = len(rows.x) < rows.x.shape[1] and solvable(rows.x, num_classes)
    if space := _span(rows, wide):
        rows = rows._replace(x=space.coordinates)
    shrinkage = best_shrinkage(rows, num_classes, seed)
    several = (rows.y != rows.y[0]).any()
    if not (several and solvable(rows.x, num_classes) and shrinkage.certainty):
        return Regularisation(shrinkage, 0.0, wide)
    assert rows.weights is not None
    unit, parts = unit_of(rows.x), list(tenths(rows.y, seed, rows.groups))
    losses: dict[float, float] = {}
    ways: dict[int, np.ndarray] = {}
    for penalty in PENALTIES if parts else []:
        losses[penalty] = 0.0
        for place, (learn, held) in enumerate(parts):
            some = rows.take(learn)
            ways[place] = regression(some, num_classes, unit, penalty, ways.get(place))
            logits = rows.x[held] @ (ways[place][:-1] / unit) + ways[place][-1]
            held_losses = losses_of(logits, rows.y[held], len(learn))
            losses[penalty] += float(rows.weights[held] @ held_losses)
        if losses[penalty] > min(losses.values()):  # less of it is worse, and takes longer
            break
    best = min(losses, key=lambda penalty: losses[penalty], default=USUAL)
    return Regularisation(shrinkage, best, wide)


def solved(
    rows: Checked, num_classes: int, seed: int = 0, how: Regularisation | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of a softmax over all labels of dense rows, without training.

    They are those of a :func:`.discriminant` analysis. If rows are few, they are the means of these
    and of those of a logistic regression with a penalty of squared weights. The former is better
    where the rows of a label are distributed normally, the latter where they are not. Few rows do
    not show which it is; but as their errors differ, those of the mean are about as rare as those
    of the better one. Of few rows with more columns than there are rows, both learn from
    coordinates in the space that the rows span, along which all that is known of them varies, in
    place of columns that hardly do.

    Args:
        rows: dense rows with labels from 0.
        num_classes: number of labels.
        seed: seed of the choice of held-out rows.
        how: regularisation; by default that of :func:`regularisation`.

    Shapes:
        weights ``[num_classes, columns]``; biases ``[num_classes]``; float32.

    Example:
        >>> table, labels = np.array([[0.0], [2.0], [8.0], [10.0]] * 9), np.array([0, 0, 1, 1] * 9)
        >>> weight, bias = solved(Checked(table, labels, None), 2)
        >>> middle = (bias[0] - bias[1]) / (weight[1] - weight[0])
        >>> middle.round(1).tolist()  # where both are equally likely
        [5.0]
    """
    rows = with_weights(rows)
    how = how or regularisation(rows, num_classes, seed)
    if space := _span(rows, how.wide):
        rows = rows._replace(x=space.coordinates)
    weight, bias = discriminant(rows, num_classes, seed, how.shrinkage)
    if how.penalty and weight.any():
        unit = unit_of(rows.x)
        fitted = regression(rows, num_classes, unit, how.penalty).astype(np.float32)
        weight, bias = (weight + fitted[:-1].T / np.float32(unit)) / 2, (bias + fitted[-1]) / 2
    if space:
        weight, bias = space.model(weight.astype(np.float64), bias.astype(np.float64))
    return weight.astype(np.float32, copy=False), bias.astype(np.float32, copy=False)


def _span(rows: Checked, wide: bool) -> RowSpace | None:
    """The space of wide rows; None if they are not wide, or all the same."""
    return space_of(rows.x.astype(np.float64), outputs=np.inf) if wide else None


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
