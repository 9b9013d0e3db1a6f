"""The compiled sweep of a Tree-LSTM on a CPU: one autograd function, one call per direction.

On small batches, calls to torch cost more than what they compute. Here the loop over levels is
compiled too, with its matrix products; :mod:`.forms` has the parts that depend on the aggregator.

It covers float32 and float64, the library's own aggregators, and models without inputs at inner
nodes; on a GPU, those of them for which :mod:`..gpu` has kernels. All others run in
:func:`structnet.message_passing.propagate`, with the same values and gradients; a log message of
level DEBUG then says why.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from operator import mul
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.message_passing.cell import State
from structnet.message_passing.gpu.triton import runs_triton
from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.compiled.forms import FORMS, Form, fold, size_of_one, zeros_like
from structnet.tensor_tree.compiled.model import Model
from structnet.tensor_tree.compiled.pieces import at_once, cut, shares_of, side_by_side
from structnet.tensor_tree.compiled.plan import Plan, make_back, make_plan
from structnet.tensor_tree.compiled.states import (
    Gradients,
    Linear,
    Messages,
    States,
    for_gradients,
)
from structnet.tensor_tree.gpu.sizes import why_no_kernels
from structnet.training.backward import by_hand
from structnet.trees._kernels import add_rows
from structnet.trees.forest import Forest

logger = logging.getLogger(__name__)

_OF_A_GATE = 16  # multiplications that its nonlinearity and its part of a cell cost


def covers(model: Model, forest: Forest) -> bool:
    """Whether :func:`sweep` can compute the model's states over the forest.

    As the loops check no index, the shapes of the parameters must have been checked before.
    """
    reason = _why_not(model, forest)
    if reason:
        logger.debug("the sweep is not compiled: %s", reason)
    return not reason


def _why_not(model: Model, forest: Forest) -> str:
    layout, a = model.layout, model.aggregator
    sizes = (model.hidden_size, layout.arity, layout.num_types, layout.positional)
    gates = 3 if model.forget == "child" else 3 + layout.arity
    if model.inner_inputs:
        return "inner nodes carry inputs"
    if type(a) not in FORMS or {"message", "reduce", "message_weight"} & vars(a).keys():
        return f"{type(a).__name__} is not one of the library's aggregators"
    if sizes != (a.hidden_size, a.arity, a.num_types, a.positional) or layout.pads < a.pads:
        return "the aggregator has other sizes than the model"
    if (a.gates, a.input_size) != (gates, 0):
        return "the aggregator has other gates or inputs than the model"
    tensors = [model.input_table(), *_inputs(model)]
    device, others = forest.device.type, {x.device for x in tensors}
    if len(others) > 1 or {x.type for x in others} != {device}:
        return "not all tensors are on the device of the forest"
    if device not in ("cpu", "cuda"):
        return f"there are no loops for {device}"
    if torch.is_autocast_enabled(device):
        return "autocast is on"
    if {x.dtype for x in tensors} not in ({torch.float32}, {torch.float64}):
        return "the tensors are not all of float32, nor all of float64"
    if device == "cpu":
        return ""
    return why_no_kernels(a, model.forget) or (
        "" if runs_triton(model.leaf_weight) else "Triton cannot compile for this GPU"
    )


def _inputs(model: Model) -> list[Tensor]:
    """The parameters: weight and bias of leaves, bottom, forget gates, and the aggregator's."""
    form, a = FORMS[type(model.aggregator)], model.aggregator
    c, keys = model.hidden_size, model.layout.num_keys
    forget = (
        [model.forget_weight, model.forget_bias]
        if model.forget == "child"  # otherwise the aggregator computes the gates
        else [model.leaf_bias.new_zeros(keys, c, 0), model.leaf_bias.new_zeros(keys, 0)]
    )
    names = [name for name in (form.linear, form.ones, *form.others) if name]
    own = [model.leaf_weight, model.leaf_bias, model.bottom_state]
    return [*own, *forget, *(getattr(a, name) for name in names)]


