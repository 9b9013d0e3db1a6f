"""A softmax over parts of classes, whose weights are found by how well it tells classes.

K-means finds parts without regard to other classes, and the covariance of an analysis is that of
all parts together. So parts may lie across a border between classes, or have borders where none is
needed. Here, from the analysis on, weights follow the loss of classes,

    sum_i count_i * -log sum_{r in y_i} softmax(W x_i + b)_r + penalty / 2 * |W|^2

so that parts move to where borders are. Under the penalty, parts that are not needed lose their
weights: it matters little how many there are, if they are enough.

Reference:
    Quattoni, Wang, Morency, Collins, Darrell, Hidden conditional random fields, PAMI 2007, of which
    this is the case of one hidden variable.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import minimize

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import (
    Shrinkage,
    discriminant,
    unit_of,
    with_weights,
)

# Longer, a loss of unseen rows falls no further: the penalties were compared with as many steps.
SOLVER = {"maxiter": 50, "ftol": 1e-6, "gtol": 1e-6, "maxcor": 5}


def parts_told(
    rows: Checked,
    part_classes: np.ndarray,
    seed: int = 0,
    shrinkage: Shrinkage | None = None,
    penalty: float = 0.0,
    columns: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of a softmax over parts of classes.

    Args:
        rows: dense rows, labelled with parts.
        part_classes: class of each part, ascending.
        seed: seed of the analysis.
        shrinkage: shrinkage of the analysis; by default that of :func:`.best_shrinkage`.
        penalty: penalty of the squared weights, for rows of mean square 1; 0 for the analysis
            alone.
        columns: columns that have weights; None for all.

    Shapes:
        part_classes ``[parts]``; weights ``[parts, columns]``; biases ``[parts]``; float32.

    Example:
        >>> x, y = np.linspace(-1.5, 1.5, 30)[:, None], np.repeat([0, 1, 2], 10)
        >>> classes = np.array([0, 1, 1])  # of which the second lies on both sides of the first
        >>> y = np.array([1, 0, 2])[y]
        >>> weight, bias = parts_told(Checked(x, y, None), classes, penalty=0.1)
        >>> np.abs(x[(x @ weight.T + bias).argmax(1) == 0]).max().round(2)
        np.float64(0.47)
    """
    if columns is not None:
        weight = np.zeros((len(part_classes), rows.x.shape[1]), np.float32)
        weight[:, columns], bias = parts_told(
            rows.of(columns), part_classes, seed, shrinkage, penalty
        )
        return weight, bias
    found = discriminant(rows, len(part_classes), seed, shrinkage)
    if not penalty:
        return found
    return fitted(rows._replace(y=part_classes[rows.y]), part_classes, found, penalty)


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
    rows, (weight, bias) = with_weights(rows), (part.astype(np.float64) for part in start)
    assert rows.weights is not None
    # Around their mean, where weights and biases hardly depend on each other.
    mean = np.average(rows.x, axis=0, weights=rows.weights).astype(np.float64)
    x = rows.x - mean
    unit = unit_of(x)
    x = np.column_stack([x / unit, np.ones(len(x))])
    begin = np.column_stack([weight * unit, bias + weight @ mean])
    penalties = np.append(np.full(x.shape[1] - 1, penalty), 0.0)
    own = part_classes == rows.y[:, None]
    of = partial(_loss, x=x, own=own, count=rows.weights, penalties=penalties)
    w = minimize(of, begin.ravel(), method="L-BFGS-B", jac=True, options=SOLVER).x
    w = w.reshape(begin.shape)
    weight = w[:, :-1] / unit
    return weight.astype(np.float32), (w[:, -1] - weight @ mean).astype(np.float32)


def _loss(
    w: np.ndarray, x: np.ndarray, own: np.ndarray, count: np.ndarray, penalties: np.ndarray
) -> tuple[float, np.ndarray]:
    """The objective, divided by the number of rows, and its gradient, ``[parts * columns]``.

    Shapes:
        w ``[parts * columns]``; x ``[n, columns]``, the last of ones; own ``[n, parts]``, True for
        the parts of a row's class; count ``[n]``; penalties ``[columns]``.
    """
    w, size = w.reshape(own.shape[1], -1), count.sum()
    scores = x @ w.T
    of_all, shares = _log_sum(scores)
    of_own, right = _log_sum(np.where(own, scores, -np.inf))
    loss = count @ (of_all - of_own) + (penalties * w * w).sum() / 2
    shares -= right
    shares *= count[:, None]
    return loss / size, (shares.T @ x + penalties * w).ravel() / size


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
