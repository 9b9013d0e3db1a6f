"""Matrix products whose first factor may have few rows.

Most runs in the upper levels of a small forest have too few rows to be worth the preparations of
the matrix library, which copies the second factor: loops by hand take a third of the time.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import internal

_FEW = 8  # number of rows from which on the library is as fast


@internal
def times(x, W, out):
    """``x W``, by two rows of x and four numbers of each at a time, which share reads of W."""
    if len(x) >= _FEW:
        np.dot(x, W, out)
        return
    n, columns = W.shape
    for row in range(len(x)):
        for j in range(columns):
            out[row, j] = 0
    for row in range(0, len(x) - 1, 2):
        for i in range(0, n - 3, 4):
            a, b, c, d = x[row, i], x[row, i + 1], x[row, i + 2], x[row, i + 3]
            e, f, g, h = x[row + 1, i], x[row + 1, i + 1], x[row + 1, i + 2], x[row + 1, i + 3]
            for j in range(columns):
                p, q, r, s = W[i, j], W[i + 1, j], W[i + 2, j], W[i + 3, j]
                out[row, j] += a * p + b * q + c * r + d * s
                out[row + 1, j] += e * p + f * q + g * r + h * s
        for i in range(n // 4 * 4, n):
            a, e = x[row, i], x[row + 1, i]
            for j in range(columns):
                out[row, j] += a * W[i, j]
                out[row + 1, j] += e * W[i, j]
    for row in range(len(x) // 2 * 2, len(x)):  # the last row of an odd number
        for i in range(n):
            a = x[row, i]
            for j in range(columns):
                out[row, j] += a * W[i, j]


@internal
def times_transposed(x, W, out):
    """``x W^T``, by two rows of each at a time; the last of an odd number is computed twice."""
    if len(x) >= _FEW:
        np.dot(x, W.T, out)
        return
    last, end = len(x) - 1, len(W) - 1
    for row in range(0, len(x), 2):
        below = min(row + 1, last)
        for j in range(0, len(W), 2):
            k = min(j + 1, end)
            p = q = r = s = x.dtype.type(0)
            for i in range(W.shape[1]):
                p += x[row, i] * W[j, i]
                q += x[row, i] * W[k, i]
                r += x[below, i] * W[j, i]
                s += x[below, i] * W[k, i]
            out[row, j], out[row, k], out[below, j], out[below, k] = p, q, r, s
