"""The sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM`, up and back down.

One call a direction: levels, products and gates are all in here. The arguments are arrays of a
``Plan``, of the ``Weights`` and of the ``States`` of :mod:`..child_sum_sweep`, which says what they
hold; behind a ``d``, the gradient. They come one by one, as tuples of arrays take longer to unpack
and to compile; all floats are C-contiguous matrices, so that products are compiled once.

Rows are named by their numbers, not cut out: an array that is cut out is counted, by a locked
instruction, and the loops over a row take hardly longer than that.
"""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels.gates import (
    _sigmoid,
    cell_backward,
    close_cell,
    compiled,
    open_gates,
)
from structnet.tensor_tree.compiled.kernels.products import times, times_transposed


@compiled
def sweep_up(
    offsets, children, places, starts, label, inner, U, V, g, s,
    P, Y, A, Q, F, H, C, T, R,
):  # fmt: skip
    """All states, from the leaves up; Y comes in as what labels give to the gates."""
    n, leaves, last = H.shape[1], starts[1], len(g) - 1
    for level in range(len(starts) - 1):
        lo, hi = starts[level], starts[level + 1]
        if level > 0:
            for v in range(lo, hi):
                a = v - leaves
                for j in range(n):
                    A[a, j] = 0
                for e in range(offsets[v], offsets[v + 1]):
                    child, place = children[e], min(places[e], last)
                    for j in range(n):
                        A[a, j] += g[place, j] * H[child, j] + s[place, j]
            times(A[lo - leaves : hi - leaves], U, R[: hi - lo])
            for v in range(lo, hi):
                for j in range(3 * n):
                    Y[v, j] += R[v - lo, j]
        for v in range(lo, hi):
            open_gates(Y, C, v)
            p = label[v] - inner
            for e in range(offsets[v], offsets[v + 1]):
                child = children[e]
                for j in range(n):
                    F[e, j] = _sigmoid(P[p, j] + Q[child, j])
                for j in range(n):
                    C[v, j] += F[e, j] * C[child, j]
            close_cell(Y, C, T, H, v)
        if hi < len(H):
            times(H[lo:hi], V, Q[lo:hi])


@compiled
def sweep_down(
    offsets, children, places, starts, label, inner, U, V, g,
    Y, F, H, C, T, R, dg, ds, dP, dY, dQ, dH, dC,
):  # fmt: skip
    """All gradients but for those of products; sums come in as zeros."""
    n, last = H.shape[1], len(g) - 1
    for level in range(len(starts) - 2, -1, -1):
        lo, hi = starts[level], starts[level + 1]
        if hi < len(H):
            times_transposed(dQ[lo:hi], V, R[: hi - lo])
            for v in range(lo, hi):
                for j in range(n):
                    dH[v, j] += R[v - lo, j]
        for v in range(lo, hi):
            cell_backward(Y, T, dH, dC, dY, v)
        if level > 0:
            times_transposed(dY[lo:hi], U, R[: hi - lo])
        for v in range(lo, hi):
            a, p = v - lo, label[v] - inner
            for e in range(offsets[v], offsets[v + 1]):
                child, place = children[e], min(places[e], last)
                for j in range(n):
                    gate = dC[v, j] * C[child, j] * (F[e, j] - F[e, j] * F[e, j])
                    dP[p, j] += gate
                    dQ[child, j] += gate
                for j in range(n):
                    dC[child, j] += dC[v, j] * F[e, j]
                for j in range(n):
                    dH[child, j] += g[place, j] * R[a, j]
                for j in range(n):
                    dg[place, j] += H[child, j] * R[a, j]
                for j in range(n):
                    ds[place, j] += R[a, j]
