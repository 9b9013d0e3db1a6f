"""The tensor train in a compiled sweep: a vector times one matrix a child."""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled, inlined
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
            _multiply(plan, s, weights, level)
            rows = steps.rows_of(plan.nodes, plan.node_levels, level)
            map_out(rows, plan.types, s.reduced, weights.output, weights.bias, s.gates)
        steps.close_nodes(plan, s, level)
        steps.send(plan, s, messages, level)


@inlined
def _multiply(plan, s, weights, level):
    _, gates, r = weights.start.shape
    lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
    for v in range(lo, hi):
        key = plan.types[v]
        for g in range(gates):
            y, z = g * r, g * r * r  # the first columns
            for b in range(r):
                s.reduced[v, y + b] = weights.start[key, g, b]
            for e in range(plan.offsets[v], plan.offsets[v + 1]):
                m = plan.inbox[e]
                for b in range(r):
                    s.partial[e, y + b] = s.reduced[v, y + b]
                    s.reduced[v, y + b] = 0
                for a in range(r):
                    for b in range(r):
                        s.reduced[v, y + b] += s.partial[e, y + a] * s.sent[m, z + a * r + b]


@compiled
def sweep_down(plan, s, messages, weights, d, part):
    """All gradients of a part's states, from the roots down."""
    for level in range(plan.parts[part + 1] - 1, plan.parts[part] - 1, -1):
        steps.send_backward(plan, s, d, messages, level)
        steps.close_nodes_backward(plan, s, d, level)
        if level > plan.parts[part]:
            rows = steps.rows_of(plan.nodes, plan.node_levels, level)
            map_out_backward(rows, plan.types, d.gates, weights.output, d.reduced)
            _multiply_backward(plan, s, weights, d, level)


@inlined
def _multiply_backward(plan, s, weights, d, level):
    """Its gradient; that of what the product begins with is left in ``d.reduced``."""
    _, gates, r = weights.start.shape
    dx = np.empty(r, s.h.dtype)
    lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
    for v in range(lo, hi):
        for g in range(gates):
            y, z = g * r, g * r * r
            for e in range(plan.offsets[v + 1] - 1, plan.offsets[v] - 1, -1):
                m = plan.inbox[e]
                for a in range(r):
                    dx[a] = 0
                    for b in range(r):
                        dy = d.reduced[v, y + b]
                        d.sent[m, z + a * r + b] += s.partial[e, y + a] * dy
                        dx[a] += dy * s.sent[m, z + a * r + b]
                for a in range(r):
                    d.reduced[v, y + a] = dx[a]


@compiled
def weights_down(plan, s, weights, d, nodes, messages, d_messages, d_weights, share):
    """A share of the gradients of the weights."""
    shares = len(plan.parts) - 1
    steps.weights_backward(plan.sources, s.h, d.sent, d.forget, messages, share, shares, d_messages)
    output_backward(nodes, share, shares, s.reduced, d.gates, d_weights.output, d_weights.bias)
    _, gates, r = weights.start.shape
    for key in range(len(nodes.starts) - 1):
        lo, hi, place = steps.share_of(nodes, key, share, shares)
        for i in range(lo, hi):
            v = nodes.rows[i]
            for g in range(gates):
                for b in range(r):
                    d_weights.start[place, g, b] += d.reduced[v, g * r + b]
