"""What the functions of a cell read: rows that share parameters stand together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from structnet.schedule import Stack

if TYPE_CHECKING:
    from structnet.tape import Tape

State = dict[str, Tensor]


class Rows:
    """Rows that stand in equally long runs, one for each key; each run has its own parameters.

    Parameters of all keys are stacked along their first mode, ``[num_keys, ...]``.
    """

    def __init__(self, stack: Stack, tape: Tape | None):
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

        Hand over the parameters themselves, not tensors made of them for each call: one gradient
        is computed for each tensor.

        Shapes:
            x: ``[runs, *b, length, i]``; ``*b`` is any number of modes.
            weights: ``[num_keys, *b, i, o]``, or more modes whose sizes multiply to i and o.
            output: ``[runs, *b, length, o]``, o summed over the weights.
        """
        if self._tape is None or torch.is_autocast_enabled(x.device.type):
            return torch.matmul(x, self.select(matrices(weights, x)))
        return self._tape.product(x, weights, self.stack.keys)


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

    def __init__(self, stack: Stack, src: State, tape: Tape | None = None):
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
        tape: Tape | None = None,
    ):
        super().__init__(stack, tape)
        self.tokens = tokens
        self.mailbox = mailbox
        self.owner = owner

    def sum(self, x: Tensor) -> Tensor:
        """Add up received messages by receiver: ``[slots, ...]`` -> ``[rows, ...]``."""
        return x.new_zeros(len(self.tokens), *x.shape[1:]).index_add(0, self.owner, x)
