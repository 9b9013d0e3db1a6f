"""The tensor train in a compiled sweep: a vector times one matrix per child."""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled, inlined
from structnet.tensor_tree.compiled.kernels.low_rank import (
    map_out,
    map_out_backward,
    output_backward,
)
from structnet.tensor_tree.compiled.kernels.pieces import rows_of
from structnet.tensor_tree.compiled.kernels.turns import take, take_down, take_up


@compiled
def sweep_up(plan, pieces, s, messages, weights, turns):
    """Computes all states, from the leaves up."""
    number = take_up(turns, pieces, -1)
    while number >= 0:
        p = pieces[number]
        for level in range(p.level, p.end):
            lo, hi = rows_of(plan.nodes, plan.node_levels, level, p.node, p.node_end)
            if level > 0:
                _multiply(plan, s, weights, lo, hi)
                map_out(lo, hi, plan.types, s.reduced, weights.output, weights.bias, s.gates)
            steps.close_nodes(plan, s, lo, hi)
            lo, hi = rows_of(plan.messages, plan.message_levels, level, p.message, p.message_end)
            steps.send(plan, s, messages, level, lo, hi)
        number = take_up(turns, pieces, number)


@inlined
def _multiply(plan, s, weights, lo, hi):
    _, gates, r = weights.start.shape
    for v in range(lo, hi):
        key = plan.types[v]
        for g in range(gates):
            y, z = g * r, g * r * r  # first columns of the gate
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
def sweep_down(plan, pieces, back, s, messages, weights, d, d_messages, d_weights, shares, turns):
    """Computes all gradients: of the states, from the roots down, then of the weights."""
    number = take_down(turns, pieces, -1)
    while number >= 0:
        p = pieces[number]
        for level in range(p.end - 1, p.level - 1, -1):
            lo, hi = rows_of(plan.messages, plan.message_levels, level, p.message, p.message_end)
            steps.send_backward(plan, back, s, d, messages, level, lo, hi)
            lo, hi = rows_of(plan.nodes, plan.node_levels, level, p.node, p.node_end)
            steps.close_nodes_backward(plan, back, s, d, lo, hi)
            if level > 0:
                map_out_backward(lo, hi, plan.types, d.gates, weights.output, d.reduced)
                _multiply_backward(plan, s, weights, d, lo, hi)
        number = take_down(turns, pieces, number)
    share = take(turns, 1, shares, -1)
    while share >= 0:
        steps.weights_backward(
            plan.sources, s.h, d.sent, d.forget, back.messages, share, shares, d_messages
        )
        output_backward(
            back.nodes, share, shares, s.reduced, d.gates, d_weights.output, d_weights.bias
        )
        _start_backward(back.nodes, share, shares, d.reduced, d_weights.start)
        share = take(turns, 1, shares, share)


@inlined
def _multiply_backward(plan, s, weights, d, lo, hi):
    """The gradient of :func:`_multiply`; that of the start is left in ``d.reduced``."""
    _, gates, r = weights.start.shape
    dx = np.empty(r, s.h.dtype)
    for v in range(lo, hi):
        for g in range(gates):
            y, z = g * r, g * r * r
            for e in range(plan.offsets[v + 1] - 1, plan.offsets[v] - 1, -1):
                m = plan.inbox[e]
                for a in range(r):
                    dx[a] = 0
                    for b in range(r):
                        dy = d.reduced[v, y + b]
                        d.slots[e, z + a * r + b] = s.partial[e, y + a] * dy
                        dx[a] += dy * s.sent[m, z + a * r + b]
                for a in range(r):
                    d.reduced[v, y + a] = dx[a]


@inlined
def _start_backward(nodes, share, shares, d_reduced, d_start):
    """Adds a share of the gradient of the start."""
    _, gates, r = d_start.shape
    for key in range(len(nodes.starts) - 1):
        lo, hi, place = steps.share_of(nodes, key, share, shares)
        for i in range(lo, hi):
            v = nodes.rows[i]
            for g in range(gates):
                for b in range(r):
                    d_start[place, g, b] += d_reduced[v, g * r + b]
