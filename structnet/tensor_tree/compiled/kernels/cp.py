"""The CP form in a compiled sweep: products of entries."""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.kernels.low_rank import map_out, map_out_backward


@compiled
def sweep_up(plan, s, messages, width, weights):
    """All states, from the leaves up."""
    steps.begin(plan, s, messages, width)
    for level in range(1, len(plan.node_levels) - 1):
        lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
        for v in range(lo, hi):
            x = s.reduced[v]
            for j in range(width):
                x[j] = 1
            for e in range(plan.offsets[v], plan.offsets[v + 1]):
                z = s.sent[plan.inbox[e]]
                for j in range(width):
                    x[j] *= z[j]
        map_out(plan, s, weights, level)
        steps.close_level(plan, s, messages, width, level)


@compiled
def sweep_down(plan, s, messages, width, weights, d, d_messages, d_weights):
    """All gradients, from the roots down."""
    entry = np.empty(width, s.h.dtype)
    for level in range(len(plan.node_levels) - 2, 0, -1):
        steps.close_level_backward(plan, s, d, messages, width, level)
        map_out_backward(plan, s, weights, d, d_weights, level)
        lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
        for v in range(lo, hi):
            slots = plan.inbox[plan.offsets[v] : plan.offsets[v + 1]]
            for e in range(len(slots)):
                entry[:] = d.reduced[v]
                # Not divided out of the whole product: an entry may be zero.
                for other in range(len(slots)):
                    if other != e:
                        z = s.sent[slots[other]]
                        for j in range(width):
                            entry[j] *= z[j]
                dz = d.sent[slots[e]]
                for j in range(width):
                    dz[j] += entry[j]
    steps.end_backward(plan, s, d, messages, width, d_messages)
