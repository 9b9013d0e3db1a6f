"""The full tensor: every product of the children's entries has a weight of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from structnet.message_passing.cell import Edges, Nodes
from structnet.tensor_tree.aggregators.base import HIDDEN_MOMENT, Aggregator, homogeneous_moments
from structnet.tensor_tree.aggregators.contraction import multilinear
from structnet.tensor_tree.parameters import allocate

A = TypeVar("A", bound=Aggregator)


class FullTensor(Aggregator):
    """``y(k) = sum T(i, j_1, .., j_L, k) xbar(i) hbar_1(j_1) .. hbar_L(j_L)``.

    Args: those of :class:`~structnet.tensor_tree.aggregators.base.Aggregator`.

    Shapes:
        tensor: ``[num_types, (input_size + 1), (c + 1)^L.., G c]``; the input's mode only if there
            is one. The gates share these modes, and are side by side in the last one.

    Reference: Castellana and Bacciu, IJCNN 2020, Eq. (4).

    Example:
        >>> from structnet import TreeLSTM
        >>> sizes = {"num_types": 4, "arity": 5, "inputs": torch.eye(10)}
        >>> encoder = TreeLSTM(5, **sizes, aggregator=FullTensor)
        >>> FullTensor.count(5, arity=5)  # parameters of one gate of one type
        38880
    """

    name = "full"
    tensor: nn.Parameter

    def __init__(self, *args: int, **kwargs: int):
        super().__init__(*args, **kwargs)
        sizes = [n + 1 for n in self.mode_sizes]
        shape = (self.num_types, *sizes, self.gates * self.hidden_size)
        self.shapes = allocate(self, {"tensor": shape})
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draws the initial weights."""
        sizes = self.mode_sizes
        variance = homogeneous_moments(sizes)
        for mode, n in enumerate(sizes):
            # The entries of h are smaller than one, so their weights are larger.
            moment = 1 if self.input_size and mode == 0 else HIDDEN_MOMENT
            scale = torch.ones(n + 1)
            scale[:n] = 1 / moment
            variance = variance * scale.view(-1, *[1] * (len(sizes) - mode - 1))
        self.tensor.normal_().mul_(variance.sqrt().unsqueeze(-1))

    @classmethod
    def _count_inner(cls, c: int, L: int, r: int) -> int:
        return (c + 1) ** L * c

    @classmethod
    def _count_outer(cls, c: int, r: int) -> int:
        return 0

    def numbers_a_node(self) -> int:
        return math.prod(self.shapes["tensor"][1:])

    def message_weight(self) -> None:
        return None

    def message(self, edges: Edges, z: Tensor) -> Tensor:
        return F.pad(z, (0, 1), value=1.0)  # hbar

    def input_mode(self, nodes: Nodes, x: Tensor) -> Tensor:
        return F.pad(x, (0, 1), value=1.0)

    def reduce(self, nodes: Nodes, received: Tensor, x: Tensor | None) -> Sequence[Tensor]:
        modes = [mode.unsqueeze(2) for mode in self._all_modes(nodes, received, x)]
        y = multilinear(nodes, modes, self.tensor)  # [runs, 1, length, G c]
        return y.squeeze(1).unflatten(-1, (self.gates, -1)).unbind(-2)

    def to_full(self) -> Tensor:
        return self.tensor.unflatten(-1, (self.gates, -1)).movedim(-2, 1)

    @classmethod
    def from_full(cls, tensor: Tensor, input_size: int = 0) -> FullTensor:
        """The aggregator whose :meth:`to_full` is ``tensor``.

        Shapes:
            tensor ``[num_types, G, (input_size + 1), (c + 1)^L.., c]``.

        Raises:
            ValueError: the tensor's modes are not those of an aggregator.
        """
        return from_dense(cls, tensor, input_size)

    def load_full(self, tensor: Tensor) -> None:
        self.tensor = nn.Parameter(tensor.movedim(1, -2).flatten(-2).clone())


def from_dense(cls: type[A], tensor: Tensor, input_size: int, **kwargs: int) -> A:
    """An aggregator of class ``cls`` that represents a dense tensor.

    Shapes:
        tensor: ``[num_types, G, .., c]``, as from :meth:`Aggregator.to_full`.

    Raises:
        ValueError: the tensor's modes are not those of an aggregator.
    """
    num_types, gates, *modes, c = tensor.shape if tensor.dim() > 3 else (0, 0, 0, 0)
    children = modes[1:] if input_size else modes
    if set(children) != {c + 1} or (input_size and modes[0] != input_size + 1):
        raise ValueError(
            f"a full tensor has shape [num_types, gates, (input_size + 1,) (c + 1) a child, c]; "
            f"got {list(tensor.shape)} with input_size={input_size}"
        )
    aggregator = cls(
        hidden_size=c,
        arity=len(children),
        num_types=num_types,
        gates=gates,
        input_size=input_size,
        **kwargs,
    ).to(tensor)
    aggregator.load_full(tensor)
    return aggregator
