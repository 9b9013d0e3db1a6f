"""A weighted sum in a compiled sweep, whether or not places have their own weights."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels.gates import inlined
from structnet.tensor_tree.compiled.kernels.steps import share_of
from structnet.tensor_tree.compiled.kernels.sweeps import sweeps_of


@inlined
def _add(plan, s, weights, level, lo, hi):
    for v in range(lo, hi):
        key = plan.types[v]
        for j in range(s.sent.shape[1]):
            s.gates[v, j] = weights.bias[key, j]
        for e in range(plan.offsets[v], plan.offsets[v + 1]):
            m = plan.inbox[e]
            for j in range(s.sent.shape[1]):
                s.gates[v, j] += s.sent[m, j]


@inlined
def _add_backward(plan, s, weights, d, level, lo, hi):
    """Nothing: the gradient of what a child sends is that of the gates."""


@inlined
def _bias_backward(plan, nodes, s, weights, d, d_weights, share, shares):
    for key in range(len(nodes.starts) - 1):
        lo, hi, place = share_of(nodes, key, share, shares)
        for i in range(lo, hi):
            v = nodes.rows[i]
            for j in range(s.sent.shape[1]):
                d_weights.bias[place, j] += d.gates[v, j]


sweep_up, sweep_down = sweeps_of(_add, _add_backward, _bias_backward)
