"""The base of the low-rank forms: each gate computes r numbers, which one matrix maps to c."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from structnet.message_passing.cell import Edges, Nodes
from structnet.tensor_tree.aggregators.base import Aggregator, checked_size
from structnet.tensor_tree.parameters import Shape, allocate


class LowRank(Aggregator):
    """``y = Q v + b``, where a subclass computes v, r numbers per gate, from the children.

    Args:
        rank: r.
        others: other arguments of :class:`~structnet.tensor_tree.aggregators.base.Aggregator`.

    Shapes:
        output: Q, ``[num_types, G, r, c]``; bias: b, ``[num_types, G, c]``.

    Raises:
        ValueError: a size is not an int, or too small.
    """

    ranked = True
    output: nn.Parameter
    bias: nn.Parameter

    def __init__(self, *args: int, rank: int = 3, **kwargs: int):
        super().__init__(*args, **kwargs)
        self.rank = checked_size("rank", rank, 1, self)
        self.shapes = allocate(self, self._shapes())
        self.reset_parameters()

    def _shapes(self) -> dict[str, Shape]:
        """The shape of each parameter; a subclass adds its own."""
        c, t, g = self.hidden_size, self.num_types, self.gates
        return {"output": (t, g, self.rank, c), "bias": (t, g, c)}

    def reset_parameters(self) -> None:
        """Draws the initial weights."""
        raise NotImplementedError

    @classmethod
    def _count_outer(cls, c: int, r: int) -> int:
        return r * c + c

    def map_out(self, nodes: Nodes, v: Tensor) -> Sequence[Tensor]:
        """``Q v + b`` of ``[runs, G, length, r]``: G tensors ``[runs, length, c]``."""
        y = nodes.product(v, self.output) + nodes.select(self.bias).unsqueeze(2)
        return y.unbind(1)

    def with_bias(self, full: Tensor) -> Tensor:
        """The dense tensor with the bias added to its constant term, in place."""
        full[self.constant_term] = full[self.constant_term] + self.bias
        return full


class WithOnes(LowRank):
    """Low-rank forms whose messages are linear in ``[h; 1]``.

    Attributes:
        linear: name of the parameter that h is multiplied by, ``[num_types * L, c, width]``. That
            for the 1 is named ``ones``, ``[num_types * L, width]``; names of those for the input
            begin with ``input_``.
    """

    linear = ""
    ones: nn.Parameter
    input_ones: nn.Parameter

    def _with_message(self, width: int, others: dict[str, Shape]) -> dict[str, Shape]:
        """The shapes of all parameters, from the width of a message and the other shapes."""
        keys, c, t, n = self.num_keys, self.hidden_size, self.num_types, self.input_size
        shapes: dict[str, Shape] = {self.linear: (keys, c, width), "ones": (keys, width), **others}
        if n:
            shapes |= {f"input_{self.linear}": (t, n, width), "input_ones": (t, width)}
        return shapes

    def message_weight(self) -> Tensor:
        return getattr(self, self.linear)

    def message(self, edges: Edges, z: Tensor) -> Tensor:
        return z + edges.select(self.ones).unsqueeze(1)

    def input_mode(self, nodes: Nodes, x: Tensor) -> Tensor:
        z = nodes.product(x, getattr(self, f"input_{self.linear}"))
        return z + nodes.select(self.input_ones).unsqueeze(1)

    def _homogeneous(self, *shape: int) -> list[Tensor]:
        """The weights of ``[h; 1]`` for each mode, ``[num_types, G, n + 1, *shape]``."""
        pairs = zip(self.by_mode(self.linear), self.by_mode("ones"), strict=True)
        joined = [torch.cat([weight, one.unsqueeze(1)], 1) for weight, one in pairs]
        return [each.unflatten(-1, (self.gates, *shape)).transpose(1, 2) for each in joined]

    def _set_homogeneous(self, modes: Sequence[Tensor]) -> None:
        """The inverse of :meth:`_homogeneous`."""
        flat = [each.transpose(1, 2).flatten(2) for each in modes]  # [num_types, n + 1, width]
        self.set_by_mode(self.linear, [each[:, :-1] for each in flat])
        self.set_by_mode("ones", [each[:, -1] for each in flat])
