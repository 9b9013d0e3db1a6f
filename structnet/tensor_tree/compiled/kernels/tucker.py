"""The Tucker form in a compiled sweep: a core for each gate, over what the children sent."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import core as products
from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.kernels.low_rank import map_out, map_out_backward


@compiled
def sweep_up(plan, s, messages, width, weights):
    """All states, from the leaves up."""
    steps.begin(plan, s, messages, width)
    for level in range(1, len(plan.node_levels) - 1):
        for run in range(plan.node_levels[level], plan.node_levels[level + 1]):
            lo, hi, key = plan.nodes[run], plan.nodes[run + 1], plan.node_keys[run]
            products.contract(
                plan, plan.inbox, lo, hi, key, weights.core, s.sent, s.products, s.reduced
            )
        map_out(plan, s, weights, level)
        steps.close_level(plan, s, messages, width, level)


@compiled
def sweep_down(plan, s, messages, width, weights, d, d_messages, d_weights):
    """All gradients, from the roots down."""
    for level in range(len(plan.node_levels) - 2, 0, -1):
        steps.close_level_backward(plan, s, d, messages, width, level)
        map_out_backward(plan, s, weights, d, d_weights, level)
        for run in range(plan.node_levels[level], plan.node_levels[level + 1]):
            lo, hi, key = plan.nodes[run], plan.nodes[run + 1], plan.node_keys[run]
            products.contract_backward(
                plan, plan.inbox, lo, hi, key, weights.core, s.sent, s.products, d.reduced, d.sent
            )
    core, d_core = weights.core, d_weights.core.weight
    products.core_backward(plan, plan.inbox, core, s.sent, d.reduced, d_core)
    steps.end_backward(plan, s, d, messages, width, d_messages)
