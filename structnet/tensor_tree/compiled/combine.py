"""What the aggregators do in a compiled sweep, forward and backward, a level at a time.

A :class:`Combine` stands for one aggregator during one ``Sweep``.
It turns what nodes received, rows of ``sweep.Z``, into their gates before the nonlinearity, rows of
``sweep.Y``, and the gradients of these into those of what each child sent. The formulas are those
of the aggregators' own ``message`` and ``reduce``.
"""

from __future__ import annotations

import copy
import math

import numpy as np
import torch
from torch import Tensor

from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.aggregators.contraction import best_split
from structnet.tensor_tree.aggregators.cp import CP
from structnet.tensor_tree.aggregators.full_tensor import FullTensor
from structnet.tensor_tree.aggregators.tensor_train import TensorTrain
from structnet.tensor_tree.aggregators.tucker import Tucker
from structnet.tensor_tree.aggregators.weighted_sum import ChildSum, WeightedSum
from structnet.tensor_tree.compiled import _combine_kernels, _kernels
from structnet.tensor_tree.compiled.buffers import Buffers, Level
from structnet.tensor_tree.compiled.products import TypedProduct


def combine_for(aggregator: Aggregator) -> type[Combine] | None:
    """What stands for an aggregator; None for another class, or where a method was replaced."""
    replaced = {"message", "reduce", "message_weight"} & vars(aggregator).keys()
    return None if replaced else _COMBINES.get(type(aggregator))


class Combine:
    """One aggregator in one sweep, which every method is given and none keeps.

    What the backward reads is in the sweep; gradients are here.

    Attributes:
        names: the aggregator's parameters, as :meth:`__init__` takes them; first, if there is one,
            what a child's h is multiplied by.
        message_weights: that one, of which the sweep takes care; or none.
        width: the count of numbers that a child sends, apart from its forget gate.
    """

    names: tuple[str, ...] = ()

    @classmethod
    def parameters(cls, aggregator: Aggregator) -> list[Tensor]:
        """Those of ``names``, of the shapes that the aggregator gives them, ``[num_types, ..]``."""
        return [getattr(aggregator, name) for name in cls.names]

    def __init__(self, *message_weights: Tensor):
        self.message_weights = message_weights
        self.width = sum(weight.shape[-1] for weight in message_weights)

    def send(self, s: Buffers, level: Level) -> None:
        """Finish the level's messages, once they are multiplied by their weights."""

    def forward(self, s: Buffers, level: Level) -> None:
        """Fill the level's rows of ``s.Y``."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop copies of the weights, which the backward makes anew."""

    def begin_backward(self, s: Buffers) -> None:
        """Make room for gradients."""

    def backward(self, s: Buffers, level: Level) -> None:
        """Take the level's rows of ``s.DY`` into account."""

    def pull(self, s: Buffers, level: Level) -> None:
        """Fill the rows of ``s.DZ`` of the level's messages, from those who received them."""
        raise NotImplementedError

    def gradients(self, s: Buffers) -> list[Tensor]:
        """Of the parameters but the message weight, each ``[num_types, ..]`` as it is."""
        raise NotImplementedError


class _Sum(Combine):
    """A weighted sum, whether or not it tells places apart."""

    names = ("weight", "bias")

    def __init__(self, s: Buffers, weight: Tensor, bias: Tensor):
        super().__init__(weight)
        self.bias = bias.contiguous().numpy()

    def forward(self, s: Buffers, level: Level) -> None:
        _combine_kernels.add_received(
            s.offsets, s.plan.inbox, s.types, level.lo, level.hi, self.bias, s.Z, s.Y
        )

    def pull(self, s: Buffers, level: Level) -> None:
        _kernels.pull(
            s.plan.back_offsets, s.back_rows, level.first, level.end, self.width, s.DY, s.DZ
        )

    def gradients(self, s: Buffers) -> list[Tensor]:
        d_bias = s.zeros(*self.bias.shape)
        _kernels.sum_by_key(s.nodes.keys, 0, s.DY[s.base :], d_bias)
        return [torch.from_numpy(d_bias)]


