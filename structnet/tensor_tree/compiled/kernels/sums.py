"""A weighted sum in a compiled sweep, whether or not it tells places apart."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled


@compiled
def sweep_up(plan, s, messages, width, weights):
    """All states, from the leaves up."""
    steps.begin(plan, s, messages, width)
    for level in range(1, len(plan.node_levels) - 1):
        lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
        for v in range(lo, hi):
            y, b = s.gates[v], weights.bias[plan.types[v]]
            for j in range(width):
                y[j] = b[j]
            for e in range(plan.offsets[v], plan.offsets[v + 1]):
                z = s.sent[plan.inbox[e]]
                for j in range(width):
                    y[j] += z[j]
        steps.close_level(plan, s, messages, width, level)


@compiled
def sweep_down(plan, s, messages, width, weights, d, d_messages, d_weights):
    """All gradients, from the roots down."""
    for level in range(len(plan.node_levels) - 2, 0, -1):
        steps.close_level_backward(plan, s, d, messages, width, level)
        lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
        for v in range(lo, hi):
            dy, db = d.gates[v], d_weights.bias[plan.types[v]]
            for j in range(width):
                db[j] += dy[j]
            for e in range(plan.offsets[v], plan.offsets[v + 1]):
                dz = d.sent[plan.inbox[e]]
                for j in range(width):
                    dz[j] += dy[j]
    steps.end_backward(plan, s, d, messages, width, d_messages)
