"""The full tensor in a compiled sweep: a core over the children's own states."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import core as products
from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled


@compiled
def sweep_up(plan, s, messages, width, core):
    """All states, from the leaves up."""
    children = plan.sources[plan.inbox]
    steps.begin(plan, s, messages, width)
    for level in range(1, len(plan.node_levels) - 1):
        for run in range(plan.node_levels[level], plan.node_levels[level + 1]):
            lo, hi, key = plan.nodes[run], plan.nodes[run + 1], plan.node_keys[run]
            products.contract(plan, children, lo, hi, key, core, s.h, s.products, s.gates)
        steps.close_level(plan, s, messages, width, level)


@compiled
def sweep_down(plan, s, messages, width, core, d, d_messages, d_core):
    """All gradients, from the roots down."""
    children = plan.sources[plan.inbox]
    for level in range(len(plan.node_levels) - 2, 0, -1):
        steps.close_level_backward(plan, s, d, messages, width, level)
        for run in range(plan.node_levels[level], plan.node_levels[level + 1]):
            lo, hi, key = plan.nodes[run], plan.nodes[run + 1], plan.node_keys[run]
            products.contract_backward(
                plan, children, lo, hi, key, core, s.h, s.products, d.gates, d.h
            )
    products.core_backward(plan, children, core, s.h, d.gates, d_core.weight)
    steps.end_backward(plan, s, d, messages, width, d_messages)
