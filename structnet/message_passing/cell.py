"""Cells, and the edges and nodes that they read, in which rows that share parameters are adjacent.

The functions of a :class:`Cell` are like DGL's user-defined functions: they read :class:`Edges` or
:class:`Nodes` and return a dictionary of tensors with one row for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from structnet.message_passing.scheduling import Layout, Stack

State = dict[str, Tensor]
Product = Callable[[Tensor, tuple[Tensor, ...], Tensor | None], Tensor]


class Rows:
    """Rows in runs of equal length; a run has one key, and its rows share the key's parameters.

    The parameters of all keys are stacked along their first mode, ``[num_keys, ...]``. A cell with
    the same parameters for all keys needs none of the functions below.

    On the backend "levels", shorter runs are filled up with rows of padding. They have the token of
    a real row and messages that others receive, or zeros, so that a cell can compute them like any
    row; no result depends on them. Only what is computed over rows, such as the mean of a batch
    normalisation, must leave them out, by ``real``. Even then it depends on the backend: each calls
    a cell with other nodes at once, and with equal subtrees once.
    """

    def __init__(self, stack: Stack, product: Product | None):
        self._stack = stack
        self._product = product

    def _real(self, device: torch.device) -> Tensor:
        stack = self._stack
        if stack.real is None:
            return torch.ones(stack.runs * stack.length, dtype=torch.bool, device=device)
        return torch.from_numpy(stack.real[stack.first : stack.end]).to(device)

    def split(self, x: Tensor) -> Tensor:
        """Separates the runs: ``[rows, ...]`` -> ``[runs, length, ...]``."""
        return x.reshape(self._stack.runs, self._stack.length, *x.shape[1:])

    def join(self, x: Tensor) -> Tensor:
        """The inverse of :meth:`split`: ``[runs, length, ...]`` -> ``[rows, ...]``."""
        return x.reshape(-1, *x.shape[2:])

    def select(self, parameter: Tensor) -> Tensor:
        """The parameter of each run: ``[num_keys, ...]`` -> ``[runs, ...]``."""
        keys = self._stack.keys
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
        return self._product(x, weights, self._stack.keys)


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

    A cell may also have ``sums``, the names of the message fields of which a node only needs the
    sum over its children (by default none), and a function ``bottom()``, which gives the state of a
    missing child, ``[1, ..]`` (by default zeros like the state of a leaf).

    Attributes:
        layout: layout of the schedule that the cell needs.
    """

    layout: Layout

    def leaf(self, nodes: Nodes) -> State:
        """The states of leaves without a type, from their tokens, ``[rows, ..]``."""
        ...

    def message(self, edges: Edges) -> State:
        """The message of each child to its parent, from the child's state, ``edges.src``."""
        ...

    def reduce(self, nodes: Nodes) -> State:
        """The states of nodes with a type, from ``nodes.mailbox`` and their tokens."""
        ...


PARTS = {"layout": "layout", **{name: f"{name}()" for name in ("leaf", "message", "reduce")}}


def check_cell(cell: Any) -> None:
    """Checks that a cell has all that a sweep calls.

    Raises:
        TypeError: something is missing, or the layout or ``sums`` is of another kind.
    """
    kind = cell.__name__ if isinstance(cell, type) else type(cell).__name__
    if isinstance(cell, type):
        raise TypeError(f"a cell must be an object; got the class {kind}, expected {kind}(...)")
    missing = [meaning for name, meaning in PARTS.items() if not hasattr(cell, name)]
    if missing:
        raise TypeError(
            f"a cell must have {', '.join(PARTS.values())}, and may have sums and bottom(); "
            f"{kind} has no {', '.join(missing)}"
        )
    if not isinstance(cell.layout, Layout):
        raise TypeError(
            "the layout of a cell must be a structnet.message_passing.Layout; got "
            f"{type(cell.layout).__name__}"
        )
    for name in ("leaf", "message", "reduce", "bottom"):
        if not callable(getattr(cell, name, check_cell)):
            raise TypeError(f"{name} of a cell must be a function; got {getattr(cell, name)!r:.60}")
    sums = getattr(cell, "sums", ())
    if isinstance(sums, str) or not isinstance(sums, Iterable):
        kind = "the text " * isinstance(sums, str)
        raise TypeError(f"sums of a cell must be a set of names; got {kind}{sums!r:.60}")


