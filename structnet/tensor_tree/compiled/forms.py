"""What the aggregators differ in, in a compiled sweep: their weights and their compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structnet.tensor_tree.aggregators.base import Aggregator
from structnet.tensor_tree.aggregators.cp import CP
from structnet.tensor_tree.aggregators.full_tensor import FullTensor
from structnet.tensor_tree.aggregators.tensor_train import TensorTrain
from structnet.tensor_tree.aggregators.tucker import Tucker
from structnet.tensor_tree.aggregators.weighted_sum import ChildSum, WeightedSum
from structnet.tensor_tree.compiled.cores import Core, core_gradient, make_core, products_room
from structnet.tensor_tree.compiled.kernels import cp, full_tensor, sums, tensor_train, tucker
from structnet.tensor_tree.compiled.plan import Plan
from structnet.tensor_tree.compiled.states import States

Arrays = Sequence[np.ndarray]


class Form:
    """One kind of aggregator in a sweep; there are no instances.

    Attributes:
        loops: its ``sweep_up`` and ``sweep_down``.
        linear, ones: names of its parameters that a child's h is multiplied by and that are added,
            ``[num_keys, c, width]`` and ``[num_keys, width]``; the steps of all sweeps use them.
        others: names of all others, which its own loops use.
        Weights: the tuple in which these get them.
    """

    loops: ClassVar[ModuleType]
    linear: ClassVar[str] = ""
    ones: ClassVar[str] = ""
    others: ClassVar[tuple[str, ...]] = ()
    Weights: ClassVar[Callable[..., Any]]

    @classmethod
    def weights(cls, arity: int, parameters: Arrays) -> Any:
        """The other parameters as the loops take them."""
        return cls.Weights(*map(np.ascontiguousarray, parameters))

    @classmethod
    def room(cls, weights: Any, plan: Plan, keep: bool) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays of :class:`..states.States` that this form alone needs.

        Args:
            weights: tuple that :meth:`weights` gave.
            plan: the sweep's.
            keep: True if there will be a backward.
        """
        return {}

    @classmethod
    def slots(cls, plan: Plan, s: States) -> tuple[int, int]:
        """The shape of :attr:`..states.Gradients.slots`."""
        return len(plan.inbox), s.sent.shape[1]

    @classmethod
    def gradients(cls, gradients: Any, parameters: Arrays) -> Arrays:
        """Those of the other parameters, from a tuple like that of :meth:`weights`."""
        return tuple(x[: len(own)] for x, own in zip(gradients, parameters, strict=True))


class SumWeights(NamedTuple):
    """``[num_types, G c]``."""

    bias: np.ndarray


class SumForm(Form):
    """``y = b + sum_j z_j``, whether or not places are told apart."""

    loops: ClassVar[ModuleType] = sums
    linear = "weight"
    others = ("bias",)
    Weights: ClassVar[Callable[..., Any]] = SumWeights

    @classmethod
    def slots(cls, plan: Plan, s: States) -> tuple[int, int]:
        return 0, 0


class FullForm(Form):
    """A core over the children's own states."""

    loops: ClassVar[ModuleType] = full_tensor
    others = ("tensor",)

    @classmethod
    def weights(cls, arity: int, parameters: Arrays) -> Core:
        (tensor,) = parameters
        return make_core(tensor, 1, arity, tensor.shape[1] - 1)

    @classmethod
    def room(cls, weights: Core, plan: Plan, keep: bool) -> dict[str, tuple[int, ...]]:
        return {"products": products_room(weights, plan, keep)}

    @classmethod
    def slots(cls, plan: Plan, s: States) -> tuple[int, int]:
        return len(plan.inbox), s.h.shape[1]

    @classmethod
    def gradients(cls, gradients: Core, parameters: Arrays) -> Arrays:
        return [core_gradient(gradients, parameters[0])]


class MapOut(NamedTuple):
    """``[num_types, G, r, c]`` and ``[num_types, G, c]``."""

    output: np.ndarray
    bias: np.ndarray


