"""A Tree-LSTM's sweep on a CPU, compiled: one autograd function, one call a direction.

On small batches the calls into torch cost more than what they compute. Here the loop over levels is
compiled too, with the matrix products in it; what the aggregators differ in is in a form each.

It covers what is common: float32 or float64, the library's own aggregators, no inputs at inner
nodes. All else runs in :func:`structnet.message_passing.propagate`, with the same values and
gradients; a message of level DEBUG then says why.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from structnet.message_passing.cell import State
from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.compiled.forms import FORMS, Form, fold, zeros_like
from structnet.tensor_tree.compiled.parts import in_parallel, split
from structnet.tensor_tree.compiled.plan import Plan, by_key, by_type, make_plan
from structnet.tensor_tree.compiled.states import Linear, Messages, States
from structnet.training.one_thread import ONE_THREAD
from structnet.trees._kernels import add_rows
from structnet.trees.forest import Forest

logger = logging.getLogger(__name__)


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
    def input_table(self) -> Tensor: ...


def covers(model: _Model, forest: Forest) -> bool:
    """Whether :func:`sweep` can compute the model's states over the forest.

    The loops check no index: the shapes of the parameters are checked before.
    """
    reason = _why_not(model, forest)
    if reason:
        logger.debug("the sweep is not compiled: %s", reason)
    return not reason


def _why_not(model: _Model, forest: Forest) -> str:
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
    if {forest.device.type, *(x.device.type for x in tensors)} != {"cpu"}:
        return "not all of it is on the CPU"
    if torch.is_autocast_enabled("cpu"):
        return "autocast is on"
    if {x.dtype for x in tensors} not in ({torch.float32}, {torch.float64}):
        return "its numbers are not all of float32, nor all of float64"
    return ""


def _inputs(model: _Model) -> list[Tensor]:
    """Whatever the sweep takes gradients of, but for the leaves' gates."""
    form, a = FORMS[type(model.aggregator)], model.aggregator
    c, keys = model.hidden_size, model.layout.num_keys
    forget = (
        [model.forget_weight, model.forget_bias]
        if model.forget == "child"  # else the aggregator gives the gates, and no message does
        else [model.leaf_bias.new_zeros(keys, c, 0), model.leaf_bias.new_zeros(keys, 0)]
    )
    names = [name for name in (form.linear, form.ones, *form.others) if name]
    own = [model.leaf_weight, model.leaf_bias, model.bottom_state]
    return [*own, *forget, *(getattr(a, name) for name in names)]


def sweep(model: _Model, forest: Forest, nodes: np.ndarray | None) -> State:
    """The states of ``nodes``, or of the roots, as ``message_passing.propagate`` gives them.

    Shapes:
        output: ``h`` and ``c``, each ``[nodes, hidden_size]``.

    Raises:
        GraphError: types or places that the model does not have.
    """
    model.layout.check(forest)
    plan, rows, tokens = _planned(forest, model.layout)
    weight, bias, *inputs = _inputs(model)
    leaves = torch.addmm(bias, model.look_up(torch.from_numpy(tokens)), weight)
    keep = torch.is_grad_enabled() and any(x.requires_grad for x in (leaves, *inputs))
    call = _Call(FORMS[type(model.aggregator)], plan, model.layout, model.aggregator.gates, keep)
    chosen = rows[forest.roots if nodes is None else nodes]
    h, c = _Sweep.apply(call, torch.from_numpy(chosen), leaves, *inputs)
    return {"h": h, "c": c}


def _planned(forest: Forest, layout: Layout) -> tuple[Plan, np.ndarray, np.ndarray]:
    """A plan of the forest, maybe in parts, its row of each node, and its leaves' tokens."""
    parts = split(forest)
    forest = parts.forest(forest)
    plan = make_plan(forest, layout, [len(nodes) for nodes in parts.nodes])
    return plan, parts.rows, forest.tokens[forest.types < 0]


class _Weights(NamedTuple):
    """The weights of one sweep as its two functions take them, or their gradients."""

    messages: Messages
    form: Any