class _Core:
    """A core between the product of some children, left, and that of the others, right.

    Left times the core is ``through``.

    Args:
        core: ``[num_types, parts, (r + 1)^L.., k]``, or one part alone.
    """

    d_factors: list[np.ndarray]
    others: np.ndarray

    def __init__(self, s: Buffers, core: Tensor, parts: int, r: int):
        self.parts, self.r = parts, r
        modes = [r + 1] * s.arity
        self.at = best_split(modes, core.shape[-1])
        self.a, self.b = (math.prod(half) for half in (modes[: self.at], modes[self.at :]))
        self.product = TypedProduct([core], parts, self.a, s.nodes)
        most = max(level.hi - level.lo for level in s.levels)
        # Without a backward one level's factors are forgotten before the next one's.
        rows = len(s.nodes.keys) if s.keep else most
        sizes = (self.a, self.b, self.product.width)
        s.left, s.right, s.through = (s.empty(rows, parts, n) for n in sizes)

    def _rows(self, s: Buffers, level: Level, *factors: np.ndarray) -> list[np.ndarray]:
        first = level.lo - s.base if s.keep else 0
        return [x[first : first + level.hi - level.lo] for x in factors]

    def forward(
        self, s: Buffers, level: Level, rows: np.ndarray, x: np.ndarray, y: np.ndarray
    ) -> None:
        """``y = core (x_1, 1) .. (x_L, 1)``; the child of a slot stands in row ``rows[slot]``."""
        left, right, product = self._rows(s, level, s.left, s.right, s.through)
        _combine_kernels.multiply_out(
            s.offsets, rows, level.lo, level.hi, self.at, self.r, x, left, right
        )
        self.product.forward(level.number, left, product)
        _combine_kernels.contract(level.lo, level.hi, right, product, y)

    def for_backward(self, s: Buffers) -> _Core:
        """One with room for gradients."""
        twin = copy.copy(self)
        twin.product = self.product.for_backward()
        twin.d_factors = [s.empty(*x.shape) for x in (s.left, s.right, s.through)]
        twin.others = s.empty(max(self.a, self.b))
        return twin

    def backward(
        self, s: Buffers, level: Level, rows: np.ndarray, x: np.ndarray, dy: np.ndarray,
        ds: np.ndarray,
    ) -> None:  # fmt: skip
        """From the gradients of y to those of what each slot received."""
        right, product = self._rows(s, level, s.right, s.through)
        d_left, d_right, d_product = self._rows(s, level, *self.d_factors)
        _combine_kernels.contract_backward(
            level.lo, level.hi, right, product, dy, d_right, d_product
        )
        self.product.backward(level.number, d_product, d_left)
        _combine_kernels.multiply_out_backward(
            s.offsets, rows, level.lo, level.hi, self.at, self.r, x, d_left, d_right, self.others,
            ds,
        )  # fmt: skip

    def gradient(self, s: Buffers) -> Tensor:
        return self.product.gradients(s.left, self.d_factors[2], np.arange(len(s.left)))[0]


class _Full(Combine):
    """The full tensor: a core over the children's own states."""

    names = ("tensor",)

    def __init__(self, s: Buffers, tensor: Tensor):
        super().__init__()
        self.core = _Core(s, tensor, 1, s.H.shape[1])
        self.rows = s.plan.sources[s.plan.inbox]  # [slots] the child's state itself is sent

    def forward(self, s: Buffers, level: Level) -> None:
        self.core.forward(s, level, self.rows, s.H, s.Y)

    def forget(self) -> None:
        self.core.product.forget()

    def begin_backward(self, s: Buffers) -> None:
        self.core = self.core.for_backward(s)
        self.DS = s.empty(len(self.rows), self.core.r)

    def backward(self, s: Buffers, level: Level) -> None:
        self.core.backward(s, level, self.rows, s.H, s.DY, self.DS)

    def pull(self, s: Buffers, level: Level) -> None:
        p = s.plan
        _kernels.pull_into(
            p.sources, p.back_offsets, p.back_slots, level.first, level.end, self.DS, s.DH
        )

    def gradients(self, s: Buffers) -> list[Tensor]:
        return [self.core.gradient(s)]


