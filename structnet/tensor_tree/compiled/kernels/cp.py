"""The CP form in a compiled sweep: products of entries."""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.kernels.low_rank import (
    map_out,
    map_out_backward,
    output_backward,
)


@compiled
def sweep_up(plan, s, messages, weights, part):
    """All states of a part, from the leaves up."""
    for level in range(plan.parts[part], plan.parts[part + 1]):
        if level > plan.parts[part]:
            lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
            for v in range(lo, hi):
                for j in range(s.sent.shape[1]):
                    s.reduced[v, j] = 1
                for e in range(plan.offsets[v], plan.offsets[v + 1]):
                    m = plan.inbox[e]
                    for j in range(s.sent.shape[1]):
                        s.reduced[v, j] *= s.sent[m, j]
            rows = steps.rows_of(plan.nodes, plan.node_levels, level)
            map_out(rows, plan.types, s.reduced, weights.output, weights.bias, s.gates)
        steps.close_nodes(plan, s, level)
        steps.send(plan, s, messages, level)


@compiled
def sweep_down(plan, s, messages, weights, d, part):
    """All gradients of a part's states, from the roots down."""
    entry = np.empty(s.sent.shape[1], s.h.dtype)
    for level in range(plan.parts[part + 1] - 1, plan.parts[part] - 1, -1):
        steps.send_backward(plan, s, d, messages, level)
        steps.close_nodes_backward(plan, s, d, level)
        if level == plan.parts[part]:
            break
        rows = steps.rows_of(plan.nodes, plan.node_levels, level)
        map_out_backward(rows, plan.types, d.gates, weights.output, d.reduced)
        for v in range(rows[0], rows[1]):
            first, end = plan.offsets[v], plan.offsets[v + 1]
            for e in range(first, end):
                for j in range(s.sent.shape[1]):
                    entry[j] = d.reduced[v, j]
                # Not divided out of the whole product: an entry may be zero.
                for other in range(first, end):
                    if other != e:
                        m = plan.inbox[other]
                        for j in range(s.sent.shape[1]):
                            entry[j] *= s.sent[m, j]
                m = plan.inbox[e]
                for j in range(s.sent.shape[1]):
                    d.sent[m, j] += entry[j]


@compiled
def weights_down(plan, s, weights, d, nodes, messages, d_messages, d_weights, share):
    """A share of the gradients of the weights."""
    shares = len(plan.parts) - 1
    steps.weights_backward(plan.sources, s.h, d.sent, d.forget, messages, share, shares, d_messages)
    output_backward(nodes, share, shares, s.reduced, d.gates, d_weights.output, d_weights.bias)