def sweep(model: Model, forest: Forest, nodes: np.ndarray | None) -> State:
    """The states of some nodes, or of the roots, as ``message_passing.propagate`` returns them.

    Shapes:
        nodes ``[n]``; output: ``h`` and ``c``, each ``[n, hidden_size]``.

    Raises:
        GraphError: the forest is empty, or has types or places that the model does not have.
    """
    if forest.device.type == "cuda":
        from structnet.tensor_tree.gpu import tree_sweep as gpu

        return gpu.sweep(model, forest, nodes)
    model.layout.check(forest)
    weight, bias, *inputs = _inputs(model)
    tokens = torch.from_numpy(forest.tokens[forest.types < 0])
    leaves = torch.addmm(bias, model.look_up(tokens), weight)
    keep = torch.is_grad_enabled() and any(x.requires_grad for x in (leaves, *inputs))
    plan = make_plan(forest, model.layout)
    call = _Call(FORMS[type(model.aggregator)], plan, model.layout, model.aggregator.gates, keep)
    every = np.arange(forest.num_nodes)  # -1 is the last node, and the bottom is no node
    chosen = torch.from_numpy(every[forest.roots if nodes is None else nodes])
    h, c = _Sweep.apply(call, chosen, leaves, *inputs)
    return {"h": h, "c": c}


class _Weights(NamedTuple):
    """The weights of a sweep in the form of the loops, or their gradients."""

    messages: Messages
    form: Any


class _Division(NamedTuple):
    """The pieces of a sweep.

    Attributes:
        pieces: pieces from :func:`.cut`.
        at_once: number of them that are worth computing at the same time.
        shares: number of shares into which the gradients of the weights are divided.
    """

    pieces: np.ndarray
    at_once: int
    shares: int


