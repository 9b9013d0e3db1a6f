"""The CP form in a compiled sweep: entry-wise products of the children's messages."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels.gates import inlined
from structnet.tensor_tree.compiled.kernels.low_rank import (
    map_out,
    map_out_backward,
    output_backward,
)
from structnet.tensor_tree.compiled.kernels.sweeps import sweeps_of


@inlined
def _multiply(plan, s, weights, level, lo, hi):
    for v in range(lo, hi):
        for j in range(s.sent.shape[1]):
            s.reduced[v, j] = 1
        for e in range(plan.offsets[v], plan.offsets[v + 1]):
            m = plan.inbox[e]
            for j in range(s.sent.shape[1]):
                s.reduced[v, j] *= s.sent[m, j]
    map_out(lo, hi, plan.types, s.reduced, weights.output, weights.bias, s.gates)


@inlined
def _multiply_backward(plan, s, weights, d, level, lo, hi):
    map_out_backward(lo, hi, plan.types, d.gates, weights.output, d.reduced)
    for v in range(lo, hi):
        first, end = plan.offsets[v], plan.offsets[v + 1]
        for e in range(first, end):
            for j in range(s.sent.shape[1]):
                d.slots[e, j] = d.reduced[v, j]
            # Not the whole product divided by an entry, which may be zero.
            for other in range(first, end):
                if other != e:
                    m = plan.inbox[other]
                    for j in range(s.sent.shape[1]):
                        d.slots[e, j] *= s.sent[m, j]


@inlined
def _weights_backward(plan, nodes, s, weights, d, d_weights, share, shares):
    output_backward(nodes, share, shares, s.reduced, d.gates, d_weights.output, d_weights.bias)


sweep_up, sweep_down = sweeps_of(_multiply, _multiply_backward, _weights_backward)
