"""The whole sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM`, up and back down.

One call a direction: labels, levels, products and gates are all in here. The arguments are a
``Plan``, the ``Weights`` and the ``States`` of :mod:`..child_sum_sweep`, which says what they hold;
``d`` and ``d_states`` are gradients, each in a tuple like that of what it belongs to.

Rows are named by their numbers, not cut out: an array that is cut out is counted, by a locked
instruction, and the loops over a row take hardly longer than that.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import (
    _sigmoid,
    by_gate,
    cell_backward,
    close_cell,
    compiled,
    internal,
    open_gates,
)
from structnet.tensor_tree.compiled.kernels.label_vectors import look_up


@internal
def _plus(X, bias):
    for i in range(len(X)):
        for j in range(len(bias)):
            X[i, j] += bias[j]


@internal
def _sums(X, sums):
    """Sums over rows."""
    for j in range(len(sums)):
        sums[j] = 0
    for i in range(len(X)):
        for j in range(len(sums)):
            sums[j] += X[i, j]


@internal
def _of_labels(plan, w, s):
    """What labels give to the gates of their nodes, and to the forget gates of their children."""
    look_up(plan.types, plan.tokens, w.types, w.tokens, s.x)
    for i in range(len(s.mask)):
        for j in range(s.x.shape[1]):
            s.x[i, j] *= s.mask[i, j]
    np.dot(s.x, w.W, s.X)
    _plus(s.X, w.b)
    np.dot(s.x[plan.inner :], w.Wf, s.P)
    _plus(s.P, w.bf)


@internal
def _receive(plan, w, s, lo, hi):
    """``A = sum_j g_j * h_j + s_j`` over children j."""
    n, last = s.A.shape[1], len(w.g) - 1
    leaves = plan.starts[1]
    for v in range(lo, hi):
        a = v - leaves
        for j in range(n):
            s.A[a, j] = 0
        for e in range(plan.offsets[v], plan.offsets[v + 1]):
            child, place = plan.children[e], min(plan.places[e], last)
            for j in range(n):
                s.A[a, j] += w.g[place, j] * s.H[child, j] + w.s[place, j]


@compiled
def sweep_up(plan, w, s):
    """All states, from the leaves up."""
    n, size, leaves = s.H.shape[1], len(s.H), plan.starts[1]
    gates = by_gate(s.Y, n)
    _of_labels(plan, w, s)
    for v in range(leaves):
        x = plan.label[v]
        for j in range(3 * n):
            s.Y[v, j] = s.X[x, j]
    for level in range(len(plan.starts) - 1):
        lo, hi = plan.starts[level], plan.starts[level + 1]
        if level > 0:
            _receive(plan, w, s, lo, hi)
            np.dot(s.A[lo - leaves : hi - leaves], w.U, s.Y[lo:hi])
            for v in range(lo, hi):
                x = plan.label[v]
                for j in range(3 * n):
                    s.Y[v, j] += s.X[x, j]
        for v in range(lo, hi):
            open_gates(gates, s.C, v)
            p = plan.label[v] - plan.inner
            for e in range(plan.offsets[v], plan.offsets[v + 1]):
                child = plan.children[e]
                for j in range(n):
                    s.F[e, j] = _sigmoid(s.P[p, j] + s.Q[child, j])
                for j in range(n):
                    s.C[v, j] += s.F[e, j] * s.C[child, j]
            close_cell(gates, s.C, s.T, s.H, v)
        if hi < size:
            np.dot(s.H[lo:hi], w.V, s.Q[lo:hi])


@compiled
def sweep_down(plan, w, s, d, d_states):
    """All gradients but for those of W, Wf, U, V and the tables; what is added to begins at 0."""
    ds, (n, size, leaves) = d_states, (s.H.shape[1], len(s.H), plan.starts[1])
    gates, d_gates = by_gate(s.Y, n), by_gate(ds.Y, n)
    U, V = w.U.T.copy(), w.V.T.copy()  # else transposed anew at each level
    for level in range(len(plan.starts) - 2, -1, -1):
        lo, hi = plan.starts[level], plan.starts[level + 1]
        if hi < size:
            np.dot(ds.Q[lo:hi], V, ds.T[: hi - lo])
            for v in range(lo, hi):
                for j in range(n):
                    ds.H[v, j] += ds.T[v - lo, j]
        for v in range(lo, hi):
            cell_backward(gates, s.T, ds.H, ds.C, d_gates, v)
            x = plan.label[v]
            for j in range(3 * n):
                ds.X[x, j] += ds.Y[v, j]
        if level > 0:
            np.dot(ds.Y[lo:hi], U, ds.A[lo - leaves : hi - leaves])
            _receive_backward(plan, w, s, d, ds, lo, hi)
    _of_labels_backward(plan, w, s, d, ds)


@internal
def _receive_backward(plan, w, s, d, ds, lo, hi):
    n, leaves, last = s.H.shape[1], plan.starts[1], len(w.g) - 1
    for v in range(lo, hi):
        a, p = v - leaves, plan.label[v] - plan.inner
        for e in range(plan.offsets[v], plan.offsets[v + 1]):
            child, place = plan.children[e], min(plan.places[e], last)
            for j in range(n):
                gate = ds.C[v, j] * s.C[child, j] * (s.F[e, j] - s.F[e, j] * s.F[e, j])
                ds.P[p, j] += gate
                ds.Q[child, j] += gate
            for j in range(n):
                ds.C[child, j] += ds.C[v, j] * s.F[e, j]
            for j in range(n):
                ds.H[child, j] += w.g[place, j] * ds.A[a, j]
            for j in range(n):
                d.g[place, j] += s.H[child, j] * ds.A[a, j]
            for j in range(n):
                d.s[place, j] += ds.A[a, j]


@internal
def _of_labels_backward(plan, w, s, d, ds):
    inner = plan.inner
    _sums(ds.X, d.b)
    _sums(ds.P, d.bf)
    if len(ds.x):
        np.dot(ds.X, w.W.T, ds.x)
        more = np.dot(ds.P, w.Wf.T)
        for i in range(len(more)):
            for j in range(s.x.shape[1]):
                ds.x[inner + i, j] += more[i, j]
        for i in range(len(s.mask)):
            for j in range(s.x.shape[1]):
                ds.x[i, j] *= s.mask[i, j]
