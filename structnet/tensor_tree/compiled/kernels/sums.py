"""A weighted sum in a compiled sweep, whether or not it tells places apart."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled


@compiled
def sweep_up(plan, s, messages, weights, part):
    """All states of a part, from the leaves up."""
    for level in range(plan.parts[part], plan.parts[part + 1]):
        if level > plan.parts[part]:
            lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
            for v in range(lo, hi):
                key = plan.types[v]
                for j in range(s.sent.shape[1]):
                    s.gates[v, j] = weights.bias[key, j]
                for e in range(plan.offsets[v], plan.offsets[v + 1]):
                    m = plan.inbox[e]
                    for j in range(s.sent.shape[1]):
                        s.gates[v, j] += s.sent[m, j]
        steps.close_nodes(plan, s, level)
        steps.send(plan, s, messages, level)


@compiled
def sweep_down(plan, s, messages, weights, d, part):
    """All gradients of a part's states, from the roots down."""
    for level in range(plan.parts[part + 1] - 1, plan.parts[part] - 1, -1):
        steps.send_backward(plan, s, d, messages, level)
        steps.close_nodes_backward(plan, s, d, level)
        if level > plan.parts[part]:
            lo, hi = steps.rows_of(plan.nodes, plan.node_levels, level)
            for v in range(lo, hi):
                for e in range(plan.offsets[v], plan.offsets[v + 1]):
                    m = plan.inbox[e]
                    for j in range(s.sent.shape[1]):
                        d.sent[m, j] += d.gates[v, j]


@compiled
def weights_down(plan, s, weights, d, nodes, messages, d_messages, d_weights, share):
    """A share of the gradients of the weights."""
    shares = len(plan.parts) - 1
    steps.weights_backward(plan.sources, s.h, d.sent, d.forget, messages, share, shares, d_messages)
    for key in range(len(nodes.starts) - 1):
        lo, hi, place = steps.share_of(nodes, key, share, shares)
        for i in range(lo, hi):
            v = nodes.rows[i]
            for j in range(s.sent.shape[1]):
                d_weights.bias[place, j] += d.gates[v, j]