class _LowRank(Combine):
    """Forms with r numbers a gate, ``y = Q x + b``; what x is, a subclass says."""

    def __init__(self, s: Buffers, weight: Tensor, output: Tensor, bias: Tensor):
        super().__init__(weight)
        self.output, self.bias = output.contiguous().numpy(), bias.contiguous().numpy()
        _, self.gates, self.r, _ = output.shape
        s.X = s.empty(len(s.types), self.gates * self.r)

    def multiply(self, s: Buffers, level: Level) -> None:
        """Fill the level's rows of X."""
        raise NotImplementedError

    def multiply_backward(self, s: Buffers, level: Level) -> None:
        """From the level's rows of DX to the slots of DS; may spend DX."""
        raise NotImplementedError

    def forward(self, s: Buffers, level: Level) -> None:
        self.multiply(s, level)
        _combine_kernels.map_out(s.types, level.lo, level.hi, self.output, self.bias, s.X, s.Y)

    def begin_backward(self, s: Buffers) -> None:
        self.DX, self.DS = s.empty(*s.X.shape), s.empty(len(s.plan.inbox), self.width)
        self.d_output, self.d_bias = s.zeros(*self.output.shape), s.zeros(*self.bias.shape)

    def backward(self, s: Buffers, level: Level) -> None:
        _combine_kernels.map_out_backward(
            s.types, level.lo, level.hi, self.output, s.X, s.DY, self.DX, self.d_output,
            self.d_bias,
        )  # fmt: skip
        self.multiply_backward(s, level)

    def pull(self, s: Buffers, level: Level) -> None:
        _kernels.pull(
            s.plan.back_offsets, s.plan.back_slots, level.first, level.end, self.width, self.DS,
            s.DZ,
        )  # fmt: skip

    def gradients(self, s: Buffers) -> list[Tensor]:
        return [torch.from_numpy(self.d_output), torch.from_numpy(self.d_bias)]


class _Tucker(_LowRank):
    names = ("modes", "output", "bias", "core")

    def __init__(self, s: Buffers, modes: Tensor, output: Tensor, bias: Tensor, core: Tensor):
        super().__init__(s, modes, output, bias)
        self.core = _Core(s, core, self.gates, self.r)

    def multiply(self, s: Buffers, level: Level) -> None:
        self.core.forward(s, level, s.plan.inbox, s.Z, s.X)

    def forget(self) -> None:
        self.core.product.forget()

    def begin_backward(self, s: Buffers) -> None:
        super().begin_backward(s)
        self.core = self.core.for_backward(s)

    def multiply_backward(self, s: Buffers, level: Level) -> None:
        self.core.backward(s, level, s.plan.inbox, s.Z, self.DX, self.DS)

    def gradients(self, s: Buffers) -> list[Tensor]:
        return [*super().gradients(s), self.core.gradient(s)]


class _WithOnes(_LowRank):
    """Forms in which a message has a bias."""

    def __init__(self, s: Buffers, weight: Tensor, output: Tensor, bias: Tensor, ones: Tensor):
        super().__init__(s, weight, output, bias)
        self.ones = ones.contiguous().numpy()

    def send(self, s: Buffers, level: Level) -> None:
        _kernels.add_by_key(s.messages.keys, level.first, level.end, self.ones, s.Z)

    def gradients(self, s: Buffers) -> list[Tensor]:
        d_ones = s.zeros(*self.ones.shape)
        _kernels.sum_by_key(s.messages.keys, 0, s.DZ, d_ones)
        return [*super().gradients(s), torch.from_numpy(d_ones)]


class _CP(_WithOnes):
    names = ("factors", "output", "bias", "ones")

    def multiply(self, s: Buffers, level: Level) -> None:
        _combine_kernels.multiply_entries(s.offsets, s.plan.inbox, level.lo, level.hi, s.Z, s.X)

    def multiply_backward(self, s: Buffers, level: Level) -> None:
        _combine_kernels.multiply_entries_backward(
            s.offsets, s.plan.inbox, level.lo, level.hi, s.Z, self.DX, self.DS
        )


class _TensorTrain(_WithOnes):
    names = ("cores", "output", "bias", "ones", "start")

    def __init__(self, s: Buffers, *parameters: Tensor):
        *others, start = parameters
        super().__init__(s, *others)
        self.start = start.contiguous().numpy()
        s.V = s.empty(len(s.plan.inbox), self.gates * self.r)  # goes into each slot's matrix

    def multiply(self, s: Buffers, level: Level) -> None:
        _combine_kernels.multiply_matrices(
            s.offsets, s.plan.inbox, s.types, level.lo, level.hi, self.start, s.Z, s.V, s.X
        )

    def begin_backward(self, s: Buffers) -> None:
        super().begin_backward(s)
        self.d_start = s.zeros(*self.start.shape)

    def multiply_backward(self, s: Buffers, level: Level) -> None:
        _combine_kernels.multiply_matrices_backward(
            s.offsets, s.plan.inbox, s.types, level.lo, level.hi, s.Z, s.V, self.DX, self.DS,
            self.d_start,
        )  # fmt: skip

    def gradients(self, s: Buffers) -> list[Tensor]:
        return [*super().gradients(s), torch.from_numpy(self.d_start)]


_COMBINES: dict[type, type[Combine]] = {
    WeightedSum: _Sum,
    ChildSum: _Sum,
    FullTensor: _Full,
    Tucker: _Tucker,
    CP: _CP,
    TensorTrain: _TensorTrain,
}
