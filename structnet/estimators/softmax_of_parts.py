"""A softmax over parts of classes, whose weights are found by how well it tells classes.

K-means finds parts without regard to other classes, and the covariance of an analysis is that of
all parts together. So parts may lie across a border between classes, or have borders where none is
needed. Here, from the analysis on, weights follow the loss of classes,

    sum_i count_i * -log sum_{r in y_i} softmax(W x_i + b)_r + penalty / 2 * |W|^2

so that parts move to where borders are. Under the penalty, parts that are not needed lose their
weights: it matters little how many there are, if they are enough. As k-means may begin badly, other
parts are drawn too, and those of the least loss are kept.

Reference:
    Quattoni, Wang, Morency, Collins, Darrell, Hidden conditional random fields, PAMI 2007, of which
    this is the case of one hidden variable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import (
    Shrinkage,
    discriminant,
    unit_of,
    with_weights,
)
from structnet.estimators.parts import parts_within

# Longer, a loss of unseen rows falls no further: the penalties were compared with as many steps.
SOLVER = {"maxiter": 50, "ftol": 1e-6, "gtol": 1e-6, "maxcor": 5}
# Further draws of parts to start from, and the relative difference of two losses up to which both
# are taken as the least that there is.
DRAWS, ALIKE = 3, 0.01


class Division(NamedTuple):
    """How classes are divided, and what keeps the weights of a model of the parts small.

    Attributes:
        number: largest number of parts of a class.
        shrinkage: shrinkage of a discriminant analysis of the parts.
        penalty: penalty of the squared weights, for rows of mean square 1; 0 for the analysis
            alone.
        columns: columns in which parts are found and told, ascending; none for all.
    """

    number: int
    shrinkage: Shrinkage
    penalty: float = 0.0
    columns: tuple[int, ...] = ()


class Told(NamedTuple):
    """Parts of classes, and a softmax over them.

    Attributes:
        place: part of each row.
        part_classes: class of each part, ascending.
        weight, bias: weights and biases of the softmax, float32.

    Shapes:
        place ``[n]``; part_classes ``[parts]``; weight ``[parts, columns]``; bias ``[parts]``.
    """

    place: np.ndarray
    part_classes: np.ndarray
    weight: np.ndarray
    bias: np.ndarray


def parts_told(rows: Checked, num_classes: int, division: Division, seed: int = 0) -> Told:
    """Parts of classes, those of the least loss of some draws, and a softmax over them.

    Args:
        rows: dense rows, labelled with classes.
        num_classes: number of classes.
        division: division of the classes.
        seed: seed of the draws.

    Example:
        >>> x, y = np.linspace(-1.2, 1.2, 25)[:, None], np.repeat([1, 0, 1], [10, 5, 10])
        >>> division = Division(2, Shrinkage(0, 0.1, 1.0), penalty=0.1)
        >>> told = parts_told(Checked(x, y, None), 2, division)
        >>> told.part_classes.tolist()  # of which the second lies on both sides of the first
        [0, 1, 1]
        >>> likeliest = (x @ told.weight.T + told.bias).argmax(1)
        >>> np.abs(x[told.part_classes[likeliest] == 0]).max().round(2)
        np.float64(0.2)
    """
    if division.columns:
        columns = np.array(division.columns)
        told = parts_told(rows.of(columns), num_classes, division._replace(columns=()), seed)
        weight = np.zeros((len(told.weight), rows.x.shape[1]), np.float32)
        weight[:, columns] = told.weight
        return told._replace(weight=weight)

    def drawn(seed: int) -> tuple[Told, float]:
        place, part_classes = parts_within(rows, num_classes, division.number, seed)
        of_parts = rows._replace(y=place)
        start = discriminant(of_parts, len(part_classes), seed, division.shrinkage)
        found, loss = _Objective.of(rows, part_classes, division.penalty).best_near(start)
        return Told(place, part_classes, *found), loss

    best, least = drawn(seed)
    for other in np.random.SeedSequence(seed).generate_state(DRAWS).tolist():
        (new, loss), before = drawn(other), least
        if loss < least:
            best, least = new, loss
        if abs(loss - before) <= ALIKE * before:
            break
    return best


def fitted(
    rows: Checked, part_classes: np.ndarray, start: tuple[np.ndarray, np.ndarray], penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases that minimise the loss of classes, downhill from some.

    Args:
        rows: dense rows, labelled with classes.
        part_classes: class of each part, ascending.
        start: weights and biases to start from.
        penalty: penalty of the squared weights, for rows of mean square 1.

    Shapes:
        part_classes ``[parts]``; weights ``[parts, columns]``; biases ``[parts]``; float32.
    """
    return _Objective.of(rows, part_classes, penalty).best_near(start)[0]