class LowRankForm(Form):
    """``y = Q x + b``, with r numbers a gate in x."""

    @classmethod
    def room(cls, weights: Any, plan: Plan, keep: bool) -> dict[str, tuple[int, ...]]:
        _, gates, r, _ = weights.output.shape
        return {"reduced": (len(plan.types), gates * r)}


class TuckerWeights(NamedTuple):
    """A map out and a core."""

    output: np.ndarray
    bias: np.ndarray
    core: Core


class TuckerForm(LowRankForm):
    """x is a core over what the children sent, for each gate."""

    loops: ClassVar[ModuleType] = tucker
    linear = "modes"
    others = ("output", "bias", "core")

    @classmethod
    def weights(cls, arity: int, parameters: Arrays) -> TuckerWeights:
        output, bias, core = parameters
        _, gates, rank, _ = output.shape
        made = make_core(core, gates, arity, rank)
        return TuckerWeights(np.ascontiguousarray(output), np.ascontiguousarray(bias), made)

    @classmethod
    def room(cls, weights: TuckerWeights, plan: Plan, keep: bool) -> dict[str, tuple[int, ...]]:
        products = {"products": products_room(weights.core, plan, keep)}
        return super().room(weights, plan, keep) | products

    @classmethod
    def gradients(cls, gradients: TuckerWeights, parameters: Arrays) -> Arrays:
        return [
            *super().gradients(gradients[:2], parameters[:2]),
            core_gradient(gradients.core, parameters[2]),
        ]


class CPForm(LowRankForm):
    """``x = z_1 * .. * z_L``, entry by entry."""

    loops: ClassVar[ModuleType] = cp
    linear = "factors"
    ones = "ones"
    others = ("output", "bias")
    Weights: ClassVar[Callable[..., Any]] = MapOut


class TrainWeights(NamedTuple):
    """A map out and what the product begins with, ``[num_types, G, r]``."""

    output: np.ndarray
    bias: np.ndarray
    start: np.ndarray


class TrainForm(LowRankForm):
    """``x = v z_1 .. z_L``, each z a matrix."""

    loops: ClassVar[ModuleType] = tensor_train
    linear = "cores"
    ones = "ones"
    others = ("output", "bias", "start")
    Weights: ClassVar[Callable[..., Any]] = TrainWeights

    @classmethod
    def room(cls, weights: TrainWeights, plan: Plan, keep: bool) -> dict[str, tuple[int, ...]]:
        room = super().room(weights, plan, keep)
        return room | {"partial": (len(plan.inbox), room["reduced"][1])}


FORMS: dict[type[Aggregator], type[Form]] = {
    WeightedSum: SumForm,
    ChildSum: SumForm,
    FullTensor: FullForm,
    Tucker: TuckerForm,
    CP: CPForm,
    TensorTrain: TrainForm,
}


def zeros_like(weights: Any, more: int) -> Any:
    """A tuple of the same kind whose arrays, of whatever depth, are zeros, with ``more`` rows."""
    if isinstance(weights, np.ndarray):
        return np.zeros((len(weights) + more, *weights.shape[1:]), weights.dtype)
    if isinstance(weights, tuple):
        return type(weights)(*(zeros_like(x, more) for x in weights))
    return weights


def size_of_one(weights: Any) -> int:
    """How many numbers of a tuple of arrays are of one of its keys or types."""
    if isinstance(weights, np.ndarray):
        return weights.size // max(len(weights), 1)
    return sum(map(size_of_one, weights)) if isinstance(weights, tuple) else 0


def fold(gradients: Any, rows: Sequence[tuple[int, int]]) -> None:
    """Add rows of all arrays of a tuple to other rows of theirs, pair after pair."""
    for x in gradients:
        if isinstance(x, tuple):
            fold(x, rows)
        elif isinstance(x, np.ndarray):
            for row, place in rows:
                x[place] += x[row]
