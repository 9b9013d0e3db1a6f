"""A weighted sum in a compiled sweep, whether or not places have their own weights."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled
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
                for v in range(lo, hi):
                    key = plan.types[v]
                    for j in range(s.sent.shape[1]):
                        s.gates[v, j] = weights.bias[key, j]
                    for e in range(plan.offsets[v], plan.offsets[v + 1]):
                        m = plan.inbox[e]
                        for j in range(s.sent.shape[1]):
                            s.gates[v, j] += s.sent[m, j]
            steps.close_nodes(plan, s, lo, hi)
            lo, hi = rows_of(plan.messages, plan.message_levels, level, p.message, p.message_end)
            steps.send(plan, s, messages, level, lo, hi)
        number = take_up(turns, pieces, number)


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
        number = take_down(turns, pieces, number)
    share = take(turns, 1, shares, -1)
    while share >= 0:
        steps.weights_backward(
            plan.sources, s.h, d.sent, d.forget, back.messages, share, shares, d_messages
        )
        for key in range(len(back.nodes.starts) - 1):
            lo, hi, place = steps.share_of(back.nodes, key, share, shares)
            for i in range(lo, hi):
                v = back.nodes.rows[i]
                for j in range(s.sent.shape[1]):
                    d_weights.bias[place, j] += d.gates[v, j]
        share = take(turns, 1, shares, share)