class _Objective(NamedTuple):
    """The loss of classes and the penalty, of weights for rows around their mean, in their unit.

    There, weights and biases hardly depend on each other.

    Attributes:
        x: rows, with a last column of ones.
        own: True for the parts of a row's class.
        weights: weight of each row.
        penalties: penalty of the weights of each column.
        mean, unit: mean of the rows; root mean square of what is left.

    Shapes:
        x ``[n, columns + 1]``; own ``[n, parts]``; weights ``[n]``; penalties ``[columns + 1]``;
        mean ``[columns]``.
    """

    x: np.ndarray
    own: np.ndarray
    weights: np.ndarray
    penalties: np.ndarray
    mean: np.ndarray
    unit: float

    @classmethod
    def of(cls, rows: Checked, part_classes: np.ndarray, penalty: float) -> _Objective:
        """The objective of dense rows, labelled with classes."""
        rows = with_weights(rows)
        assert rows.weights is not None
        mean = np.average(rows.x, axis=0, weights=rows.weights).astype(np.float64)
        x = rows.x - mean
        unit = unit_of(x)
        x = np.column_stack([x / unit, np.ones(len(x))])
        penalties = np.append(np.full(x.shape[1] - 1, penalty), 0.0)
        own = part_classes == rows.y[:, None]
        return cls(x, own, rows.weights, penalties, mean, unit)

    def best_near(
        self, start: tuple[np.ndarray, np.ndarray]
    ) -> tuple[tuple[np.ndarray, np.ndarray], float]:
        """The best weights and biases, downhill from some, and their loss.

        Without a penalty, there are none better: they are returned as they are.
        """
        weight, bias = (part.astype(np.float64) for part in start)
        begin = np.column_stack([weight * self.unit, bias + weight @ self.mean])
        if not self.penalties.any():
            return start, self.loss(begin.ravel())[0]
        found = minimize(self.loss, begin.ravel(), method="L-BFGS-B", jac=True, options=SOLVER)
        w = found.x.reshape(begin.shape)
        weight = w[:, :-1] / self.unit
        bias = w[:, -1] - weight @ self.mean
        return (weight.astype(np.float32), bias.astype(np.float32)), float(found.fun)

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective, divided by the number of rows, and its gradient.

        Shapes:
            w, output[1] ``[parts * (columns + 1)]``.
        """
        w, size = w.reshape(self.own.shape[1], -1), self.weights.sum()
        scores = self.x @ w.T
        of_all, shares = _log_sum(scores)
        of_own, right = _log_sum(np.where(self.own, scores, -np.inf))
        loss = self.weights @ (of_all - of_own) + (self.penalties * w * w).sum() / 2
        shares -= right
        shares *= self.weights[:, None]
        return loss / size, (shares.T @ self.x + self.penalties * w).ravel() / size


def _log_sum(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of the sums of exponentials, and the shares in these.

    Shapes:
        ``[n, parts]`` -> ``[n]``, ``[n, parts]``.
    """
    most = scores.max(1)
    e = np.exp(scores - most[:, None])
    total = e.sum(1)
    e /= total[:, None]
    return np.log(total) + most, e
