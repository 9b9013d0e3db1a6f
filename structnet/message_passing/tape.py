"""The buffers of one sweep, which autograd would copy at each level.

Messages of all levels are in one buffer for each field, and so are the gradients of what nodes
received. Autograd would make a new buffer at each level; so these functions are hidden from it:

=================  ============================================  ==================================
function           forward                                       backward
=================  ============================================  ==================================
:class:`_Send`     writes a stack of messages into the buffers   sums up what their receivers left
:class:`_Receive`  reads the inboxes of a stack of nodes         leaves the gradients it gets
:class:`_Product`  multiplies rows by the weights of their keys  adds to the weights' gradients
:class:`_Joined`   puts weights side by side                     gives the weights these gradients
:class:`Finish`    copies the states that are returned           clears what an earlier one has left
=================  ============================================  ==================================

Autograd runs the backward pass of a function after those of all that used its output. A chain of
empty tensors ("ties") makes each send use the output of the send before it, and each receipt that
of the latest send: gradients are left before they are summed up.

Gradients of weights are added up in place, as a tree of many levels has many products with few of
many types' weights; autograd would make a gradient of all weights for each of them. Sums of
messages and of their gradients are read from lists of rows, as scattered additions would be slow on
a CPU and in random order on a GPU.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from structnet.message_passing.cell import (
    State,
    check_fields,
    check_states,
    check_sums,
    matrices,
)
from structnet.message_passing.scheduling import Inbox, Outbox, Schedule, Stack
from structnet.training.backward import refuse_second_derivatives


class Tape:
    """The buffers of one sweep and of its backward pass.

    ``buffers`` has the messages, ``left`` the gradients of what was received; both have one tensor
    for each message field.
    """

    def __init__(self, plan: Schedule, sums: frozenset[str], width: int):
        self.plan = plan
        self.sums = sums
        self.width = width
        self.buffers: dict[str, Tensor] = {}
        self.shapes: dict[str, torch.Size] = {}  # of one message
        self.left: dict[str, Tensor] = {}
        self.tie: Tensor | None = None  # output of the latest send, which orders it before the next
        # By the weights and the shape they are read in: a list for their gradients, and all of them
        # side by side.
        self.weights: dict[tuple, tuple[list[Tensor], Tensor]] = {}
        self.gradients: list[list[Tensor]] = []  # these lists, empty but in a backward pass

    def open(self, fields: State) -> None:
        """Allocates the buffers for all messages of the sweep, of which ``fields`` are examples."""
        for name, x in fields.items():
            self.buffers[name] = x.new_zeros(self.plan.num_messages, *x.shape[1:])
            self.shapes[name] = x.shape[1:]
        first = next(iter(fields.values()))
        self.tie = torch.empty(0, device=first.device)

    def close(self) -> None:
        """Releases what only the forward pass needs.

        The ties must be released: they refer to autograd functions, which refer to the tape, and
        Python's garbage collector cannot see that cycle.
        """
        self.buffers, self.weights, self.tie = {}, {}, None

    def send(self, stack: Stack, outbox: Outbox, fields: State) -> None:
        """Writes one stack of messages, each field ``[rows, ..]``, into the buffers."""
        if not self.buffers:
            check_states("message", fields)
            check_sums(self.sums, fields)
            self.open(fields)
        check_fields("message", fields, stack, self.shapes)
        in_order = [fields[name] for name in self.buffers]
        self.tie = _Send.apply(self, stack, outbox, self.tie, *in_order)

    def receive(self, stack: Stack, inbox: Inbox) -> State:
        """The mailbox of one stack of nodes, as :class:`Nodes` describes it."""
        received = _Receive.apply(self, stack, inbox, self.tie)
        return dict(zip(self.buffers, received, strict=True))

    def product(self, x: Tensor, weights: tuple[Tensor, ...], keys: Tensor | None) -> Tensor:
        """Each run of ``[runs, .., length, i]`` times the weights of its key, put side by side."""
        name = (x.dim(), x.shape[-1], *weights)  # tensors are keys by what they are, not by value
        if name not in self.weights:
            self.gradients.append([])
            joined = _Joined.apply(self.gradients[-1], x.detach(), *weights)
            self.weights[name] = self.gradients[-1], joined
        gradients, joined = self.weights[name]
        shapes = [weight.shape for weight in weights]
        return _Product.apply(gradients, shapes, keys, x, joined)


class _Send(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, tape: Tape, stack: Stack, outbox: Outbox, tie: Tensor, *fields: Tensor
    ) -> Tensor:
        ctx.tape, ctx.outbox = tape, outbox
        for buffer, x in zip(tape.buffers.values(), fields, strict=True):
            buffer[stack.first : stack.end] = x
        return tie.new_empty(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Tensor) -> tuple:
        tape, outbox = ctx.tape, ctx.outbox
        gradients = []
        for name in tape.shapes:
            receivers = outbox.rows if name in tape.sums else outbox.slots
            left = tape.left.get(name)  # None if no receiver has a gradient
            gradients.append(None if left is None else _sum_rows(left, receivers, outbox.offsets))
        if not ctx.needs_input_grad[3]:  # the first send, whose backward pass comes last
            tape.left.clear()
        return None, None, None, None, *gradients


class _Receive(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tape: Tape, stack: Stack, inbox: Inbox, tie: Tensor) -> tuple:
        ctx.tape, ctx.stack, ctx.inbox = tape, stack, inbox
        received = []
        for name, buffer in tape.buffers.items():
            if name in tape.sums:
                received.append(_sum_rows(buffer, inbox.messages, inbox.offsets))
            else:
                x = buffer.index_select(0, inbox.messages)
                received.append(x.view(-1, tape.width, *x.shape[1:]) if tape.width else x)
        return tuple(received)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple:
        tape, stack, first = ctx.tape, ctx.stack, ctx.inbox.first
        for (name, shape), gradient in zip(tape.shapes.items(), gradients, strict=True):
            if gradient is None or not (gradient.is_floating_point() or gradient.is_complex()):
                continue  # integers have no gradient
            summed = name in tape.sums
            if name not in tape.left:
                rows = tape.plan.num_rows if summed else tape.plan.num_slots
                # Zeros, as receivers whose gradients a cell stops never write theirs.
                tape.left[name] = gradient.new_zeros(rows, *shape)
            if summed:
                tape.left[name][stack.first : stack.end] = gradient
            else:
                gradient = gradient.reshape(-1, *shape)
                tape.left[name][first : first + len(gradient)] = gradient
        return None, None, None, None


class Finish(torch.autograd.Function):
    """The identity; its backward pass runs first, and clears the buffers of an earlier one.

    Raises:
        RuntimeError: the graph of the derivative is needed, for a second derivative.
    """

    @staticmethod
    def forward(ctx: Any, tape: Tape, *states: Tensor) -> tuple:
        ctx.tape = tape
        return tuple(x.clone() for x in states)  # copies, which the caller may change

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple:
        refuse_second_derivatives("the levels backend", "backend='dgl'")
        ctx.tape.left.clear()
        for of_weights in ctx.tape.gradients:
            of_weights.clear()
        return None, *gradients


class _Joined(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gradients: list[Tensor], x: Tensor, *weights: Tensor) -> Tensor:
        ctx.gradients = gradients
        ctx.set_materialize_grads(False)
        return matrices(weights, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: None) -> tuple:
        gradients = tuple(ctx.gradients)
        ctx.gradients.clear()
        return None, None, *gradients


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        gradients: list[Tensor],
        shapes: list[torch.Size],
        keys: Tensor | None,
        x: Tensor,
        joined: Tensor,
    ) -> Tensor:
        ctx.gradients, ctx.shapes, ctx.keys = gradients, shapes, keys
        ctx.save_for_backward(x, joined)
        return _typed_product(x, joined, keys)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        x, joined = ctx.saved_tensors
        if ctx.needs_input_grad[4]:
            if not ctx.gradients:
                ctx.gradients += [joined.new_zeros(shape) for shape in ctx.shapes]
            flat = [matrices([each], x) for each in ctx.gradients]
            parts = gradient.split([each.shape[-1] for each in flat], -1)
            for each, part in zip(flat, parts, strict=True):
                _add_typed_outer(each, x, part, ctx.keys)
        return None, None, None, _typed_product(gradient, joined.mH, ctx.keys), None


# On a CPU, a matrix with more entries costs more to copy than a product of its own does.
_LARGE = 4096


def _typed_product(x: Tensor, weight: Tensor, keys: Tensor | None) -> Tensor:
    """Run i of x times weight ``keys[i]``."""
    if keys is None:
        return torch.matmul(x, weight)
    if x.device.type == "cpu" and weight[0].numel() > _LARGE:
        y = x.new_empty(*x.shape[:-1], weight.shape[-1])
        for i, key in enumerate(keys.tolist()):
            torch.matmul(x[i], weight[key], out=y[i])
        return y
    return torch.matmul(x, weight.index_select(0, keys))


def _add_typed_outer(total: Tensor, x: Tensor, dy: Tensor, keys: Tensor | None) -> None:
    """Adds the gradient of :func:`_typed_product` with respect to the weight to ``total``."""
    if keys is None:
        total.flatten(0, -3).baddbmm_(x.mH.flatten(0, -3), dy.flatten(0, -3))
    elif x.device.type == "cpu" and total.dim() == 3 and total[0].numel() > _LARGE:
        for i, key in enumerate(keys.tolist()):
            total[key].addmm_(x[i].mH, dy[i])
    else:
        total.index_add_(0, keys, torch.matmul(x.mH, dy))


def _sum_rows(x: Tensor, index: Tensor, offsets: Tensor) -> Tensor:
    """Row i is the sum of the rows of x in the i-th list of ``index``."""
    flat = x.reshape(len(x), math.prod(x.shape[1:]))
    if x.is_floating_point():
        out = torch.embedding_bag(flat, index, offsets, False, 0)[0]
    else:
        sizes = torch.diff(offsets, append=offsets.new_tensor([len(index)]))
        owner = torch.arange(len(offsets), device=x.device).repeat_interleave(sizes)
        out = flat.new_zeros(len(offsets), flat.shape[1]).index_add_(0, owner, flat[index])
    return out.view(len(offsets), *x.shape[1:])
