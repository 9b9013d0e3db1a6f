"""The two loops of a typed sweep, which all aggregators share: up, and back down."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.kernels.pieces import rows_of
from structnet.tensor_tree.compiled.kernels.turns import take, take_down, take_up


def sweeps_of(combine, combine_backward, weights_backward):
    """The functions ``sweep_up`` and ``sweep_down`` of an aggregator.

    Args:
        combine: inlined function that computes the gates of the inner nodes ``lo`` to ``hi`` of a
            level from what their children sent.
        combine_backward: its gradient, except that of the weights.
        weights_backward: function that adds a share of the gradient of the aggregator's weights.
    """

    @compiled
    def sweep_up(plan, pieces, s, messages, weights, turns):
        number = take_up(turns, pieces, -1)
        while number >= 0:
            p = pieces[number]
            for level in range(p.level, p.end):
                lo, hi = rows_of(plan.nodes, plan.node_levels, level, p.node, p.node_end)
                if level > 0:
                    combine(plan, s, weights, level, lo, hi)
                steps.close_nodes(plan, s, lo, hi)
                lo, hi = rows_of(
                    plan.messages, plan.message_levels, level, p.message, p.message_end
                )
                steps.send(plan, s, messages, level, lo, hi)
            number = take_up(turns, pieces, number)

    @compiled
    def sweep_down(
        plan, pieces, back, s, messages, weights, d, d_messages, d_weights, shares, turns
    ):
        number = take_down(turns, pieces, -1)
        while number >= 0:
            p = pieces[number]
            for level in range(p.end - 1, p.level - 1, -1):
                lo, hi = rows_of(
                    plan.messages, plan.message_levels, level, p.message, p.message_end
                )
                steps.send_backward(plan, back, s, d, messages, level, lo, hi)
                lo, hi = rows_of(plan.nodes, plan.node_levels, level, p.node, p.node_end)
                steps.close_nodes_backward(plan, back, s, d, lo, hi)
                if level > 0:
                    combine_backward(plan, s, weights, d, level, lo, hi)
            number = take_down(turns, pieces, number)
        share = take(turns, 1, shares, -1)
        while share >= 0:
            steps.weights_backward(
                plan.sources, s.h, d.sent, d.forget, back.messages, share, shares, d_messages
            )
            weights_backward(plan, back.nodes, s, weights, d, d_weights, share, shares)
            share = take(turns, 1, shares, share)

    return sweep_up, sweep_down
