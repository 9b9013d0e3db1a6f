"""Sums: the aggregations without products between children."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from structnet.message_passing.cell import Nodes
from structnet.tensor_tree.aggregators.base import HIDDEN_MOMENT, Aggregator
from structnet.tensor_tree.parameters import Shape, allocate


class WeightedSum(Aggregator):
    """``W x + sum_j U_j h_j + b``: one matrix for each place.

    Args: those of :class:`~structnet.tensor_tree.aggregators.base.Aggregator`.

    Shapes:
        weight: ``[num_types * L, c, G c]``.
        input_weight: ``[num_types, input_size, G c]``.
        bias: ``[num_types, G c]``.

    Reference: Castellana and Bacciu, IJCNN 2020, Eq. (5); Tai et al., ACL 2015 (N-ary).

    Example:
        >>> import torch
        >>> from structnet import TreeLSTM
        >>> sizes = {"num_types": 4, "arity": 5, "inputs": torch.eye(10)}
        >>> encoder = TreeLSTM(20, **sizes, aggregator=WeightedSum)
        >>> WeightedSum.count(20, arity=5)  # parameters of one gate of one type
        2000
    """

    name = "sum"
    pads = False  # a missing child adds nothing, unless the bottom state is learned
    summed = True
    weight: nn.Parameter
    bias: nn.Parameter
    input_weight: nn.Parameter

    def __init__(self, *args: int, **kwargs: int):
        super().__init__(*args, **kwargs)
        c, t, out = self.hidden_size, self.num_types, self.gates * self.hidden_size
        shapes: dict[str, Shape] = {"weight": (self.num_keys, c, out), "bias": (t, out)}
        if self.input_size:
            shapes["input_weight"] = (t, self.input_size, out)
        self.shapes = allocate(self, shapes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the initial weights."""
        # The mean number of children, if 1 to L are equally likely; for a child sum, two.
        present = (self.arity + 1) / 2 if self.positional else 2
        std = (HIDDEN_MOMENT * self.hidden_size * present) ** -0.5
        nn.init.normal_(self.weight, std=std)
        nn.init.zeros_(self.bias)
        if self.input_size:
            nn.init.normal_(self.input_weight, std=self.input_size**-0.5)

    @classmethod
    def _count_inner(cls, c: int, L: int, r: int) -> int:
        return (L if cls.positional else 1) * c**2

    def message_weight(self) -> Tensor:
        return self.weight

    def reduce(self, nodes: Nodes, received: Tensor, x: Tensor | None) -> Sequence[Tensor]:
        y = nodes.split(received) + nodes.select(self.bias).unsqueeze(1)
        if self.input_size:
            assert x is not None  # nodes that carry inputs get them
            y = y + nodes.product(nodes.split(x), self.input_weight)
        return y.unflatten(-1, (self.gates, -1)).unbind(-2)

    def to_full(self) -> Tensor:
        by_gate, one = (self.gates, self.hidden_size), self.constant_term
        sizes = [n + 1 for n in self.mode_sizes]
        full = self.bias.new_zeros(self.num_types, self.gates, *sizes, self.hidden_size)
        full[one] = self.bias.unflatten(-1, by_gate)
        # A sum is linear: one mode varies while all others are at their homogeneous one.
        for place, matrix in enumerate(self.by_mode("weight")):  # [num_types, n, G c]
            index = (*one[: place + 2], slice(-1), *one[place + 3 :])
            full[index] = matrix.unflatten(-1, by_gate).transpose(1, 2)
        return full


class ChildSum(WeightedSum):
    """``W x + U sum_j h_j + b``: for any number of children, whose order does not matter.

    Args: those of :class:`WeightedSum`; ``arity`` does not limit the number of children.

    Shapes:
        weight: ``[num_types, c, G c]``.

    Reference: Tai et al., ACL 2015, Eq. (2)-(8).

    Example:
        >>> import torch
        >>> from structnet import TreeLSTM
        >>> sizes = {"num_types": 4, "arity": 5, "inputs": torch.eye(10)}
        >>> encoder = TreeLSTM(20, **sizes, aggregator=ChildSum)
        >>> ChildSum.count(20, arity=5)  # parameters of one gate of one type
        400
    """

    name = "child-sum"
    positional = False
