"""The step that low-rank forms share in a compiled sweep: from r numbers per gate to c.

Functions get the arrays that they use, not the tuples that these are in: so they are compiled once
for all forms, whose tuples differ, and in half the time.
"""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels.gates import by_gate, inlined
from structnet.tensor_tree.compiled.kernels.steps import share_of


@inlined
def map_out(lo, hi, types, X, Q, b, Y):
    """``y = x Q + b`` for nodes ``lo`` to ``hi``, the gates side by side in x and y."""
    _, gates, r, c = Q.shape
    y = by_gate(Y, c)
    for v in range(lo, hi):
        key = types[v]
        for g in range(gates):
            for j in range(c):
                y[v, g, j] = b[key, g, j]
            for i in range(r):
                x = X[v, g * r + i]
                for j in range(c):
                    y[v, g, j] += x * Q[key, g, i, j]


@inlined
def map_out_backward(lo, hi, types, DY, Q, DX):
    """The gradient of :func:`map_out`, except that of the weights."""
    _, gates, r, c = Q.shape
    dy = by_gate(DY, c)
    for v in range(lo, hi):
        key = types[v]
        for g in range(gates):
            for i in range(r):
                total = Q[key, g, i, 0] * dy[v, g, 0]
                for j in range(1, c):
                    total += Q[key, g, i, j] * dy[v, g, j]
                DX[v, g * r + i] = total


@inlined
def output_backward(nodes, share, shares, X, DY, dQ, db):
    """Adds a share of the gradient of the weights of :func:`map_out`."""
    _, gates, r, c = dQ.shape
    dy = by_gate(DY, c)
    for key in range(len(nodes.starts) - 1):
        lo, hi, place = share_of(nodes, key, share, shares)
        for row in range(lo, hi):
            v = nodes.rows[row]
            for g in range(gates):
                for j in range(c):
                    db[place, g, j] += dy[v, g, j]
                for i in range(r):
                    x = X[v, g * r + i]
                    for j in range(c):
                        dQ[place, g, i, j] += x * dy[v, g, j]
