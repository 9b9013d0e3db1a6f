"""The tensor train in a compiled sweep: a vector times one matrix a child."""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.kernels.low_rank import map_out, map_out_backward


@compiled
def sweep_up(plan, s, messages, width, weights):
    """All states, from the leaves up."""
    _, gates, r = weights.start.shape
    steps.begin(plan, s, messages, width)
    for level in range(1, len(plan.node_levels) - 1):
        lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
        for v in range(lo, hi):
            for g in range(gates):
                first, y = weights.start[plan.types[v], g], s.reduced[v, g * r : (g + 1) * r]
                for b in range(r):
                    y[b] = first[b]
                for e in range(plan.offsets[v], plan.offsets[v + 1]):
                    x = s.partial[e, g * r : (g + 1) * r]
                    z = s.sent[plan.inbox[e], g * r * r : (g + 1) * r * r]
                    for b in range(r):
                        x[b] = y[b]
                        y[b] = 0
                    for a in range(r):
                        for b in range(r):
                            y[b] += x[a] * z[a * r + b]
        map_out(plan, s, weights, level)
        steps.close_level(plan, s, messages, width, level)


@compiled
def sweep_down(plan, s, messages, width, weights, d, d_messages, d_weights):
    """All gradients, from the roots down."""
    _, gates, r = weights.start.shape
    dx = np.empty(r, s.h.dtype)
    for level in range(len(plan.node_levels) - 2, 0, -1):
        steps.close_level_backward(plan, s, d, messages, width, level)
        map_out_backward(plan, s, weights, d, d_weights, level)
        lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
        for v in range(lo, hi):
            for g in range(gates):
                dy, first = d.reduced[v, g * r : (g + 1) * r], d_weights.start[plan.types[v], g]
                for e in range(plan.offsets[v + 1] - 1, plan.offsets[v] - 1, -1):
                    x, m = s.partial[e, g * r : (g + 1) * r], plan.inbox[e]
                    z = s.sent[m, g * r * r : (g + 1) * r * r]
                    dz = d.sent[m, g * r * r : (g + 1) * r * r]
                    for a in range(r):
                        dx[a] = 0
                        for b in range(r):
                            dz[a * r + b] += x[a] * dy[b]
                            dx[a] += dy[b] * z[a * r + b]
                    for a in range(r):
                        dy[a] = dx[a]
                for b in range(r):
                    first[b] += dy[b]
    steps.end_backward(plan, s, d, messages, width, d_messages)
