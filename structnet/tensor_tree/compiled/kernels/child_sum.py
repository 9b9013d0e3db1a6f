"""The whole sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM`, up and back down.

One call a direction: levels, products and gates are all in here. Children are in CSR form and have
smaller numbers than their parents; ``starts`` says where each height's nodes begin, and
``leaves = starts[1]`` are those without children. Arrays in capitals hold a row a node (``H``,
``C``), an inner node (``A``, ``P``) or an edge (``F``), those with a ``D`` before the name their
gradients:

- ``Y``: the gates i, o, u side by side, first of the node's own label, then complete;
- ``P``: what the node's own label adds to the forget gates of its children;
- ``A``: what it receives, ``sum_j g_j * h_j + s_j``; ``G``, ``S``: g and s, a row a place;
- ``Q``: ``h V``, what a child adds to its own forget gate; ``F``: that gate; ``T``: tanh(c).
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


@compiled
def sweep_up(offsets, children, places, starts, P, U, V, G, S, Y, A, Q, F, H, C, T):
    """Y comes in with what the labels give, and all else follows from it."""
    n, size = H.shape[1], len(H)
    leaves = starts[1]
    for level in range(len(starts) - 1):
        lo, hi = starts[level], starts[level + 1]
        if level > 0:
            first, last = lo - leaves, hi - leaves
            for v in range(lo, hi):
                a = A[v - leaves]
                for j in range(n):
                    a[j] = 0
                for e in range(offsets[v], offsets[v + 1]):
                    h, g, s = H[children[e]], G[places[e]], S[places[e]]
                    for j in range(n):
                        a[j] += g[j] * h[j] + s[j]
            product = np.dot(A[first:last], U)
            for v in range(lo, hi):
                y, z = Y[v], product[v - lo]
                for j in range(3 * n):
                    y[j] += z[j]
        for v in range(lo, hi):
            y, c, t, h = Y[v], C[v], T[v], H[v]
            open_gates(y, c)
            for e in range(offsets[v], offsets[v + 1]):
                f, p, q, below = F[e], P[v - leaves], Q[children[e]], C[children[e]]
                for j in range(n):
                    f[j] = _sigmoid(p[j] + q[j])
                for j in range(n):
                    c[j] += f[j] * below[j]
            close_cell(y, c, t, h)
        if hi < size:
            np.dot(H[lo:hi], V, Q[lo:hi])


@compiled
def sweep_down(
    offsets, children, places, starts, U, V, G, Y, F, H, C, T, DH, DC, DQ, DY, DP, DG, DS
):
    """The gradients; U and V come transposed. DC, DQ, DP, DG and DS come in as zeros."""
    n, size = H.shape[1], len(H)
    leaves = starts[1]
    for level in range(len(starts) - 2, -1, -1):
        lo, hi = starts[level], starts[level + 1]
        if hi < size:
            product = np.dot(DQ[lo:hi], V)
            for v in range(lo, hi):
                dh, z = DH[v], product[v - lo]
                for j in range(n):
                    dh[j] += z[j]
        for v in range(lo, hi):
            cell_backward(Y[v], T[v], DH[v], DC[v], DY[v])
        if level == 0:
            break
        product = np.dot(DY[lo:hi], U)
        for v in range(lo, hi):
            dc, dp, da = DC[v], DP[v - leaves], product[v - lo]
            for e in range(offsets[v], offsets[v + 1]):
                child, place = children[e], places[e]
                f, c, below, dq = F[e], C[child], DC[child], DQ[child]
                for j in range(n):
                    gate = dc[j] * c[j] * (f[j] - f[j] * f[j])
                    below[j] += dc[j] * f[j]
                    dp[j] += gate
                    dq[j] += gate
                h, dh, g, dg, ds = H[child], DH[child], G[place], DG[place], DS[place]
                for j in range(n):
                    dh[j] += g[j] * da[j]
                    dg[j] += h[j] * da[j]
                    ds[j] += da[j]
