"""Level-by-level message passing over a forest, differentiable, in time and memory linear in it.

A cell is an ``nn.Module`` (or any object) in the style of DGL's user-defined functions; it reads
:class:`Edges` and :class:`Nodes` and gives dictionaries of tensors with one row each:

- ``layout``: the :class:`~structnet.schedule.Layout` it asks for;
- ``sums``: names of message fields that are only ever summed over a node's children;
- ``leaf(nodes)``: the state of nodes without a type, from their tokens;
- ``bottom()``: the state of a missing child, one row (cells that do not pad give zeros);
- ``message(edges)``: what a child sends to its parent, from ``edges.src``, the child's state;
- ``reduce(nodes)``: the state of typed nodes, from ``nodes.mailbox`` and their tokens.

The same functions run on two backends. ``"dgl"`` is the reference, plain DGL message passing and
plain autograd. ``"levels"`` computes a whole level at once and each distinct message once. Its
messages lie in one buffer for the whole sweep, which autograd cannot follow without copying it at
each level; three small autograd functions do instead, tied by empty tensors ("ties") that make
the engine run them in the right order:

- :class:`_Send` writes a level's messages into the buffer; its backward pulls, for each message,
  the gradients of those who received it;
- :class:`_Receive` reads a level's inboxes; its backward leaves their gradients for _Send to pull;
- :class:`_Product` multiplies by typed weights; its backward leaves its factors to
  :class:`_WeightGradient`, which computes one weight gradient for the whole sweep, not one a level.

Pulling in both directions needs no scattered addition, which is slow on a CPU and in random
order on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from structnet.graph import Forest
from structnet.schedule import Inbox, Layout, Outbox, Schedule, Stack, schedule

State = dict[str, Tensor]

__all__ = ["Cell", "Edges", "Nodes", "Rows", "propagate"]


class Rows:
    """Rows that stand in equally long runs, one for each key; each run has its own parameters.

    Parameters of all keys are stacked along their first mode, ``[num_keys, ...]``.
    """

    def __init__(self, stack: Stack, tape: _Tape | None):
        self.stack = stack
        self._tape = tape

    def split(self, x: Tensor) -> Tensor:
        """Rows by run: ``[rows, ...]`` -> ``[runs, length, ...]``."""
        return x.reshape(self.stack.runs, self.stack.length, *x.shape[1:])

    def join(self, x: Tensor) -> Tensor:
        """The inverse: ``[runs, length, ...]`` -> ``[rows, ...]``."""
        return x.reshape(-1, *x.shape[2:])

    def select(self, parameter: Tensor) -> Tensor:
        """The parameter of each run: ``[num_keys, ...]`` -> ``[runs, ...]``."""
        keys = self.stack.keys
        return parameter if keys is None else parameter.index_select(0, keys)

    def product(self, x: Tensor, *weights: Tensor) -> Tensor:
        """Each row times its own key's matrix; several matrices stand side by side.

        Shapes:
            x: ``[runs, *b, length, i]``; ``*b`` is any number of modes.
            weights: ``[num_keys, *b, i, o]``.
            output: ``[runs, *b, length, o]``, o summed over the weights.
        """
        if self._tape is None or torch.is_autocast_enabled(x.device.type):
            weight = weights[0] if len(weights) == 1 else torch.cat(weights, -1)
            return torch.matmul(x, self.select(weight))
        return self._tape.product(x, weights, self.stack.keys)


class Edges(Rows):
    """Children on their way up; a run holds the edges of one kind (parent's type and place).

    Attributes:
        src: the children's states, each ``[rows, ...]``.
    """

    def __init__(self, stack: Stack, src: State, tape: _Tape | None = None):
        super().__init__(stack, tape)
        self.src = src


class Nodes(Rows):
    """Nodes about to be computed; a run holds nodes of one type.

    Attributes:
        tokens: ``[rows]``, -1 for none.
        mailbox: what they received: fields named in ``sums`` summed, ``[rows, ...]``; others
            ``[rows, arity, ...]`` in order of place for a cell that pads, else one row a received
            message, ``[slots, ...]``, which ``owner`` assigns to rows and :meth:`sum` adds up.
    """

    def __init__(
        self,
        stack: Stack,
        tokens: Tensor,
        mailbox: State,
        owner: Tensor | None = None,
        tape: _Tape | None = None,
    ):
        super().__init__(stack, tape)
        self.tokens = tokens
        self.mailbox = mailbox
        self.owner = owner

    def sum(self, x: Tensor) -> Tensor:
        """Add up received messages by receiver: ``[slots, ...]`` -> ``[rows, ...]``."""
        return x.new_zeros(len(self.tokens), *x.shape[1:]).index_add(0, self.owner, x)


class Cell(Protocol):
    """What :func:`propagate` runs; see the head of this module."""

    layout: Layout
    sums: frozenset[str]

    def leaf(self, nodes: Nodes) -> State: ...
    def bottom(self) -> State: ...
    def message(self, edges: Edges) -> State: ...
    def reduce(self, nodes: Nodes) -> State: ...


def propagate(
    forest: Forest,
    cell: Cell,
    nodes: Sequence[int] | np.ndarray | None = None,
    backend: str = "levels",
) -> State:
    """Run a cell from the leaves to the roots and give the states of the roots.

    Args:
        forest: what to run over.
        cell: the functions to run.
        nodes: numbers of the nodes whose states to give; by default ``forest.roots``.
        backend: "levels", or "dgl" for the reference.

    Shapes:
        output: each field ``[len(nodes), ...]``.

    Raises:
        GraphError: the forest has types or places that the cell does not have.
        ValueError: an unknown backend.
    """
    nodes = forest.roots if nodes is None else np.asarray(nodes, np.int64)
    if backend == "levels":
        return _by_levels(forest, cell, nodes)
    if backend == "dgl":
        from structnet.propagate_dgl import by_dgl

        return by_dgl(forest, cell, nodes)
    raise ValueError(f"backend must be 'levels' or 'dgl'; got {backend!r}")


def _by_levels(forest: Forest, cell: Cell, nodes: np.ndarray) -> State:
    plan = schedule(forest, cell.layout)
    tape = _Tape(plan, cell)
    try:
        computed = _sweep(plan, cell, tape)
    finally:
        tape.close()
    rows = torch.from_numpy(plan.row[nodes]).to(forest.device)
    final = {name: x.index_select(0, rows) for name, x in _concatenate(computed).items()}
    return dict(zip(final, _Finish.apply(tape, *final.values()), strict=True))


def _sweep(plan: Schedule, cell: Cell, tape: _Tape) -> list[State]:
    """The states of each level, from the leaves up."""
    blocks = [cell.bottom()]
    if len(plan.leaf_tokens):
        leaves = Stack(1, len(plan.leaf_tokens), None, 0)
        blocks.insert(0, cell.leaf(Nodes(leaves, plan.leaf_tokens, {})))
    if plan.num_rows and not plan.levels[0].messages:
        tape.open(example_message(cell))
    computed: list[State] = []
    for level in plan.levels:
        for stack, inbox, tokens in level.nodes:
            mailbox = tape.receive(stack, inbox)
            blocks.append(cell.reduce(Nodes(stack, tokens, mailbox, inbox.owner, tape)))
        if not blocks:  # no typed leaves: level 1 is empty
            continue
        states = _concatenate(blocks)
        for stack, outbox in level.messages:
            src = {name: x.index_select(0, outbox.sources) for name, x in states.items()}
            tape.send(stack, outbox, cell.message(Edges(stack, src, tape)))
        computed.append(states)
        blocks = []
    return computed


def example_message(cell: Cell) -> State:
    """One row of each message field, for their shapes: the first receivers may receive nothing."""
    bottom = cell.bottom()
    key = torch.zeros(1, dtype=torch.long, device=next(iter(bottom.values())).device)
    with torch.no_grad():
        return cell.message(Edges(Stack(1, 1, key, 0), bottom))


def _concatenate(blocks: list[State]) -> State:
    if len(blocks) == 1:
        return blocks[0]
    return {name: torch.cat([block[name] for block in blocks]) for name in blocks[0]}


class _Tape:
    """The buffers of one sweep, and what its backward leaves for later.

    ``buffers`` hold the messages; ``left`` holds the gradients of what was received. Both have
    one tensor a message field.
    """

    def __init__(self, plan: Schedule, cell: Cell):
        self.plan = plan
        self.sums = cell.sums
        self.width = cell.layout.arity if cell.layout.pads else 0
        self.buffers: dict[str, Tensor] = {}
        self.shapes: dict[str, torch.Size] = {}  # of one message
        self.left: dict[str, Tensor] = {}
        self.tie: Tensor | None = None  # of the last send: what must come after it in forward
        # By the ids of the weights: the weights, the same side by side, their tie.
        self.weights: dict[tuple, tuple[tuple[Tensor, ...], Tensor, Tensor]] = {}
        self.factors: dict[tuple, list[tuple[Tensor, Tensor, Tensor | None]]] = {}

    def open(self, fields: State) -> None:
        for name, x in fields.items():
            self.buffers[name] = x.new_empty(self.plan.num_messages, *x.shape[1:])
            self.shapes[name] = x.shape[1:]
        first = next(iter(fields.values()))
        self.tie = first.new_empty(0, requires_grad=torch.is_grad_enabled())

    def close(self) -> None:
        """Let go of what only the forward needs.

        The ties must go: they know the autograd functions, which know the tape, and Python's
        garbage collector cannot see through that circle.
        """
        self.buffers, self.weights, self.tie = {}, {}, None

    def send(self, stack: Stack, outbox: Outbox, fields: State) -> None:
        if not self.buffers:
            self.open(fields)
        self.tie = _Send.apply(self, stack, outbox, self.tie, *fields.values())

    def receive(self, stack: Stack, inbox: Inbox) -> State:
        received = _Receive.apply(self, stack, inbox, self.tie)
        return dict(zip(self.buffers, received, strict=True))

    def product(self, x: Tensor, weights: tuple[Tensor, ...], keys: Tensor | None) -> Tensor:
        name = tuple(map(id, weights))
        if name not in self.weights:
            with torch.no_grad():
                joined = weights[0] if len(weights) == 1 else torch.cat(weights, -1)
            tie = _WeightGradient.apply(self, name, *weights)
            # Holding the weights keeps their ids their own.
            self.weights[name] = (weights, joined.detach(), tie)
        _, joined, tie = self.weights[name]
        return _Product.apply(self, name, keys, tie, x, joined)


class _Send(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tape: _Tape, stack: Stack, outbox: Outbox, tie: Tensor, *fields: Tensor):
        ctx.tape, ctx.outbox = tape, outbox
        for buffer, x in zip(tape.buffers.values(), fields, strict=True):
            buffer[stack.first : stack.end] = x
        return tie.new_empty(0)

    @staticmethod
    def backward(ctx, _: Tensor):
        tape, outbox = ctx.tape, ctx.outbox
        gradients = []
        for name in tape.shapes:
            receivers = outbox.rows if name in tape.sums else outbox.slots
            gradients.append(_sum_rows(tape.left[name], receivers, outbox.offsets))
        return None, None, None, None, *gradients


class _Receive(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tape: _Tape, stack: Stack, inbox: Inbox, tie: Tensor):
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
    def backward(ctx, *gradients: Tensor):
        tape, stack, first = ctx.tape, ctx.stack, ctx.inbox.first
        for (name, shape), gradient in zip(tape.shapes.items(), gradients, strict=True):
            summed = name in tape.sums
            if name not in tape.left:
                rows = tape.plan.num_rows if summed else tape.plan.num_slots
                # Every row is written: all states reach _Finish, so all receivers come by here.
                tape.left[name] = gradient.new_empty(rows, *shape)
            if summed:
                tape.left[name][stack.first : stack.end] = gradient
            else:
                gradient = gradient.reshape(-1, *shape)
                tape.left[name][first : first + len(gradient)] = gradient
        return None, None, None, None


class _Finish(torch.autograd.Function):
    """The identity; its backward runs first and clears what an earlier one left."""

    @staticmethod
    def forward(ctx, tape: _Tape, *states: Tensor):
        ctx.tape = tape
        return tuple(x.view_as(x) for x in states)

    @staticmethod
    def backward(ctx, *gradients: Tensor):
        ctx.tape.left.clear()
        ctx.tape.factors.clear()
        return None, *gradients


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx,
        tape: _Tape,
        name: tuple,
        keys: Tensor | None,
        tie: Tensor,
        x: Tensor,
        weight: Tensor,
    ):
        ctx.tape, ctx.name, ctx.keys = tape, name, keys
        ctx.save_for_backward(x, weight)
        return _typed_product(x, weight, keys)

    @staticmethod
    def backward(ctx, gradient: Tensor):
        x, weight = ctx.saved_tensors
        ctx.tape.factors.setdefault(ctx.name, []).append((x, gradient, ctx.keys))
        return None, None, None, None, _typed_product(gradient, weight.mT, ctx.keys), None


class _WeightGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tape: _Tape, name: tuple, *weights: Tensor):
        ctx.tape, ctx.name = tape, name
        ctx.shapes = [weight.shape for weight in weights]
        return weights[0].new_empty(0)

    @staticmethod
    def backward(ctx, tie: Tensor):
        factors = ctx.tape.factors.pop(ctx.name, [])
        few, many, parts = [], [], []
        for x, dy, keys in factors:
            if keys is not None:
                parts.append((x, dy, keys))
            elif x.numel() + dy.numel() < sum(shape.numel() for shape in ctx.shapes):
                few.append((x, dy))  # cheaper to join than to add to every weight
            else:
                many.append((x, dy))
        if few:
            many.append(tuple(torch.cat(same, -2) for same in zip(*few, strict=True)))
        gradients = []
        begin = 0
        for shape in ctx.shapes:
            columns = slice(begin, begin + shape[-1])
            begin = columns.stop
            gradient = None
            for x, dy in many:
                gradient = _add_outer(gradient, x, dy[..., columns])
            if gradient is None:
                gradient = tie.new_zeros(shape)
            for x, dy, keys in parts:
                _add_typed_outer(gradient, x, dy[..., columns], keys)
            gradients.append(gradient)
        return None, None, *gradients


# Above this many entries a matrix on the CPU costs more to copy than to multiply by on its own.
_LARGE = 4096


def _typed_product(x: Tensor, weight: Tensor, keys: Tensor | None) -> Tensor:
    """Run i of x times the keys[i]-th weight."""
    if keys is None:
        return torch.matmul(x, weight)
    if x.device.type == "cpu" and weight[0].numel() > _LARGE:
        y = x.new_empty(*x.shape[:-1], weight.shape[-1])
        for i, key in enumerate(keys.tolist()):
            torch.matmul(x[i], weight[key], out=y[i])
        return y
    return torch.matmul(x, weight.index_select(0, keys))


def _add_outer(total: Tensor | None, x: Tensor, dy: Tensor) -> Tensor:
    """``total + x' dy`` for each key, in place."""
    if total is None:
        return torch.matmul(x.mT, dy)
    total.flatten(0, -3).baddbmm_(x.mT.flatten(0, -3), dy.flatten(0, -3))
    return total


def _add_typed_outer(total: Tensor, x: Tensor, dy: Tensor, keys: Tensor) -> None:
    """Add the gradient of :func:`_typed_product` with respect to its weight."""
    if x.device.type == "cpu" and total.dim() == 3 and total[0].numel() > _LARGE:
        for i, key in enumerate(keys.tolist()):
            total[key].addmm_(x[i].mT, dy[i])
    else:
        total.index_add_(0, keys, torch.matmul(x.mT, dy))


def _sum_rows(x: Tensor, index: Tensor, offsets: Tensor) -> Tensor:
    """Row i is the sum of the rows of x that the i-th list of ``index`` names."""
    flat = x.flatten(1)
    out = torch.embedding_bag(flat, index, offsets, False, 0)[0]
    return out.view(len(offsets), *x.shape[1:])
