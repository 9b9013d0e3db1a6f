"""What the low-rank forms share in a compiled sweep: from r numbers a gate to c."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels.gates import compiled


@compiled
def map_out(plan, s, weights, level):
    """``y = x Q + b`` for a level's nodes, the gates side by side in x and y."""
    _, gates, r, c = weights.output.shape
    first, last = plan.node_levels[level], plan.node_levels[level + 1]
    for v in range(plan.nodes[first], plan.nodes[last]):
        key = plan.types[v]
        for g in range(gates):
            y, x = s.gates[v, g * c : (g + 1) * c], s.reduced[v, g * r : (g + 1) * r]
            b = weights.bias[key, g]
            for j in range(c):
                y[j] = b[j]
            for i in range(r):
                row = weights.output[key, g, i]
                for j in range(c):
                    y[j] += x[i] * row[j]


@compiled
def map_out_backward(plan, s, weights, d, d_weights, level):
    """Its gradient."""
    _, gates, r, c = weights.output.shape
    first, last = plan.node_levels[level], plan.node_levels[level + 1]
    for v in range(plan.nodes[first], plan.nodes[last]):
        key = plan.types[v]
        for g in range(gates):
            dy, db = d.gates[v, g * c : (g + 1) * c], d_weights.bias[key, g]
            x, dx = s.reduced[v, g * r : (g + 1) * r], d.reduced[v, g * r : (g + 1) * r]
            for j in range(c):
                db[j] += dy[j]
            for i in range(r):
                row, d_row = weights.output[key, g, i], d_weights.output[key, g, i]
                total = row[0] * dy[0]
                for j in range(1, c):
                    total += row[j] * dy[j]
                dx[i] = total
                for j in range(c):
                    d_row[j] += x[i] * dy[j]
