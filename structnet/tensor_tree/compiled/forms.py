"""The parts of a compiled sweep that depend on the aggregator: its weights and compiled loops."""

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
    """One kind of aggregator in a sweep; the classes are used without instances.

    Attributes:
        loops: module with its ``sweep_up`` and ``sweep_down``.
        linear, ones: names of the parameters that a child's h is multiplied by and that are added,
            ``[num_keys, c, width]`` and ``[num_keys, width]``; the steps of all sweeps use them.
        others: names of all other parameters, which its own loops use.
        Weights: tuple in which the loops get them.
    """

    loops: ClassVar[ModuleType]
    linear: ClassVar[str] = ""
    ones: ClassVar[str] = ""
    others: ClassVar[tuple[str, ...]] = ()
    Weights: ClassVar[Callable[..., Any]]

    @classmethod
    def weights(cls, arity: int, parameters: Arrays) -> Any:
        """The other parameters in the form of the loops."""
        return cls.Weights(*map(np.ascontiguousarray, parameters))

    @classmethod
    def room(cls, weights: Any, plan: Plan, keep: bool) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays of :class:`..states.States` that only some forms need.

        Args:
            weights: tuple from :meth:`weights`.
            plan: plan of the sweep.
            keep: True if there will be a backward pass.
        """
        return {}

    @classmethod
    def slots(cls, plan: Plan, s: States) -> tuple[int, int]:
        """The shape of :attr:`..states.Gradients.slots`."""
        return len(plan.inbox), s.sent.shape[1]

    @classmethod
    def gradients(cls, gradients: Any, parameters: Arrays) -> Arrays:
        """The gradients of the other parameters, from a tuple like that of :meth:`weights`."""
        return tuple(x[: len(own)] for x, own in zip(gradients, parameters, strict=True))


class SumWeights(NamedTuple):
    """The bias, ``[num_types, G c]``."""

    bias: np.ndarray


class SumForm(Form):
    """``y = b + sum_j z_j``, whether or not places have their own weights."""

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
    """The map to the gates: Q, ``[num_types, G, r, c]``, and b, ``[num_types, G, c]``."""

    output: np.ndarray
    bias: np.ndarray


class LowRankForm(Form):
    """``y = Q x + b``, with r numbers per gate in x."""

    @classmethod
    def room(cls, weights: Any, plan: Plan, keep: bool) -> dict[str, tuple[int, ...]]:
        _, gates, r, _ = weights.output.shape
        return {"reduced": (len(plan.types), gates * r)}


class TuckerWeights(NamedTuple):
    """The map to the gates, as in :class:`MapOut`, and the core."""

    output: np.ndarray
    bias: np.ndarray
    core: Core


class TuckerForm(LowRankForm):
    """x is the product of a core with the children's messages, for each gate."""

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
    """The map to the gates, as in :class:`MapOut`, and the vectors v, ``[num_types, G, r]``."""

    output: np.ndarray
    bias: np.ndarray
    start: np.ndarray


class TrainForm(LowRankForm):
    """``x = v z_1 .. z_L``, where each z is an r x r matrix."""

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
    """A nested tuple of the same kind whose arrays are zeros, with ``more`` additional rows."""
    if isinstance(weights, np.ndarray):
        return np.zeros((len(weights) + more, *weights.shape[1:]), weights.dtype)
    if isinstance(weights, tuple):
        return type(weights)(*(zeros_like(x, more) for x in weights))
    return weights


def size_of_one(weights: Any) -> int:
    """The number of weights of one key or type in a nested tuple of arrays."""
    if isinstance(weights, np.ndarray):
        return weights.size // max(len(weights), 1)
    return sum(map(size_of_one, weights)) if isinstance(weights, tuple) else 0


def fold(gradients: Any, rows: Sequence[tuple[int, int]]) -> None:
    """Adds rows of each array of a nested tuple to other rows of it, pair by pair."""
    for x in gradients:
        if isinstance(x, tuple):
            fold(x, rows)
        elif isinstance(x, np.ndarray):
            for row, place in rows:
                x[place] += x[row]
