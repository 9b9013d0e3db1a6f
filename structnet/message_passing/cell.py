"""Cells, and the edges and nodes that they read, in which rows that share parameters are adjacent.

The functions of a :class:`Cell` are like DGL's user-defined functions: they read :class:`Edges` or
:class:`Nodes` and return a dictionary of tensors with one row for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from structnet.message_passing.scheduling import Layout, Stack

State = dict[str, Tensor]
Product = Callable[[Tensor, tuple[Tensor, ...], Tensor | None], Tensor]


class Rows:
    """Rows in runs of equal length; a run has one key, and its rows share the key's parameters.

    The parameters of all keys are stacked along their first mode, ``[num_keys, ...]``.

    On the backend "levels", shorter runs are filled up with rows of padding. They have the token of
    a real row and messages that others receive, or zeros, so that a cell can compute them like any
    row; no result depends on them. Only what is computed over rows, such as the mean of a batch
    normalisation, must leave them out, by ``real``. Even then it depends on the backend: each calls
    a cell with other nodes at once, and with equal subtrees once.

    Attributes:
        plain: True on the reference backend, where a cell must use plain torch operations only, so
            that autograd can compute derivatives of any order.
    """

    def __init__(self, stack: Stack, product: Product | None):
        self.stack = stack
        self.plain = product is None
        self._product = product

    def _real(self, device: torch.device) -> Tensor:
        stack = self.stack
        if stack.real is None:
            return torch.ones(stack.runs * stack.length, dtype=torch.bool, device=device)
        return torch.from_numpy(stack.real[stack.first : stack.end]).to(device)

    def split(self, x: Tensor) -> Tensor:
        """Separates the runs: ``[rows, ...]`` -> ``[runs, length, ...]``."""
        return x.reshape(self.stack.runs, self.stack.length, *x.shape[1:])

    def join(self, x: Tensor) -> Tensor:
        """The inverse of :meth:`split`: ``[runs, length, ...]`` -> ``[rows, ...]``."""
        return x.reshape(-1, *x.shape[2:])

    def select(self, parameter: Tensor) -> Tensor:
        """The parameter of each run: ``[num_keys, ...]`` -> ``[runs, ...]``."""
        keys = self.stack.keys
        return parameter if keys is None else parameter.index_select(0, keys)

    def product(self, x: Tensor, *weights: Tensor) -> Tensor:
        """Each row times the matrix of its key; the products with several weights are side by side.

        Pass the parameters themselves, not tensors that are computed from them in each call: the
        gradient of each tensor is computed once for the whole sweep.

        Shapes:
            x: ``[runs, *b, length, i]``; ``*b`` is any number of modes.
            weights: ``[num_keys, *b, i, o]``, or more modes whose sizes multiply to i and o.
            output: ``[runs, *b, length, o]``, where o is the sum over the weights.
        """
        if self._product is None or torch.is_autocast_enabled(x.device.type):
            return torch.matmul(x, self.select(matrices(weights, x)))
        return self._product(x, weights, self.stack.keys)


def matrices(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """Weights reshaped to multiply the last mode of x, side by side: ``[num_keys, *b, i, o]``."""
    shape = (*weights[0].shape[: x.dim() - 2], x.shape[-1], -1)
    flat = [weight.reshape(shape) for weight in weights]
    return flat[0] if len(flat) == 1 else torch.cat(flat, -1)


class Edges(Rows):
    """Edges from children to parents; those of a run have the same parent's type and place.

    Attributes:
        src: states of the children, each field ``[rows, ...]``.
    """

    def __init__(self, stack: Stack, src: State, product: Product | None = None):
        super().__init__(stack, product)
        self.src = src

    @property
    def real(self) -> Tensor:
        """A mask, ``[rows]``: False for rows of padding."""
        return self._real(next(iter(self.src.values())).device)


class Nodes(Rows):
    """Nodes to compute; those of a run have the same type.

    Attributes:
        tokens: token of each node, ``[rows]``; -1 for a node that has none.
        mailbox: received messages by field: summed, ``[rows, ...]``, if the field is named in the
            cell's ``sums``; in order of place, ``[rows, arity, ...]``, if the cell pads; otherwise
            one row for each message, ``[slots, ...]``.
        owner: row that received each of these messages, ``[slots]``; :meth:`sum` adds them up.
    """

    def __init__(
        self,
        stack: Stack,
        tokens: Tensor,
        mailbox: State,
        owner: Tensor | None = None,
        product: Product | None = None,
    ):
        super().__init__(stack, product)
        self.tokens = tokens
        self.mailbox = mailbox
        self.owner = owner

    @property
    def real(self) -> Tensor:
        """A mask, ``[rows]``: False for rows of padding."""
        return self._real(self.tokens.device)

    def sum(self, x: Tensor) -> Tensor:
        """Sums received messages by receiver: ``[slots, ...]`` -> ``[rows, ...]``."""
        return x.new_zeros(len(self.tokens), *x.shape[1:]).index_add(0, self.owner, x)  # type: ignore[arg-type]  # pads? then no owner, and no sum


class Cell(Protocol):
    """What :func:`structnet.message_passing.propagate` runs: an ``nn.Module`` or any other object.

    Attributes:
        layout: layout of the schedule that the cell needs.
        sums: names of the message fields of which a node only needs the sum over its children.
    """

    layout: Layout
    sums: frozenset[str]

    def leaf(self, nodes: Nodes) -> State:
        """The states of leaves without a type, from their tokens, ``[rows, ..]``."""
        ...

    def bottom(self) -> State:
        """The state of a missing child, ``[1, ..]``; zeros for a cell that does not pad."""
        ...

    def message(self, edges: Edges) -> State:
        """The message of each child to its parent, from the child's state, ``edges.src``."""
        ...

    def reduce(self, nodes: Nodes) -> State:
        """The states of nodes with a type, from ``nodes.mailbox`` and their tokens."""
        ...


def check_fields(
    function: str, fields: State, stack: Stack, shapes: Mapping[str, Sequence[int]]
) -> None:
    """Checks what a function of a cell returned for a stack.

    Args:
        function: name of the function.
        shapes: shape of one row of each field.

    Raises:
        ValueError: a field is missing, there are others, or a shape is wrong.
    """
    wanted = {name: [stack.runs * stack.length, *shape] for name, shape in shapes.items()}
    found = {name: list(x.shape) for name, x in fields.items()}
    if found != wanted:
        raise ValueError(f"{function}() of a cell must return the shapes {wanted}; got {found}")


def example_message(cell: Cell) -> State:
    """One row of each message field, ``[1, ..]``, which shows the shapes before any is sent."""
    bottom = cell.bottom()
    # Any key will do, as all messages of a field have the same shape.
    key = torch.zeros(1, dtype=torch.long, device=next(iter(bottom.values())).device)
    with torch.no_grad():
        return cell.message(Edges(Stack(1, 1, key, 0), bottom))
