"""What a cell is, and what its functions read: rows that share parameters stand together.

A :class:`Cell` has functions in the style of DGL's user-defined ones; they read :class:`Edges` and
:class:`Nodes` and give dictionaries of tensors with one row each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from structnet.message_passing.scheduling import Layout, Stack

State = dict[str, Tensor]
Product = Callable[[Tensor, tuple[Tensor, ...], Tensor | None], Tensor]


class Rows:
    """Rows that stand in equally long runs, one for each key; each run has its own parameters.

    Parameters of all keys are stacked along their first mode, ``[num_keys, ...]``.

    Attributes:
        plain: True on the reference backend: whatever a cell computes there is to be made of plain
            torch operations, so that autograd can differentiate it as often as it is asked to.
    """

    def __init__(self, stack: Stack, product: Product | None):
        self.stack = stack
        self.plain = product is None
        self._product = product

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

        Hand over the parameters themselves, not tensors made of them for each call: one gradient
        is computed for each tensor.

        Shapes:
            x: ``[runs, *b, length, i]``; ``*b`` is any number of modes.
            weights: ``[num_keys, *b, i, o]``, or more modes whose sizes multiply to i and o.
            output: ``[runs, *b, length, o]``, o summed over the weights.
        """
        if self._product is None or torch.is_autocast_enabled(x.device.type):
            return torch.matmul(x, self.select(matrices(weights, x)))
        return self._product(x, weights, self.stack.keys)


def matrices(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """Weights as matrices for the last mode of x, side by side: ``[num_keys, *b, i, o]``."""
    shape = (*weights[0].shape[: x.dim() - 2], x.shape[-1], -1)
    flat = [weight.reshape(shape) for weight in weights]
    return flat[0] if len(flat) == 1 else torch.cat(flat, -1)


class Edges(Rows):
    """Children on their way up; a run holds the edges of one kind (parent's type and place).

    Attributes:
        src: the children's states, each ``[rows, ...]``.
    """

    def __init__(self, stack: Stack, src: State, product: Product | None = None):
        super().__init__(stack, product)
        self.src = src


class Nodes(Rows):
    """Nodes about to be computed; a run holds nodes of one type.

    Attributes:
        tokens: ``[rows]``, -1 for none.
        mailbox: the messages they received: fields named in ``sums`` summed, ``[rows, ...]``;
            others ``[rows, arity, ...]`` in order of place for a cell that pads, else one row a
            received message, ``[slots, ...]``, which ``owner`` assigns to rows and :meth:`sum` adds
            up.
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

    def sum(self, x: Tensor) -> Tensor:
        """Add up received messages by receiver: ``[slots, ...]`` -> ``[rows, ...]``."""
        return x.new_zeros(len(self.tokens), *x.shape[1:]).index_add(0, self.owner, x)  # type: ignore[arg-type]  # pads? then no owner, and no sum


class Cell(Protocol):
    """What :func:`structnet.message_passing.propagate` runs: an ``nn.Module``, or any object.

    Attributes:
        layout: the schedule it asks for.
        sums: names of message fields that are only ever summed over a node's children.
    """

    layout: Layout
    sums: frozenset[str]

    def leaf(self, nodes: Nodes) -> State:
        """The state of nodes without a type, from their tokens, ``[rows, ..]``."""
        ...

    def bottom(self) -> State:
        """The state of a missing child, ``[1, ..]``; a cell that does not pad gives zeros."""
        ...

    def message(self, edges: Edges) -> State:
        """What a child sends to its parent, from ``edges.src``, the child's state."""
        ...

    def reduce(self, nodes: Nodes) -> State:
        """The state of typed nodes, from ``nodes.mailbox`` and their tokens."""
        ...


def example_message(cell: Cell) -> State:
    """One row of each message field, ``[1, ..]``: the first receivers may receive nothing."""
    bottom = cell.bottom()
    # Any key will do, as all messages of a field are alike in shape.
    key = torch.zeros(1, dtype=torch.long, device=next(iter(bottom.values())).device)
    with torch.no_grad():
        return cell.message(Edges(Stack(1, 1, key, 0), bottom))
