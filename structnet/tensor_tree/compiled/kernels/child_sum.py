"""The sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM`, up and back down.

One call per direction has all levels, products and gates. The arguments are arrays of the ``Plan``,
the ``Weights`` and the ``States`` of :mod:`..child_sum_sweep`, where they are described; names that
begin with ``d`` are gradients. They are passed one by one, as tuples of arrays take longer to
unpack and to compile; all floats are in C-contiguous matrices, so that products are compiled once.
Backward, a node collects from its parents, so that no two rows write to the same place, and threads
can share the rows.

Rows are indexed by their numbers, not sliced: a slice is reference-counted by a locked instruction,
and the loop over a row takes hardly longer than that.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import (
    _sigmoid,
    cell_backward,
    close_cell,
    compiled,
    open_gates,
)
from structnet.tensor_tree.compiled.kernels.products import times, times_transposed
from structnet.tensor_tree.compiled.kernels.turns import take_down, take_up


@compiled
def sweep_up(
    pieces, offsets, children, places, starts, label, inner, U, V, g, s,
    P, Y, A, Q, F, H, C, T, turns,
):  # fmt: skip
    """Computes all states, from the leaves up; Y initially has the labels' parts of the gates."""
    n, leaves, last = H.shape[1], starts[1], len(g) - 1
    number = take_up(turns, pieces, -1)
    while number >= 0:
        p = pieces[number]
        for level in range(p.level, p.end):
            lo, hi = max(starts[level], p.node), min(starts[level + 1], p.node_end)
            if level > 0:
                for v in range(lo, hi):
                    a = v - leaves
                    for j in range(n):
                        A[a, j] = 0
                    for e in range(offsets[v], offsets[v + 1]):
                        child, place = children[e], min(places[e], last)
                        for j in range(n):
                            A[a, j] += g[place, j] * H[child, j] + s[place, j]
                R = np.empty((hi - lo, 3 * n), H.dtype)
                times(A[lo - leaves : hi - leaves], U, R)
                for v in range(lo, hi):
                    for j in range(3 * n):
                        Y[v, j] += R[v - lo, j]
            for v in range(lo, hi):
                open_gates(Y, C, v)
                row = label[v] - inner
                for e in range(offsets[v], offsets[v + 1]):
                    child = children[e]
                    for j in range(n):
                        F[e, j] = _sigmoid(P[row, j] + Q[child, j])
                    for j in range(n):
                        C[v, j] += F[e, j] * C[child, j]
                close_cell(Y, C, T, H, v)
            if starts[level + 1] < len(H):
                times(H[lo:hi], V, Q[lo:hi])
        number = take_up(turns, pieces, number)


@compiled
def sweep_down(
    pieces, offsets, children, places, starts, edges, parents, of_parents, U, V, g,
    Y, F, H, C, T, dg, ds, dP, dA, dY, dQ, dH, dC, turns,
):  # fmt: skip
    """Computes all gradients except those of the weights in products.

    dH initially has the gradients to which the others are added; dg and ds are zeros, with rows of
    their own for each piece of a stage. The edges from the parents of v are ``edges[i]``, and the
    parents ``parents[i]``, for i from ``of_parents[v]`` to ``of_parents[v + 1]``.
    """
    n, leaves, last = H.shape[1], starts[1], len(g) - 1
    number = take_down(turns, pieces, -1)
    while number >= 0:
        p = pieces[number]
        first = (number - p.first) * len(g)  # no other piece has these rows now
        for level in range(p.end - 1, p.level - 1, -1):
            lo, hi = max(starts[level], p.node), min(starts[level + 1], p.node_end)
            for v in range(lo, hi):
                for j in range(n):
                    dC[v, j] = 0
                    dQ[v, j] = 0
                for i in range(of_parents[v], of_parents[v + 1]):
                    e, parent = edges[i], parents[i]
                    place, a = min(places[e], last), parent - leaves
                    for j in range(n):
                        f, dc = F[e, j], dC[parent, j]
                        dQ[v, j] += dc * C[v, j] * (f - f * f)
                        dC[v, j] += dc * f
                    for j in range(n):
                        dH[v, j] += g[place, j] * dA[a, j]
                    place += first
                    for j in range(n):
                        dg[place, j] += H[v, j] * dA[a, j]
                    for j in range(n):
                        ds[place, j] += dA[a, j]
            if starts[level + 1] < len(H):
                R = np.empty((hi - lo, n), H.dtype)
                times_transposed(dQ[lo:hi], V, R)
                for v in range(lo, hi):
                    for j in range(n):
                        dH[v, j] += R[v - lo, j]
            for v in range(lo, hi):
                cell_backward(Y, T, dH, dC, dY, v)
            if level > 0:
                times_transposed(dY[lo:hi], U, dA[lo - leaves : hi - leaves])
                for v in range(lo, hi):
                    a = v - leaves
                    for j in range(n):
                        dP[a, j] = 0
                    for e in range(offsets[v], offsets[v + 1]):
                        child = children[e]
                        for j in range(n):
                            dP[a, j] += dC[v, j] * C[child, j] * (F[e, j] - F[e, j] * F[e, j])
        number = take_down(turns, pieces, number)
