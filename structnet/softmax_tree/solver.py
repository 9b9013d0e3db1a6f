"""Logistic regression with L1 and quadratic penalties, for leaves and decisions.

    min over W, c of  sum_n a_n log_loss(y_n, softmax(W x_n + c)) + penalty ||W||_1
        + ridge / 2 ||W||^2

The solver is FISTA: accelerated proximal gradient steps, with a step size found by backtracking,
and a restart whenever the momentum points uphill. As scores are linear in the weights, those at an
extrapolated point cost no product. Features are scaled to mean 0 (not for sparse rows) and mean
square 1 over the given rows, which lie close together in one part of the space, and the penalties
with them: the problem is the same, but takes far fewer steps. Two classes with a single weight
vector are the binary form.

Reference:
    Beck and Teboulle, "A Fast Iterative Shrinkage-Thresholding Algorithm", SIAM J. Imaging Sciences
    2009; O'Donoghue and Candes, "Adaptive Restart for Accelerated Gradient Schemes", 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.scale import fractions
from structnet.softmax_tree import _scaling_kernels, _solver_kernels
from structnet.softmax_tree.points import parts

CURVATURE = {True: 0.25, False: 0.5}  # bound by the scores: True for a logistic loss, else softmax
HIGHEST = 1e30  # largest penalty, within single precision

Solution = tuple[np.ndarray, np.ndarray]  # weights [D, k] and biases [k], float32


def multinomial(
    x: Any,
    y: np.ndarray,
    counts: np.ndarray,
    start: Solution,
    penalty: float,
    steps: int,
    ridge: float = 0.0,
) -> Solution:
    """The weights of a softmax over k classes; a single column is the score of class 1.

    Args:
        x: rows, dense or CSR; they are overwritten.
        y: classes, numbers from 0 to k - 1; for a single column, True or 1 for class 1.
        counts: weight of each row.
        start: weights and biases to start from.
        penalty: weight of the L1 norm.
        steps: largest number of steps.
        ridge: weight of half the sum of squares.

    Shapes:
        x ``[n, D]``, float32; y, counts ``[n]``; weights ``[D, k]``, biases ``[k]``.

    Example:
        >>> x, y = np.float32([[-1], [1]]), np.array([0, 1])
        >>> begin = np.zeros((1, 2), np.float32), np.zeros(2, np.float32)
        >>> weights, biases = multinomial(x, y, np.ones(2), begin, 0.1, 100)  # log(19) / 2
        >>> weights.round(1).tolist(), biases.round(1).tolist()
        ([[-1.5, 1.5]], [0.0, 0.0])
    """
    rows, (weight, bias) = parts(x), start
    counts, penalty, ridge = in_range(counts, penalty, ridge)
    mean, sd = np.zeros((2, len(weight)), np.float32)
    direction, thresholds, ridges = np.zeros((3, len(weight) + 1), np.float32)
    begin = np.empty((len(weight) + 1, len(bias)), np.float32)
    _scaling_kernels.scale(*rows, counts, mean, sd, direction)
    scaled = begin, thresholds, ridges
    _scaling_kernels.scale_weights(weight, bias, mean, sd, penalty, ridge, *scaled)
    how = direction[:, None], CURVATURE[len(bias) == 1], steps
    features = parts(x.T.tocsr()) if issparse(x) else rows
    best = _solver_kernels.fista(*features, y.astype(np.int32), counts, *scaled, *how)
    found, biases = np.empty_like(begin[:-1]), np.empty_like(begin[-1])
    _scaling_kernels.scale_back(best, mean, sd, found, biases)
    return found, biases


def in_range(counts: np.ndarray, *penalties: float) -> tuple[Any, ...]:
    """Counts ``[n]``, scaled by a power of two so that the largest is 0.5 to 1, and the penalties.

    The problem stays the same, but the weights of samples may be of any size, while the solver's
    allowance for rounding is absolute.
    """
    shares, exponent = fractions(counts)
    with np.errstate(over="ignore"):
        found = (min(float(np.ldexp(penalty, -exponent)), HIGHEST) for penalty in penalties)
        return shares.astype(np.float32), *found
