"""Logistic regression with an L1 penalty, for leaves and for decisions.

    min over W, c of  sum_n a_n log_loss(y_n, softmax(W x_n + c)) + penalty ||W||_1

by FISTA: accelerated proximal gradient steps that begin anew whenever the speed points uphill, of a
length found by backtracking. As scores are linear in the weights, those of a point between two
steps cost no product. The features are taken to mean 0 (those of sparse rows stay where they are)
and mean square 1 among the rows at hand, which lie close together in one part of the space, and the
penalty with them: it is the same problem, and takes far fewer steps. Two classes with one weight
vector are the binary form.

Reference:
    Beck and Teboulle, A Fast Iterative Shrinkage-Thresholding Algorithm, SIAM J. Imaging Sciences
    2009; O'Donoghue and Candes, Adaptive Restart for Accelerated Gradient Schemes, 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.scale import fractions
from structnet.softmax_tree import _solver_kernels
from structnet.softmax_tree.points import parts

# Of the largest counts with which what the solver takes for rounding is of their size.
LEAST, MOST = 2.0**-10, 2.0**10
HIGHEST = 1e30  # penalty, within single precision

Solution = tuple[np.ndarray, np.ndarray]  # weights [D, k] and biases [k], float32


def multinomial(
    x: Any, y: np.ndarray, counts: np.ndarray, start: Solution, penalty: float, steps: int
) -> Solution:
    """Weights of a softmax over k classes.

    Args:
        x: rows, in full or CSR.
        y: classes, numbers from 0 to k - 1.
        counts: count of each row.
        start: weights and biases to begin with.
        penalty: weight of the L1 norm.
        steps: most steps.

    Shapes:
        x ``[n, D]``, float32; y, counts ``[n]``; weights ``[D, k]``, biases ``[k]``.

    Example:
        >>> x, y = np.float32([[-1], [1]]), np.array([0, 1])
        >>> begin = np.zeros((1, 2), np.float32), np.zeros(2, np.float32)
        >>> weights, biases = multinomial(x, y, np.ones(2), begin, 0.1, 100)  # log(19) / 2
        >>> weights.round(1).tolist(), biases.round(1).tolist()
        ([[-1.5, 1.5]], [0.0, 0.0])
    """
    return _solved(x, y, counts, start, penalty, 0.5, steps)


def binary(
    x: Any, signs: np.ndarray, counts: np.ndarray, start: Solution, penalty: float, steps: int
) -> Solution:
    """Weights of a logistic regression on signs, -1 and 1.

    Args:
        x, counts, start, penalty, steps: the same as of :func:`multinomial`.
        signs: classes.

    Shapes:
        signs ``[n]``; weights ``[D, 1]``, biases ``[1]``.
    """
    return _solved(x, signs > 0, counts, start, penalty, 0.25, steps)


def _solved(
    x: Any,
    y: np.ndarray,
    counts: np.ndarray,
    start: Solution,
    penalty: float,
    factor: float,
    steps: int,
) -> Solution:
    """The weights where the curvature of the losses by the scores is at most a factor."""
    counts, penalty = _in_range(counts, penalty)
    z, mean, sd = _scaled(x, counts)
    begin = np.vstack([start[0] * sd[:, None], start[1] + mean @ start[0]], dtype=np.float32)
    thresholds = np.append(np.float32(penalty) / sd, np.float32(0))
    sizes = np.append(np.asarray(abs(z).sum(axis=0)), counts.sum())
    direction = sizes.astype(np.float32)[:, None]
    told = y.astype(np.int32), counts, begin, thresholds, direction, factor, steps
    found = _solver_kernels.fista(*parts(z), *told)
    weights = found[:-1] / sd[:, None]
    return weights, found[-1] - mean @ weights


def _in_range(counts: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Counts in single precision; very large or small ones are divided, and the penalty. ``[n]``.

    It is the same problem, and weights of samples may be of any size.
    """
    if LEAST <= counts.max() <= MOST:
        return counts.astype(np.float32), penalty
    parts, exponent = fractions(counts)
    with np.errstate(over="ignore"):
        return parts.astype(np.float32), min(float(np.ldexp(penalty, -exponent)), HIGHEST)


def _scaled(x: Any, counts: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows, the numbers subtracted from each feature, and divided by. ``[n, D], [D], [D]``."""
    share = counts / counts.sum()
    mean = np.zeros(x.shape[1], np.float32) if issparse(x) else share @ x
    z = x.copy() if issparse(x) else x - mean
    with np.errstate(over="ignore", invalid="ignore"):
        sd = _sizes(z, share)
    if not np.isfinite(sd).all():  # squares beyond single precision
        sd = _sizes(z.astype(np.float64), share).astype(np.float32)
    sd[sd <= 1e-6 * np.abs(mean)] = 1  # rounding alone makes a constant deviate
    sd[sd == 0] = 1
    if issparse(z):
        z.data /= sd[z.indices]
    else:
        z /= sd
    return z, mean, sd


def _sizes(z: Any, share: np.ndarray) -> np.ndarray:
    """The root of the mean square of each feature. ``[n, D], [n] -> [D]``."""
    return np.sqrt(np.asarray(share @ (z.power(2) if issparse(z) else z * z)).ravel())