class _Call(NamedTuple):
    """A sweep except its floating-point numbers: the form, the plan and the sizes."""

    form: type[Form]
    plan: Plan
    layout: Layout
    gates: int
    keep: bool

    def split(self, parameters: Sequence[np.ndarray]) -> tuple[list, list]:
        """The parameters ``linear`` and ``ones`` of the form, if it has them; and the others."""
        n = bool(self.form.linear) + bool(self.form.ones)
        return list(parameters[:n]), list(parameters[n:])

    def weights(self, forget: np.ndarray, bias: np.ndarray, *parameters: np.ndarray) -> _Weights:
        """The weights in the form of the loops."""
        sent, others = self.split(parameters)
        weight = np.ascontiguousarray(sent[0] if sent else forget[..., :0])
        ones = sent[1] if sent[1:] else np.zeros((len(weight), weight.shape[-1]), weight.dtype)
        by_key = np.repeat(bias, len(forget) // max(len(bias), 1), 0)
        messages = Messages(
            Linear(weight, np.ascontiguousarray(ones)),
            Linear(np.ascontiguousarray(forget), by_key),
        )
        return _Weights(messages, self.form.weights(self.layout.arity, others))

    def work(self, weights: _Weights) -> tuple[int, int]:
        """The approximate numbers of multiplications for a node and for a message."""
        c = weights.messages.forget.weight.shape[1]
        cell, moved = _OF_A_GATE * self.gates * c, _OF_A_GATE * 2 * c
        return size_of_one(weights.form) + cell, size_of_one(weights.messages) + moved

    def division(self, weights: _Weights) -> _Division:
        """How the sweep is divided."""
        plan, work = self.plan, self.work(weights)
        levels = plan.nodes[plan.node_levels], plan.messages[plan.message_levels]
        rows, pieces = (len(plan.types) - plan.leaves, len(plan.sources)), cut(*levels, *work)
        number = at_once(pieces, sum(map(mul, rows, work)))
        return _Division(pieces, number, max(map(shares_of, rows, work)))

    def states(self, weights: _Weights) -> States:
        """Arrays for the states, not initialised."""
        plan, ((weight, _), (forget, _)) = self.plan, weights.messages
        c = weight.shape[1]
        rows = len(plan.types) + 1
        shapes = {
            **dict.fromkeys(("h", "c", "tanh"), (rows, c)),
            "gates": (rows, self.gates * c),
            "sent": (len(plan.sources), weight.shape[-1]),
            "forget": (len(plan.sources), forget.shape[-1]),
            "reduced": (0, 0),
            "products": (0, 0),
            "partial": (0, 0),
            **self.form.room(weights.form, plan, self.keep),
        }
        return States(**{name: np.empty(shape, weight.dtype) for name, shape in shapes.items()})

    def up(
        self, weights: _Weights, divided: _Division, leaves: np.ndarray, bottom: np.ndarray
    ) -> States:
        """Computes all states."""
        plan, s = self.plan, self.states(weights)
        s.gates[: plan.leaves, : leaves.shape[1]] = leaves
        for x, of_bottom in zip(s[:2], bottom, strict=True):
            x[-1] = of_bottom
        loops, number = self.form.loops, divided.at_once
        side_by_side(loops.sweep_up, plan, divided.pieces, s, *weights, at_once=number)
        return s

    def down(
        self,
        weights: _Weights,
        divided: _Division,
        s: States,
        d: Gradients,
        forget: np.ndarray,
        bias: np.ndarray,
        *parameters: np.ndarray,
    ) -> list[np.ndarray]:
        """The gradients of the leaves' gates, the bottom and the rest, from those of the states."""
        plan, back = self.plan, make_back(self.plan, self.layout)
        pieces, number, shares = divided
        d_messages, d_form = (zeros_like(x, shares - 1) for x in weights)
        side_by_side(
            self.form.loops.sweep_down,
            plan, pieces, back, s, *weights, d, d_messages, d_form, shares,
            at_once=number, lists=2,
        )  # fmt: skip
        fold(d_messages, back.messages.begun_before(shares))
        fold(d_form, back.nodes.begun_before(shares))
        sent, others = self.split(parameters)
        of_sent, (d_forget, d_bias) = ([x[: len(forget)] for x in own] for own in d_messages)
        places = len(forget) // max(len(bias), 1)
        d_bias = d_bias.reshape(len(bias), places, bias.shape[-1]).sum(1)
        leaves = d.gates[: plan.leaves, : 3 * forget.shape[1]]
        n = s.h.shape[1]
        of_bottom = d.own[back.sent.rows[back.sent.starts[-2] :]].sum(0)
        bottom = np.stack([of_bottom[:n], of_bottom[n:]])[:, None]
        gradients = self.form.gradients(d_form, others)
        return [leaves, bottom, d_forget, d_bias, *of_sent[: len(sent)], *gradients]


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, nodes: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        leaves, bottom, *parameters = (x.detach().numpy() for x in inputs)
        weights = call.weights(*parameters)
        divided = call.division(weights)
        states = call.up(weights, divided, leaves, bottom)
        tensors = [torch.from_numpy(x) for x in states]
        if call.keep:
            ctx.call, ctx.divided, ctx.nodes, ctx.num_inputs = call, divided, nodes, len(inputs)
            ctx.save_for_backward(*inputs[2:], *tensors)  # freed by the backward, even if h is kept
        return tuple(x.index_select(0, nodes) for x in tensors[:2])

    @staticmethod
    @by_hand("the levels backend", "backend='dgl'")
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor | None, ...]:
        # Raises if a parameter was changed in place since, or if the tensors were freed.
        saved = [x.detach().numpy() for x in ctx.saved_tensors]
        parameters, s = saved[: ctx.num_inputs - 2], States(*saved[ctx.num_inputs - 2 :])
        call = ctx.call
        d = for_gradients(s, call.form.slots(call.plan, s))
        for x, gradient in zip(d[:2], given, strict=True):
            add_rows(x, ctx.nodes.numpy(), gradient.contiguous().numpy())
        weights = call.weights(*parameters)  # anew, so that a loss that is kept keeps no copies
        found = call.down(weights, ctx.divided, s, d, *parameters)
        return None, None, *map(torch.from_numpy, found)
