"""The full tensor in a compiled sweep: a core over the children's own states."""

from __future__ import annotations

from structnet.tensor_tree.compiled.kernels import core as products
from structnet.tensor_tree.compiled.kernels.gates import inlined
from structnet.tensor_tree.compiled.kernels.sweeps import sweeps_of


@inlined
def _contract(plan, s, core, level, lo, hi):
    products.contract(plan, plan.children, level, lo, hi, core, s.h, s.products, s.gates)


@inlined
def _contract_backward(plan, s, core, d, level, lo, hi):
    products.contract_backward(
        plan, plan.children, level, lo, hi, core, s.h, s.products, d.gates, d.slots
    )


@inlined
def _core_backward(plan, nodes, s, core, d, d_core, share, shares):
    products.core_backward(
        plan.offsets, plan.children, nodes, share, shares, core, s.h, d.gates, d_core.weight
    )


sweep_up, sweep_down = sweeps_of(_contract, _contract_backward, _core_backward)
