"""Matrix products whose first factor may have few rows.

Most runs in the upper levels of a small forest have too few rows to be worth the preparations of
the matrix library, which copies the second factor.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import internal
from structnet.tensor_tree.compiled.kernels.lanes import add_rows_times, add_times_transposed

FEW = 8  # number of rows from which on the library is as fast


@internal
def times(x, W, out):
    """``x W``."""
    if len(x) >= FEW:
        np.dot(x, W, out)
        return
    out[:] = 0
    rows, weights = np.arange(len(x)), W.reshape(1, W.shape[0], W.shape[1])
    add_rows_times(x, rows, weights, 0, out, 0, len(x))


@internal
def times_transposed(x, W, out):
    """``x W^T``."""
    if len(x) >= FEW:
        np.dot(x, W.T, out)
        return
    out[:] = 0
    weights = W.reshape(1, W.shape[0], W.shape[1])
    add_times_transposed(x, weights, 0, out, 0, len(x))
