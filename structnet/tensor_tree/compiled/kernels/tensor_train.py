"""The tensor train in a compiled sweep: a vector times one matrix per child."""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import inlined
from structnet.tensor_tree.compiled.kernels.low_rank import (
    map_out,
    map_out_backward,
    output_backward,
)
from structnet.tensor_tree.compiled.kernels.steps import share_of
from structnet.tensor_tree.compiled.kernels.sweeps import sweeps_of


@inlined
def _multiply(plan, s, weights, level, lo, hi):
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
    map_out(lo, hi, plan.types, s.reduced, weights.output, weights.bias, s.gates)


@inlined
def _multiply_backward(plan, s, weights, d, level, lo, hi):
    """The gradient of :func:`_multiply`; that of the start is left in ``d.reduced``."""
    map_out_backward(lo, hi, plan.types, d.gates, weights.output, d.reduced)
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
def _weights_backward(plan, nodes, s, weights, d, d_weights, share, shares):
    output_backward(nodes, share, shares, s.reduced, d.gates, d_weights.output, d_weights.bias)
    _, gates, r = weights.start.shape
    for key in range(len(nodes.starts) - 1):
        lo, hi, place = share_of(nodes, key, share, shares)
        for i in range(lo, hi):
            v = nodes.rows[i]
            for g in range(gates):
                for b in range(r):
                    d_weights.start[place, g, b] += d.reduced[v, g * r + b]


sweep_up, sweep_down = sweeps_of(_multiply, _multiply_backward, _weights_backward)
