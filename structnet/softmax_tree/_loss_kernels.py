"""The losses of rows at a packed tree's leaves, compiled by numba; rows as in ``_kernels.py``."""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree._kernels import (
    CLASSES,
    FIELDS,
    SIZE,
    WEIGHTS,
    free,
    leaf_scores,
    row_of,
    searched,
    within,
)
from structnet.softmax_tree._solver_kernels import BLOCK, own_losses


@within
def scores_at(X, columns, indptr, rows, node, table, weights, places, out):
    """The scores of a leaf's classes for some rows. ``[n, k]``."""
    k, start = out.shape[1], table[FIELDS * node + WEIGHTS]
    if places is None and indptr is None:
        features, flat = X.shape[-1], X.ravel()  # the same numbers
        x = np.empty((len(rows), features), X.dtype)
        for i in range(len(rows)):
            for d in range(features):  # assigning a row takes longer to compile than all this
                x[i, d] = flat[rows[i] * features + d]
        own = weights[start + k : start + k + features * k].reshape(features, k)
        np.dot(x, own, out)
        for i in range(len(rows)):
            for j in range(k):
                out[i, j] += weights[start + j]
        return
    for i in range(len(rows)):
        own_columns, values = row_of(X, columns, indptr, rows[i])
        leaf_scores(own_columns, values, node, table, weights, places, out[i])


@free
def losses_of_rows(
    X, columns, indptr, rows, order, starts, y, table, weights, places, missing, out
):
    """The loss of each of some rows, ``missing`` if its leaf lacks its class. ``[len(rows)]``.

    ``order`` are the places of the rows; those of a leaf start at ``starts[leaf]``.
    """
    of_leaf = np.empty(BLOCK, np.int64)
    here, place = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for leaf in range(len(starts) - 1):
        if starts[leaf] == starts[leaf + 1]:
            continue
        k, at = table[FIELDS * leaf + SIZE], table[FIELDS * leaf + CLASSES]
        classes, number = table[at : at + k], 0
        for j in range(starts[leaf], starts[leaf + 1]):
            i = order[j]
            found = searched(classes, 0, y[rows[i]])
            if found < k and classes[found] == y[rows[i]]:
                here[number], place[number] = i, found
                number += 1
            else:
                out[i] = missing
        scores, losses = np.empty((min(number, BLOCK), k), weights.dtype), np.empty(BLOCK)
        for low in range(0, number, BLOCK):
            some = here[low : min(low + BLOCK, number)]
            own = scores[: len(some)]
            for i in range(len(some)):
                of_leaf[i] = rows[some[i]]
            scores_at(X, columns, indptr, of_leaf[: len(some)], leaf, table, weights, places, own)
            own_losses(own, place[low : low + len(some)], losses)
            for i in range(len(some)):
                out[some[i]] = losses[i]
