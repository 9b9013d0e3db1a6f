"""The Tucker form in a compiled sweep: a core for each gate, over what the children sent."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import core as products
from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.kernels.low_rank import (
    map_out,
    map_out_backward,
    output_backward,
)


@compiled
def sweep_up(plan, s, messages, weights, part):
    """All states of a part, from the leaves up."""
    for level in range(plan.parts[part], plan.parts[part + 1]):
        if level > plan.parts[part]:
            products.contract(
                plan, plan.inbox, part, level, weights.core, s.sent, s.products, s.reduced
            )
            rows = steps.rows_of(plan.nodes, plan.node_levels, level)
            map_out(rows, plan.types, s.reduced, weights.output, weights.bias, s.gates)
        steps.close_nodes(plan, s, level)
        steps.send(plan, s, messages, level)


@compiled
def sweep_down(plan, s, messages, weights, d, part):
    """All gradients of a part's states, from the roots down."""
    for level in range(plan.parts[part + 1] - 1, plan.parts[part] - 1, -1):
        steps.send_backward(plan, s, d, messages, level)
        steps.close_nodes_backward(plan, s, d, level)
        if level > plan.parts[part]:
            rows = steps.rows_of(plan.nodes, plan.node_levels, level)
            map_out_backward(rows, plan.types, d.gates, weights.output, d.reduced)
            products.contract_backward(
                plan, plan.inbox, part, level, weights.core, s.sent, s.products, d.reduced, d.sent
            )


@compiled
def weights_down(plan, s, weights, d, nodes, messages, d_messages, d_weights, share):
    """A share of the gradients of the weights."""
    shares = len(plan.parts) - 1
    steps.weights_backward(plan.sources, s.h, d.sent, d.forget, messages, share, shares, d_messages)
    output_backward(nodes, share, shares, s.reduced, d.gates, d_weights.output, d_weights.bias)
    products.core_backward(
        plan.offsets, plan.inbox, nodes, share, shares,
        weights.core, s.sent, d.reduced, d_weights.core.weight,
    )  # fmt: skip
