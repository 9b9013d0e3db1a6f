"""The directions of classes' residuals in which columns tell most.

Classes may be steps of one number, such as low, middle and high. Then the residuals of all of them
vary about as much, but what columns can tell lies in one direction among them: that of the number.
In the others there is hardly more than noise, which hides steps and makes each cost more. So steps
and sums of them explain the q of k directions with the least

    n q log(1 - mean of r_1, ..., r_q) + q (p + k - q) log n

where r are the squared canonical correlations of the residuals with p steps, those at quantiles of
columns, in descending order, and k is one less than the classes; the last term prices the
parameters of a regression of rank q. The columns are the 1, 2, 4, ... that explain most by
themselves, as many as give the least value; the choice among m costs log m for each. With all of
many columns, p would be too large to pay.

Reference:
    Hastie, Tibshirani, Buja, "Flexible Discriminant Analysis by Optimal Scoring", Journal of the
    American Statistical Association, 1994.
"""

from __future__ import annotations

import math

import numpy as np

BINS = 8  # intervals of a column
ROOM = 8  # samples that there must be for each step; with fewer, it can hardly pay
NONE = 1e-6  # share of the largest variance up to which a direction has none
MANY = 1000  # largest number of columns that are looked at


def telling(x: np.ndarray, residuals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The directions in which columns tell most; those of all outputs if these are not fewer.

    Args:
        x: samples.
        residuals: residuals of classes.
        weights: weight of each sample.

    Shapes:
        x ``[n, columns]``, residuals ``[n, outputs]``, weights ``[n]`` -> ``[outputs, q]``.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(400, 2))
        >>> y = np.eye(5)[np.digitize(np.square(x).sum(1), [0.5, 1, 2, 4])]
        >>> telling(x, y, np.ones(400)).shape
        (5, 1)
    """
    total, every = float(weights.sum()), np.eye(residuals.shape[1])
    most = min(x.shape[1], int(total / ((BINS - 1) * ROOM)))
    if len(every) < 3 or not most or x.shape[1] > MANY:
        return every  # also of two classes, which have one direction
    roots = np.sqrt(weights / total)[:, None]
    y = roots * (residuals - weights @ residuals / total)
    variances, axes = np.linalg.eigh(y.T @ y)
    kept = variances > NONE * variances.max()
    if not kept.any():
        return every
    whitening = axes[:, kept] / np.sqrt(variances[kept])
    y = y @ whitening
    borders = np.quantile(x, np.arange(1, BINS) / BINS, axis=0)
    steps = x[:, :, None] > borders.T  # [n, columns, BINS - 1]
    explained = [np.square(_basis(each, weights).T @ y).sum() for each in steps.swapaxes(0, 1)]
    order = np.argsort(-np.array(explained), kind="stable")
    least, found = 0.0, every
    for size in sorted({*(2**i for i in range(most.bit_length())), most}):
        basis = _basis(steps[:, order[:size]].reshape(len(x), -1), weights)
        common = basis.T @ y
        r, axes = np.linalg.eigh(common.T @ common)  # ascending
        number = np.arange(1, len(r) + 1)
        left = np.maximum(1 - r[::-1].cumsum() / number, NONE)
        free = basis.shape[1] + len(r) - number  # of each direction
        values = number * (total * np.log(left) + free * math.log(total))
        values += size * math.log(x.shape[1])
        best = int(values.argmin())
        if values[best] < least:
            least, few = float(values[best]), best + 1 < len(r)
            found = whitening @ axes[:, -number[best] :] if few else every
    return found


def _basis(steps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span some steps about their means, by weights.

    Shapes:
        steps ``[n, m]``, bool, weights ``[n]`` -> ``[n, rank]``.
    """
    shares = weights / weights.sum()
    basis, sizes, _ = np.linalg.svd(
        np.sqrt(shares)[:, None] * (steps - shares @ steps), full_matrices=False
    )
    return basis[:, sizes > NONE * sizes.max(initial=0.0)]
