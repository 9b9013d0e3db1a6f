"""A Tree-LSTM's sweep on a CPU, compiled: one autograd function instead of dozens a level.

On small batches the calls into torch cost more than what they compute. Here a level is one matrix
product for all its messages and a few calls of ``_kernels``, which do the rest in buffers for the
whole sweep; the backward does the same from the roots down and computes each weight's gradient
once, at the end. What the aggregators differ in is in ``combine``.

It covers what is common: float32 or float64, the library's own aggregators, forget gates from the
child alone, no inputs at inner nodes. All else runs in :func:`structnet.message_passing.propagate`,
with the same values and gradients.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from structnet.message_passing.cell import State
from structnet.message_passing.scheduling import Layout, arrange
from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.compiled import _kernels as kernels
from structnet.tensor_tree.compiled.buffers import Buffers, Level
from structnet.tensor_tree.compiled.combine import Combine, combine_for
from structnet.tensor_tree.compiled.products import TypedProduct
from structnet.trees.forest import Forest


class _Model(Protocol):
    """What is read of a :class:`~structnet.tensor_tree.TreeLSTM`."""

    hidden_size: int
    forget: str
    inner_inputs: bool
    layout: Layout
    aggregator: Aggregator
    leaf_weight: nn.Parameter
    leaf_bias: nn.Parameter
    forget_weight: nn.Parameter
    forget_bias: nn.Parameter
    bottom_state: Tensor

    def look_up(self, tokens: Tensor) -> Tensor: ...
    def parameters(self) -> Iterator[Tensor]: ...
    def buffers(self) -> Iterator[Tensor]: ...


def covers(model: _Model, forest: Forest) -> bool:
    """Whether :func:`sweep` can compute the model's states over the forest.

    The loops check no index: the shapes of the parameters are checked before.
    """
    tensors = [*model.parameters(), *model.buffers()]
    layout, a = model.layout, model.aggregator
    sizes = (model.hidden_size, layout.arity, layout.num_types)
    return (
        model.forget == "child"
        and not model.inner_inputs
        and combine_for(a) is not None
        # An aggregator of other sizes is left to torch, which raises.
        and (a.hidden_size, a.arity, a.num_types) == sizes
        and (a.gates, a.input_size, a.positional) == (3, 0, layout.positional)
        and layout.pads >= a.pads
        and forest.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
        and {x.device.type for x in tensors} == {"cpu"}
        and {x.dtype for x in tensors} in ({torch.float32}, {torch.float64})
    )


def sweep(model: _Model, forest: Forest, nodes: np.ndarray) -> State:
    """The states of ``nodes``, as :func:`structnet.message_passing.propagate` gives them.

    Shapes:
        output: ``h`` and ``c``, each ``[len(nodes), hidden_size]``.

    Raises:
        GraphError: types or places that the model does not have.
    """
    # Without padding: one run of rows more is not a dozen calls more here.
    plan = arrange(forest, model.layout._replace(slack=0, node_slack=0))
    x = model.look_up(torch.from_numpy(plan.leaf_tokens))
    leaves = torch.addmm(model.leaf_bias, x, model.leaf_weight)
    combine = combine_for(model.aggregator)
    assert combine is not None  # or it would not be covered
    weights = (model.bottom_state, model.forget_weight, model.forget_bias)
    inputs = (leaves, *weights, *combine.parameters(model.aggregator))
    keep = torch.is_grad_enabled() and any(x.requires_grad for x in inputs)
    rows = torch.from_numpy(plan.row[nodes])
    buffers = Sweep(plan, model.layout, model.hidden_size, leaves.dtype, keep)
    h, c = _Sweep.apply(buffers, combine, rows, *inputs)
    return {"h": h, "c": c}


class Sweep(Buffers):
    """The sweep itself, forward and backward, in its own buffers.

    Shapes:
        leaves: what their gates are before the nonlinearity, ``[leaves, 3 c]``.
        bottom, forget_weight, forget_bias: those of the model, ``[2, 1, c]``,
            ``[num_keys, c, c]`` and ``[num_types, c]`` or ``[num_keys, c]``.
        dh, dc: gradients of the chosen rows' states, ``[rows, c]``.
    """

    def forward(
        self,
        make: Callable[..., Combine],
        leaves: Tensor,
        bottom: Tensor,
        forget_weight: Tensor,
        forget_bias: Tensor,
        *parameters: Tensor,
    ) -> None:
        """Compute all states."""
        n = forget_weight.shape[-1]
        self.combine = make(self, *parameters)
        self.width = self.combine.width
        self.Z = self.empty(len(self.message_types), self.width + n)
        weights = (*self.combine.message_weights, forget_weight)
        self.product = TypedProduct(weights, 1, n, self.messages)
        self.forget_bias = forget_bias.contiguous()
        # A forget bias for each type, or for each type and place.
        one_a_type = len(forget_bias) == self.num_types
        self.bias_rows = self.message_types if one_a_type else self.messages.keys

        self.Y[: self.num_leaves] = leaves.numpy()
        self._close(0, self.num_leaves)
        self.H[self.num_leaves], self.C[self.num_leaves] = bottom.squeeze(1).numpy()
        for level in self.levels:
            if level.hi > level.lo:
                self.combine.forward(self, level)
                self._close(level.lo, level.hi)
            if level.end > level.first:
                self._send(level)

    def _close(self, lo: int, hi: int) -> None:
        kernels.close_cells(
            self.offsets, self.plan.inbox, self.plan.sources, lo, hi, self.width, self.Z,
            self.Y, self.H, self.C, self.T,
        )  # fmt: skip

    def _send(self, level: Level) -> None:
        lo, hi = level.first, level.end
        h = self.empty(hi - lo, self.H.shape[1])
        kernels.gather(self.plan.sources, lo, hi, self.H, h)
        self.product.forward(level.number, h[:, None], self.Z[lo:hi, None])
        self.combine.send(self, level)
        bias = self.forget_bias.numpy()
        kernels.open_forget_gates(self.bias_rows, lo, hi, bias, self.width, self.Z)

    def release(self) -> list[Tensor]:
        """Hand all arrays over, to whoever knows how long they are needed; drop all copies."""
        self.product.forget()
        self.combine.forget()
        self.held = [name for name, value in vars(self).items() if isinstance(value, np.ndarray)]
        return [torch.from_numpy(vars(self).pop(name)) for name in self.held]

    def copy(self, buffers: Sequence[Tensor]) -> Sweep:
        """One to leave gradients in, with the arrays that :meth:`release` gave."""
        twin = copy.copy(self)
        twin.combine = copy.copy(self.combine)
        twin.product = self.product.for_backward()
        for name, buffer in zip(self.held, buffers, strict=True):
            setattr(twin, name, buffer.numpy())
        return twin

    def backward(self, rows: Tensor, dh: Tensor, dc: Tensor) -> list[Tensor]:
        """The gradients of what :meth:`forward` was given after ``make``."""
        self.allocate_gradients()
        torch.from_numpy(self.DH).index_add_(0, rows, dh)
        torch.from_numpy(self.DC).index_add_(0, rows, dc)
        self.combine.begin_backward(self)
        for level in reversed(self.levels):
            if level.end > level.first:
                self._send_backward(level)
            if level.hi > level.lo:
                self._close_backward(level.lo, level.hi)
                self.combine.backward(self, level)
        self._close_backward(0, self.num_leaves)
        return self._gradients()

    def _send_backward(self, level: Level) -> None:
        plan, lo, hi = self.plan, level.first, level.end
        self.combine.pull(self, level)
        kernels.forget_gates_backward(
            plan.sources, plan.back_offsets, self.back_rows, lo, hi, self.width, self.Z, self.C,
            self.DC, self.DZ,
        )  # fmt: skip
        dh = self.empty(hi - lo, self.H.shape[1])
        self.product.backward(level.number, self.DZ[lo:hi, None], dh[:, None])
        kernels.scatter(plan.sources, lo, hi, dh, self.DH)

    def _close_backward(self, lo: int, hi: int) -> None:
        kernels.cells_backward(lo, hi, self.Y, self.T, self.DH, self.DC, self.DY)

    def _gradients(self) -> list[Tensor]:
        n = self.num_leaves
        bottom = np.stack((self.DH[n], self.DC[n]))[:, None]
        bias = self.zeros(*self.forget_bias.shape)
        kernels.sum_by_key(self.bias_rows, self.width, self.DZ, bias)
        *message, forget = self.product.gradients(
            self.H[:, None], self.DZ[:, None], self.plan.sources
        )
        first = [torch.from_numpy(x) for x in (self.DY[:n], bottom)]
        return [*first, forget, torch.from_numpy(bias), *message, *self.combine.gradients(self)]


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, sweep: Sweep, make: Callable[..., Combine], rows: Tensor, *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        sweep.forward(make, *(x.detach() for x in inputs))
        states = tuple(torch.from_numpy(x).index_select(0, rows) for x in (sweep.H, sweep.C))
        if sweep.keep:
            ctx.sweep, ctx.rows, ctx.num_inputs = sweep, rows, len(inputs)
            ctx.save_for_backward(*inputs, *sweep.release())  # freed by the backward, not with h
        return states

    @staticmethod
    def backward(ctx: Any, dh: Tensor, dc: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # create_graph=True; otherwise a backward records nothing
            raise RuntimeError("the levels backend has no second derivatives; backend='dgl' has")
        # Raises if a parameter was changed in place since, or if it was all freed.
        buffers = ctx.saved_tensors[ctx.num_inputs :]
        return None, None, None, *ctx.sweep.copy(buffers).backward(ctx.rows, dh, dc)
