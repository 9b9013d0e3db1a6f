"""Sums and maxima over all nodes of trees, from the leaves up and back.

Children are in CSR form and have smaller numbers than their parents; a node that stands in a tree
several times counts as often in the sum, as it is added once an edge.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from structnet.trees import _kernels

# Sums may be reordered, so that they run in vector registers.
compiled = partial(_kernels.compiled, fastmath={"reassoc", "contract", "nsz"})


@compiled
def sum_up(offsets, children, roots, X, E, out):
    """Per root the sum of ``E X`` over all nodes at and below it, in ``out``; gives that of E.

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
    """Its gradient: DS, that of ``E X``, and DT, that of E itself, which come in as zeros."""
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
    """The gradient of X, which takes the place of DS, and that of w, where ``E = exp(X w)``."""
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
    """Per root the maxima over all nodes at and below it; gives the number of the node of each."""
    M, A = X.copy(), np.empty(X.shape, np.int32)  # as wide as a float, so both fill one register
    for v in range(len(X)):
        for j in range(X.shape[1]):
            A[v, j] = v
        for e in range(offsets[v], offsets[v + 1]):
            child = children[e]
            for j in range(X.shape[1]):  # all are read, whatever is chosen: else no registers
                most, below, own, other = M[v, j], M[child, j], A[v, j], A[child, j]
                A[v, j] = other if below > most else own
                M[v, j] = below if below > most else most
    for r in range(len(roots)):
        root = roots[r]
        for j in range(X.shape[1]):
            out[r, j] = M[root, j]
    return A[roots]


@compiled
def max_down(chosen, d_out, DX):
    """Its gradient: ``DX[chosen[r, j], j] += d_out[r, j]``."""
    for r in range(len(d_out)):
        for j in range(DX.shape[1]):
            DX[chosen[r, j], j] += d_out[r, j]
