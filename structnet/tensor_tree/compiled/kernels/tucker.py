"""The Tucker form in a compiled sweep: a core for each gate times the children's messages."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import core as products
from structnet.tensor_tree.compiled.kernels.gates import inlined
from structnet.tensor_tree.compiled.kernels.low_rank import (
    map_out,
    map_out_backward,
    output_backward,
)
from structnet.tensor_tree.compiled.kernels.sweeps import sweeps_of


@inlined
def _contract(plan, s, weights, level, lo, hi):
    products.contract(plan, plan.inbox, level, lo, hi, weights.core, s.sent, s.products, s.reduced)
    map_out(lo, hi, plan.types, s.reduced, weights.output, weights.bias, s.gates)


@inlined
def _contract_backward(plan, s, weights, d, level, lo, hi):
    map_out_backward(lo, hi, plan.types, d.gates, weights.output, d.reduced)
    products.contract_backward(
        plan, plan.inbox, level, lo, hi, weights.core, s.sent, s.products, d.reduced, d.slots
    )


@inlined
def _weights_backward(plan, nodes, s, weights, d, d_weights, share, shares):
    output_backward(nodes, share, shares, s.reduced, d.gates, d_weights.output, d_weights.bias)
    products.core_backward(
        plan.offsets, plan.inbox, nodes, share, shares,
        weights.core, s.sent, d.reduced, d_weights.core.weight,
    )  # fmt: skip


sweep_up, sweep_down = sweeps_of(_contract, _contract_backward, _weights_backward)
