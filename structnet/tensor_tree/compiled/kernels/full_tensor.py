"""The full tensor in a compiled sweep: a core over the children's own states."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import core as products
from structnet.tensor_tree.compiled.kernels import steps
from structnet.tensor_tree.compiled.kernels.gates import compiled


@compiled
def sweep_up(plan, s, messages, core, part):
    """All states of a part, from the leaves up."""
    for level in range(plan.parts[part], plan.parts[part + 1]):
        if level > plan.parts[part]:
            products.contract(plan, plan.children, part, level, core, s.h, s.products, s.gates)
        steps.close_nodes(plan, s, level)
        steps.send(plan, s, messages, level)


@compiled
def sweep_down(plan, s, messages, core, d, part):
    """All gradients of a part's states, from the roots down."""
    for level in range(plan.parts[part + 1] - 1, plan.parts[part] - 1, -1):
        steps.send_backward(plan, s, d, messages, level)
        steps.close_nodes_backward(plan, s, d, level)
        if level > plan.parts[part]:
            products.contract_backward(
                plan, plan.children, part, level, core, s.h, s.products, d.gates, d.h
            )


@compiled
def weights_down(plan, s, core, d, nodes, messages, d_messages, d_core, share):
    """A share of the gradients of the weights."""
    shares = len(plan.parts) - 1
    steps.weights_backward(plan.sources, s.h, d.sent, d.forget, messages, share, shares, d_messages)
    products.core_backward(
        plan.offsets, plan.children, nodes, share, shares, core, s.h, d.gates, d_core.weight
    )
