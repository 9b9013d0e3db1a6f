"""Sums and maxima over all nodes of trees, from the leaves up, and their gradients.

Children are in CSR form and have smaller numbers than their parents. A node that occurs several
times in a tree counts as often in the sum, since it is added once for each edge to it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from structnet.trees import _kernels

# Reordered sums can use vector registers.
compiled = partial(_kernels.compiled, fastmath={"reassoc", "contract", "nsz"})


@compiled
def sum_up(offsets, children, roots, X, E, out):
    """Writes the sum of ``E X`` over all nodes of each root's tree to ``out``; returns that of E.

    Shapes:
        X ``[nodes, c]``; E ``[nodes]``; out ``[roots, c]``; output ``[roots]``.
    """
    S, T = np.empty_like(X), E.copy()
    for v in range(len(X)):
        for j in range(X.shape[1]):
            S[v, j] = E[v] * X[v, j]
        for e in range(offsets[v], offsets[v + 1]):
            child = children[e]
            T[v] += T[child]
            for j in range(X.shape[1]):
                S[v, j] += S[child, j]
    for r in range(len(roots)):
        root = roots[r]
        for j in range(X.shape[1]):
            out[r, j] = S[root, j]
    return T[roots]


@compiled
def sum_down(offsets, children, roots, d_out, d_total, DS, DT):
    """The gradient of :func:`sum_up`: of ``E X`` in DS, of E in DT; both must be zeros before."""
    for r in range(len(roots)):
        root = roots[r]
        DT[root] += d_total[r]
        for j in range(DS.shape[1]):
            DS[root, j] += d_out[r, j]
    for v in range(len(DS) - 1, -1, -1):
        for e in range(offsets[v], offsets[v + 1]):
            child = children[e]
            DT[child] += DT[v]
            for j in range(DS.shape[1]):
                DS[child, j] += DS[v, j]


@compiled
def scores_backward(X, E, w, DS, DT, dw):
    """Where ``E = exp(X w)``, turns DS into the gradient of X, and adds that of w to dw."""
    for v in range(len(X)):
        d = DT[v]
        for j in range(len(w)):
            d += DS[v, j] * X[v, j]
        d *= E[v]
        for j in range(len(w)):
            DS[v, j] = E[v] * DS[v, j] + d * w[j]
        for j in range(len(w)):
            dw[j] += d * X[v, j]


@compiled
def max_up(offsets, children, roots, X, out):
    """Writes the maxima over all nodes of each root's tree to ``out``; returns their nodes."""
    M, A = X.copy(), np.empty(X.shape, np.int32)  # as wide as float32, for registers
    for v in range(len(X)):
        for j in range(X.shape[1]):
            A[v, j] = v
        for e in range(offsets[v], offsets[v + 1]):
            child = children[e]
            for j in range(X.shape[1]):  # no branch around the reads, for vector registers
                most, below, place, place_below = M[v, j], M[child, j], A[v, j], A[child, j]
                higher = (below > most) | (below != below)  # what is not a number is not lost
                A[v, j] = place_below if higher else place
                M[v, j] = below if higher else most
    for r in range(len(roots)):
        root = roots[r]
        for j in range(X.shape[1]):
            out[r, j] = M[root, j]
    return A[roots]


@compiled
def max_down(chosen, d_out, DX):
    """The gradient of :func:`max_up`: ``DX[chosen[r, j], j] += d_out[r, j]``."""
    for r in range(len(d_out)):
        for j in range(DX.shape[1]):
            DX[chosen[r, j], j] += d_out[r, j]
