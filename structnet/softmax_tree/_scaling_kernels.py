"""Scales a node's problem to features of mean 0 and mean square 1, and its solution back.

Compiled by numba; ``solver.py`` defines the problem. Rows are as in ``_kernels.py``, and are
overwritten. The features of sparse rows are scaled but not shifted, so that their zeros stay.
"""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree._kernels import free

CONSTANT = 1e-6  # deviation, as a share of the mean, up to which a feature is constant but rounded
STIFF = np.float32(1e36)  # largest ridge, which leaves a feature no weight, within float32


@free
def scale(X, columns, indptr, counts, mean, sd, direction):
    """Scales rows in place; ``mean`` is subtracted from each feature, which is divided by ``sd``.

    ``direction``, zeros at first, becomes the start of the power method: the sum of the absolute
    values of each feature and, last, the sum of the counts.

    Shapes: mean, sd ``[D]``; direction ``[D + 1]``.
    """
    features = len(mean)
    exact, square = np.zeros(features), np.zeros(features)
    flat, total = X.ravel(), 0.0  # the same numbers
    for i in range(len(counts)):
        total += counts[i]
        direction[features] += counts[i]
    if indptr is None:
        for i in range(len(counts)):
            share = counts[i] / total
            for d in range(features):
                exact[d] += share * flat[i * features + d]
    for d in range(features):
        mean[d] = exact[d]
    for i in range(len(counts)):
        share = counts[i] / total
        if indptr is None:
            row = flat[i * features : (i + 1) * features]
            for d in range(features):
                row[d] -= mean[d]
                square[d] += share * (np.float64(row[d]) * row[d])
        else:
            for e in range(indptr[i], indptr[i + 1]):
                square[columns[e]] += share * (np.float64(flat[e]) * flat[e])
    for d in range(features):
        sd[d] = np.sqrt(square[d])
        if sd[d] <= CONSTANT * abs(mean[d]) or sd[d] == 0:
            sd[d] = 1
    for i in range(len(counts)):
        if indptr is None:
            row = flat[i * features : (i + 1) * features]
            for d in range(features):
                row[d] /= sd[d]
                direction[d] += abs(row[d])
        else:
            for e in range(indptr[i], indptr[i + 1]):
                flat[e] /= sd[columns[e]]
                direction[columns[e]] += abs(flat[e])


@free
def scale_weights(weight, bias, mean, sd, penalty, ridge, begin, thresholds, ridges):
    """The weights for scaled rows, with the biases last, and the penalties of each feature.

    They are written to ``begin``, ``thresholds`` and ``ridges``; the last numbers of the latter
    two, those of the biases, are left unchanged.

    Shapes: weight ``[D, k]``; bias ``[k]``; mean, sd ``[D]`` -> begin ``[D + 1, k]``; thresholds,
    ridges ``[D + 1]``.
    """
    features, k = weight.shape
    for c in range(k):
        begin[features, c] = bias[c]
    for d in range(features):
        thresholds[d] = np.float32(penalty) / sd[d]
        ridges[d] = min(np.float32(ridge) / sd[d] / sd[d], STIFF)
        for c in range(k):
            begin[d, c] = weight[d, c] * sd[d]
            begin[features, c] += mean[d] * weight[d, c]


@free
def scale_back(best, mean, sd, found, biases):
    """The weights and biases for unscaled rows. ``[D + 1, k], [D], [D] -> [D, k], [k]``."""
    features, k = found.shape
    for c in range(k):
        biases[c] = best[features, c]
    for d in range(features):
        for c in range(k):
            found[d, c] = best[d, c] / sd[d]
            biases[c] -= mean[d] * found[d, c]