class _Call(NamedTuple):
    """One sweep but for its numbers: what it computes, over which forest."""

    form: type[Form]
    plan: Plan
    layout: Layout
    gates: int
    keep: bool

    def split(self, parameters: Sequence[np.ndarray]) -> tuple[list, list]:
        """Those that a child's h is multiplied by and the ones', if any; and the others."""
        n = bool(self.form.linear) + bool(self.form.ones)
        return list(parameters[:n]), list(parameters[n:])

    def weights(self, forget: np.ndarray, bias: np.ndarray, *parameters: np.ndarray) -> _Weights:
        """The weights as the loops take them."""
        sent, others = self.split(parameters)
        weight = np.ascontiguousarray(sent[0] if sent else forget[..., :0])
        ones = sent[1] if sent[1:] else np.zeros((len(weight), weight.shape[-1]), weight.dtype)
        by_key = np.repeat(bias, len(forget) // max(len(bias), 1), 0)
        messages = Messages(
            Linear(weight, np.ascontiguousarray(ones)),
            Linear(np.ascontiguousarray(forget), by_key),
        )
        return _Weights(messages, self.form.weights(self.layout.arity, others))

    def states(self, weights: _Weights) -> States:
        """Room for the states, not set yet."""
        plan, ((weight, _), (forget, _)) = self.plan, weights.messages
        c = weight.shape[1]
        rows = len(plan.types) + self.num_parts
        shapes = {
            **dict.fromkeys(("h", "c", "tanh"), (rows, c)),
            "gates": (rows, self.gates * c),
            "sent": (len(plan.sources), weight.shape[-1]),
            "forget": (len(plan.sources), forget.shape[-1]),
            "reduced": (0, 0),
            "products": (0, 0, 0),
            "partial": (0, 0),
            **self.form.room(weights.form, plan, self.keep),
        }
        return States(**{name: np.empty(shape, weight.dtype) for name, shape in shapes.items()})

    @property
    def num_parts(self) -> int:
        return len(self.plan.parts) - 1

    def in_parts(self, function: Callable, *arguments: Any) -> None:
        """Calls it for each part."""
        in_parallel([partial(function, *arguments, part) for part in range(self.num_parts)])

    def up(self, weights: _Weights, leaves: np.ndarray, bottom: np.ndarray) -> States:
        """All states."""
        plan, s = self.plan, self.states(weights)
        s.gates[np.flatnonzero(plan.types < 0), : leaves.shape[1]] = leaves
        for x, of_bottom in zip(s[:2], bottom, strict=True):
            x[len(plan.types) :] = of_bottom
        self.in_parts(self.form.loops.sweep_up, plan, s, *weights)
        return s

    def down(
        self,
        weights: _Weights,
        s: States,
        d: States,
        forget: np.ndarray,
        bias: np.ndarray,
        *parameters: np.ndarray,
    ) -> list[np.ndarray]:
        """From the gradients of the states to those of the leaves' gates, the bottom, the rest."""
        plan = self.plan
        self.in_parts(self.form.loops.sweep_down, plan, s, *weights, d)
        d_messages, d_form = self._of_weights(s, d, weights)
        sent, others = self.split(parameters)
        of_sent, (d_forget, d_bias) = ([x[: len(forget)] for x in own] for own in d_messages)
        places = len(forget) // max(len(bias), 1)
        d_bias = d_bias.reshape(len(bias), places, bias.shape[-1]).sum(1)
        leaves = d.gates[np.flatnonzero(plan.types < 0), : 3 * forget.shape[1]]
        bottom = np.stack([x[len(plan.types) :].sum(0, keepdims=True) for x in d[:2]])
        gradients = self.form.gradients(d_form, others)
        return [leaves, bottom, d_forget, d_bias, *of_sent[: len(sent)], *gradients]

    def _of_weights(self, s: States, d: States, weights: _Weights) -> tuple[Messages, Any]:
        """The weights' gradients, with rows behind them that were needed to add them up."""
        plan, layout, (messages, form) = self.plan, self.layout, weights
        orders = by_type(plan, layout.num_types), by_key(plan, layout.num_keys)
        of_form, of_messages = (zeros_like(x, self.num_parts - 1) for x in (form, messages))
        down = self.form.loops.weights_down
        self.in_parts(down, plan, s, form, d, *orders, of_messages, of_form)
        for order, gradients in zip(orders, (of_form, of_messages), strict=True):
            fold(gradients, order.begun_before(self.num_parts))
        return of_messages, of_form


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, nodes: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        leaves, bottom, *parameters = (x.detach().numpy() for x in inputs)
        weights = call.weights(*parameters)
        with ONE_THREAD:
            states = [torch.from_numpy(x) for x in call.up(weights, leaves, bottom)]
        if call.keep:
            ctx.call, ctx.nodes, ctx.num_inputs = call, nodes, len(inputs)
            ctx.save_for_backward(*inputs[2:], *states)  # freed by the backward, not with h
        return tuple(x.index_select(0, nodes) for x in states[:2])

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # create_graph=True; otherwise a backward records nothing
            raise RuntimeError("the levels backend has no second derivatives; backend='dgl' has")
        # Raises if a parameter was changed in place since, or if it was all freed.
        saved = [x.detach().numpy() for x in ctx.saved_tensors]
        s = States(*saved[ctx.num_inputs - 2 :])
        d = s.for_gradients()
        for x, gradient in zip(d[:2], given, strict=True):
            add_rows(x, ctx.nodes.numpy(), gradient.contiguous().numpy())
        parameters = saved[: ctx.num_inputs - 2]
        weights = ctx.call.weights(*parameters)  # a loss that somebody keeps, keeps no copies
        with ONE_THREAD:  # once for all that is in parallel inside
            found = ctx.call.down(weights, s, d, *parameters)
        return None, None, *map(torch.from_numpy, found)
