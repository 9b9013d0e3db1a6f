"""What the low-rank forms share: each gate works with r numbers, which one matrix maps to c."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from structnet.message_passing.cell import Nodes
from structnet.tensor_tree.aggregators.base import Aggregator, checked_size


class LowRank(Aggregator):
    """``y = Q v + b``: a subclass computes v, of r numbers a gate, from the children.

    Args:
        rank: r.
        others: arguments of :class:`~structnet.tensor_tree.aggregators.base.Aggregator`.

    Shapes:
        output: Q, ``[num_types, G, r, c]``; bias: b, ``[num_types, G, c]``.

    Raises:
        ValueError: a size that is not an int, or too small.
    """

    ranked = True
    output: nn.Parameter
    bias: nn.Parameter

    def __init__(self, *args, rank: int = 3, **kwargs):
        super().__init__(*args, **kwargs)
        self.rank = checked_size("rank", rank, 1, self)

    @classmethod
    def _count_outer(cls, c: int, r: int) -> int:
        return r * c + c

    def map_out(self, nodes: Nodes, v: Tensor) -> Sequence[Tensor]:
        """``Q v + b`` of ``[runs, G, length, r]``: G tensors ``[runs, length, c]``."""
        y = nodes.product(v, self.output) + nodes.select(self.bias).unsqueeze(2)
        return y.unbind(1)

    def with_bias(self, full: Tensor) -> Tensor:
        """The dense tensor with the bias added to its constant term, in place."""
        one = (slice(None), slice(None), *[-1] * self.num_modes)
        full[one] = full[one] + self.bias
        return full


def join_ones(weights: Tensor, ones: Tensor, num_types: int) -> list[Tensor]:
    """Each place's weights with their homogeneous part as a last row.

    Shapes:
        weights, ones: ``[num_types * L, n, w]`` and ``[num_types * L, w]``.
        output: L of ``[num_types, n + 1, w]``.
    """
    joined = torch.cat([weights, ones.unsqueeze(1)], 1)
    return list(joined.unflatten(0, (num_types, -1)).unbind(1))


def split_ones(joined: Sequence[Tensor], weights: nn.Parameter, ones: nn.Parameter) -> None:
    """Fill the parameters so that :func:`join_ones` gives L of ``[num_types, n + 1, w]``."""
    children = torch.stack(list(joined), 1).flatten(0, 1)
    weights.data.copy_(children[:, :-1])
    ones.data.copy_(children[:, -1])