def sums_of(cell: Cell) -> frozenset[str]:
    """The names of the message fields of which a node only needs the sum."""
    return frozenset(getattr(cell, "sums", ()))


def bottom_of(cell: Cell, leaves: State | None) -> State:
    """The state of a missing child, ``[1, ..]``.

    Args:
        leaves: states of leaves, which show the shapes; None if there are none.

    Raises:
        ValueError: there are no leaves, and the cell has no ``bottom``, or this gives other than
            one row of each field.
    """
    if hasattr(cell, "bottom"):
        bottom = cell.bottom()
        check_states("bottom", bottom)
        if any(x.dim() == 0 or len(x) != 1 for x in bottom.values()):
            got = {name: list(x.shape) for name, x in bottom.items()}
            raise ValueError(f"bottom() of a cell must return one row, [1, ..]; got {got}")
        return bottom
    if leaves is None:
        raise ValueError(
            "all nodes of the forest have a type, so that no leaf() shows the shapes of states; "
            f"expected that {type(cell).__name__} has bottom(), which gives a row of zeros"
        )
    check_states("leaf", leaves)
    return {name: x.new_zeros(1, *x.shape[1:]) for name, x in leaves.items()}


def check_states(function: str, fields: Any) -> None:
    """Checks that a function of a cell returned a dictionary of tensors.

    Raises:
        TypeError: it did not.
    """
    known = isinstance(fields, Mapping) and fields
    if not known or not all(isinstance(x, Tensor) for x in fields.values()):
        raise TypeError(
            f"{function}() of a cell must return a dictionary of tensors; got {fields!r:.60}"
        )


def check_fields(
    function: str, fields: State, stack: Stack, shapes: Mapping[str, Sequence[int]]
) -> None:
    """Checks what a function of a cell returned for a stack.

    Args:
        function: name of the function.
        shapes: shape of one row of each field.

    Raises:
        TypeError: it is not a dictionary of tensors.
        ValueError: a field is missing, there are others, or a shape is wrong.
    """
    check_states(function, fields)
    wanted = {name: [stack.runs * stack.length, *shape] for name, shape in shapes.items()}
    got = {name: list(x.shape) for name, x in fields.items()}
    if got != wanted:
        hint = ""
        if function == "reduce" and got.keys() == wanted.keys():
            hint = "; nodes.sum(x) adds up the messages of each node"
        raise ValueError(f"{function}() of a cell must return the shapes {wanted}; got {got}{hint}")


def check_sums(sums: frozenset[str], message: State) -> None:
    """Checks that each field to sum is one of a message.

    Raises:
        ValueError: one is not.
    """
    unknown = sorted(map(repr, sums - message.keys()))
    if unknown:
        raise ValueError(
            f"sums of a cell must be names of fields of its messages, which are "
            f"{', '.join(map(repr, message))}; got {', '.join(unknown)}"
        )


def shapes_of(rows: State) -> dict[str, torch.Size]:
    """The shape of one row of each field."""
    return {name: x.shape[1:] for name, x in rows.items()}


def example_message(cell: Cell, bottom: State) -> State:
    """One row of each message field, ``[1, ..]``, which shows the shapes before any is sent."""
    # Any key will do, as all messages of a field have the same shape.
    key = torch.zeros(1, dtype=torch.long, device=next(iter(bottom.values())).device)
    with torch.no_grad():
        message = cell.message(Edges(Stack(1, 1, key, 0), bottom))
    check_states("message", message)
    check_sums(sums_of(cell), message)
    return message
