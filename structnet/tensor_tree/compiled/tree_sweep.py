"""A Tree-LSTM's sweep on a CPU, compiled: one autograd function, one call a direction.

On small batches the calls into torch cost more than what they compute. Here the loop over levels is
compiled too, with the matrix products in it; what the aggregators differ in is in a form each.

It covers what is common: float32 or float64, the library's own aggregators, no inputs at inner
nodes. All else runs in :func:`structnet.message_passing.propagate`, with the same values and
gradients; a message of level DEBUG then says why.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from structnet.message_passing.cell import State
from structnet.message_passing.scheduling import Layout
from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.compiled.forms import FORMS, Form, add, zeros_like
from structnet.tensor_tree.compiled.one_thread import ONE_THREAD
from structnet.tensor_tree.compiled.parts import cut, in_parallel
from structnet.tensor_tree.compiled.plan import Plan, make_plan
from structnet.tensor_tree.compiled.states import Messages, States
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
    parts = cut(forest) if nodes is None else [forest]
    plans = in_parallel([partial(make_plan, part, model.layout) for part in parts])
    weight, bias, *inputs = _inputs(model)
    tokens = [part.tokens[: plan.nodes[0]] for part, plan in zip(parts, plans, strict=True)]
    x = model.look_up(torch.from_numpy(np.concatenate(tokens)))
    leaves = torch.addmm(bias, x, weight)
    keep = torch.is_grad_enabled() and any(x.requires_grad for x in (leaves, *inputs))
    call = _Call(FORMS[type(model.aggregator)], plans, model.layout, model.aggregator.gates, keep)
    chosen = [part.roots for part in parts]
    if nodes is not None:
        chosen = [np.arange(forest.num_nodes)[nodes]]  # as they may count from the end
    h, c = _Sweep.apply(call, [torch.from_numpy(rows) for rows in chosen], leaves, *inputs)
    return {"h": h, "c": c}


class _Weights(NamedTuple):
    """The weights of one sweep as its two functions take them, or their gradients."""

    messages: Messages
    width: int
    form: Any


class _Call(NamedTuple):
    """One sweep but for its numbers: what it computes, over which parts of a forest."""

    form: type[Form]
    plans: list[Plan]
    layout: Layout
    gates: int
    keep: bool

    def split(self, parameters: Sequence[np.ndarray]) -> tuple[list, list]:
        """Those that a child's h is multiplied by and the ones', if any; and the others."""
        n = bool(self.form.linear) + bool(self.form.ones)
        return list(parameters[:n]), list(parameters[n:])

    def weights(self, forget: np.ndarray, bias: np.ndarray, *parameters: np.ndarray) -> _Weights:
        """Copies of all weights, side by side; a loss that somebody keeps must not keep them."""
        sent, others = self.split(parameters)
        width = sum(x.shape[-1] for x in sent[:1])
        ones = sent[1:] or [np.zeros((len(forget), width), forget.dtype)]
        by_key = np.repeat(bias, len(forget) // max(len(bias), 1), 0)
        messages = Messages(
            np.concatenate([*sent[:1], forget], -1), np.concatenate([*ones, by_key], -1)
        )
        return _Weights(messages, width, self.form.weights(self.layout.arity, others))

    def states(self, plan: Plan, weights: _Weights) -> States:
        """Room for the states of one part, not set yet."""
        nodes, (c, columns) = len(plan.types), weights.messages.weight.shape[1:]
        shapes = {
            **dict.fromkeys(("h", "c", "tanh"), (nodes + 1, c)),
            "gates": (nodes + 1, self.gates * c),
            "sent": (len(plan.sources), columns),
            "reduced": (0, 0),
            "products": (0, 0, 0),
            "partial": (0, 0),
            **self.form.room(weights.form, plan, self.keep),
        }
        dtype = weights.messages.weight.dtype
        return States(**{name: np.empty(shape, dtype) for name, shape in shapes.items()})

    def up(self, leaves: np.ndarray, bottom: np.ndarray, *parameters: np.ndarray) -> list[States]:
        """The states of each part."""
        weights = self.weights(*parameters)
        parts = [self.states(plan, weights) for plan in self.plans]
        done = 0
        for s, plan in zip(parts, self.plans, strict=True):
            count = plan.nodes[0]
            s.gates[:count, : leaves.shape[1]] = leaves[done : done + count]
            s.h[-1], s.c[-1] = bottom[:, 0]
            done += count
        with ONE_THREAD:
            pairs = zip(self.plans, parts, strict=True)
            in_parallel([partial(self.form.loops.sweep_up, plan, s, *weights) for plan, s in pairs])
        return parts

    def down(
        self,
        parts: list[States],
        gradients: list[States],
        forget: np.ndarray,
        bias: np.ndarray,
        *parameters: np.ndarray,
    ) -> list[np.ndarray]:
        """From the gradients of the states to those of what :meth:`up` was given."""
        weights = self.weights(forget, bias, *parameters)
        found = [zeros_like(weights) for _ in parts]
        each = zip(self.plans, parts, gradients, found, strict=True)
        down = self.form.loops.sweep_down
        with ONE_THREAD:
            in_parallel(
                [partial(down, p, s, *weights, d, own.messages, own.form) for p, s, d, own in each]
            )
        total, width = found[0], weights.width
        for other in found[1:]:
            add(total, other)
        sent, others = self.split(parameters)
        of_sent = [x[..., :width] for x in total.messages][: len(sent)]
        d_forget, by_key = (x[..., width:] for x in total.messages)
        places = len(forget) // max(len(bias), 1)
        d_bias = by_key.reshape(len(bias), places, bias.shape[-1]).sum(1)
        pairs, c = list(zip(gradients, self.plans, strict=True)), forget.shape[1]
        leaves = np.concatenate([d.gates[: plan.nodes[0], : 3 * c] for d, plan in pairs])
        bottom = np.sum([(d.h[-1:], d.c[-1:]) for d in gradients], 0)
        return [
            leaves,
            bottom,
            d_forget,
            d_bias,
            *of_sent,
            *self.form.gradients(total.form, others),
        ]


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, nodes: list[Tensor], *inputs: Tensor) -> tuple[Tensor, ...]:
        swept = call.up(*(x.detach().numpy() for x in inputs))
        parts = [[torch.from_numpy(x) for x in s] for s in swept]
        if call.keep:
            ctx.call, ctx.nodes, ctx.num_inputs = call, nodes, len(inputs)
            # Freed by the backward, not with h.
            ctx.save_for_backward(*inputs[2:], *itertools.chain(*parts))
        pairs = list(zip(parts, nodes, strict=True))
        return tuple(torch.cat([s[i].index_select(0, rows) for s, rows in pairs]) for i in (0, 1))

    @staticmethod
    def backward(ctx: Any, dh: Tensor, dc: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # create_graph=True; otherwise a backward records nothing
            raise RuntimeError("the levels backend has no second derivatives; backend='dgl' has")
        # Raises if a parameter was changed in place since, or if it was all freed.
        saved = [x.detach().numpy() for x in ctx.saved_tensors]
        parameters, states = saved[: ctx.num_inputs - 2], saved[ctx.num_inputs - 2 :]
        width = len(States._fields)
        parts = [States(*states[i : i + width]) for i in range(0, len(states), width)]
        gradients = [s.for_gradients() for s in parts]
        sizes = [len(rows) for rows in ctx.nodes]
        for d, rows, *given in zip(
            gradients, ctx.nodes, dh.split(sizes), dc.split(sizes), strict=True
        ):
            for x, gradient in zip(d[:2], given, strict=True):
                torch.from_numpy(x).index_add_(0, rows, gradient)
        found = ctx.call.down(parts, gradients, *parameters)
        return None, None, *map(torch.from_numpy, found)
