"""The Tucker form in a compiled sweep: a core for each gate times the children's messages."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import core as products
from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled
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
                products.contract(
                    plan, plan.inbox, level, lo, hi, weights.core, s.sent, s.products, s.reduced
                )
                map_out(lo, hi, plan.types, s.reduced, weights.output, weights.bias, s.gates)
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
            if level > 0:
                map_out_backward(lo, hi, plan.types, d.gates, weights.output, d.reduced)
                products.contract_backward(
                    plan, plan.inbox, level, lo, hi,
                    weights.core, s.sent, s.products, d.reduced, d.slots,
                )  # fmt: skip
        number = take_down(turns, pieces, number)
    share = take(turns, 1, shares, -1)
    while share >= 0:
        steps.weights_backward(
            plan.sources, s.h, d.sent, d.forget, back.messages, share, shares, d_messages
        )
        output_backward(
            back.nodes, share, shares, s.reduced, d.gates, d_weights.output, d_weights.bias
        )
        products.core_backward(
            plan.offsets, plan.inbox, back.nodes, share, shares,
            weights.core, s.sent, d.reduced, d_weights.core.weight,
        )  # fmt: skip
        share = take(turns, 1, shares, share)
