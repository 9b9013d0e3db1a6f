"""What the low-rank forms share in a compiled sweep: from r numbers a gate to c."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels.gates import by_gate, internal
from structnet.tensor_tree.compiled.kernels.steps import rows_of, share_of


@internal
def map_out(plan, s, weights, level):
    """``y = x Q + b`` for a level's nodes, the gates side by side in x and y."""
    _, gates, r, c = weights.output.shape
    lo, hi = rows_of(plan.nodes, plan.node_levels, level)
    y, Q, b = by_gate(s.gates, c), weights.output, weights.bias
    for v in range(lo, hi):
        key = plan.types[v]
        for g in range(gates):
            for j in range(c):
                y[v, g, j] = b[key, g, j]
            for i in range(r):
                x = s.reduced[v, g * r + i]
                for j in range(c):
                    y[v, g, j] += x * Q[key, g, i, j]


@internal
def map_out_backward(plan, s, weights, d, level):
    """Its gradient, but for that of the weights."""
    _, gates, r, c = weights.output.shape
    lo, hi = rows_of(plan.nodes, plan.node_levels, level)
    dy, Q = by_gate(d.gates, c), weights.output
    for v in range(lo, hi):
        key = plan.types[v]
        for g in range(gates):
            for i in range(r):
                total = Q[key, g, i, 0] * dy[v, g, 0]
                for j in range(1, c):
                    total += Q[key, g, i, j] * dy[v, g, j]
                d.reduced[v, g * r + i] = total


@internal
def output_backward(plan, s, d, nodes, share, d_weights):
    """A share of that of the weights."""
    _, gates, r, c = d_weights.output.shape
    dy, dQ, db = by_gate(d.gates, c), d_weights.output, d_weights.bias
    for key in range(len(nodes.starts) - 1):
        lo, hi, place = share_of(nodes, key, share, len(plan.parts) - 1)
        for row in range(lo, hi):
            v = nodes.rows[row]
            for g in range(gates):
                for j in range(c):
                    db[place, g, j] += dy[v, g, j]
                for i in range(r):
                    x = s.reduced[v, g * r + i]
                    for j in range(c):
                        dQ[place, g, i, j] += x * dy[v, g, j]
