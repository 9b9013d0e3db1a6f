"""The layout of a dense core in the compiled sweeps of the full tensor and of Tucker."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.tensor_tree.aggregators.contraction import best_split
from structnet.tensor_tree.compiled.plan import Plan

# An inner loop over fewer numbers than a vector register holds is slow enough to be worth a copy.
_FEW = 8


class Core(NamedTuple):
    """A core ``[num_types, parts, (r + 1)^L.., k]``, or its gradient.

    Attributes:
        weight: numbers of the core, with the product a of the sizes of the first ``at`` modes and
            the product b of those of the others.
        at: number of modes that are multiplied out before the core.
        rank: r.
        k_first: True if k comes before b in memory.

    Shapes:
        weight ``[num_types, parts, a, b k]``, or ``[.., a, k b]`` with ``k_first``.
    """

    weight: np.ndarray
    at: int
    rank: int
    k_first: bool


def make_core(tensor: np.ndarray, parts: int, arity: int, rank: int) -> Core:
    """Arranges a core for the compiled loops.

    Args:
        tensor: core as the parameter has it.
        parts: number of gates with cores of their own; 1 if they share one.
        arity: L.
        rank: r.

    Shapes:
        tensor: ``[num_types, (parts,) (r + 1)^L.., k]``.
    """
    types, k = len(tensor), tensor.shape[-1]
    at = best_split((rank + 1,) * arity, k)
    left, right = (rank + 1) ** at, (rank + 1) ** (arity - at)
    weight, k_first = tensor.reshape(types, parts, left, right, k), k < _FEW
    weight = np.ascontiguousarray(weight.swapaxes(-1, -2) if k_first else weight)
    return Core(weight.reshape(types, parts, left, right * k), at, rank, k_first)


def core_gradient(gradient: Core, tensor: np.ndarray) -> np.ndarray:
    """The gradient of a tensor, from that of its :class:`Core`.

    Shapes:
        output: that of ``tensor``, ``[num_types, (parts,) (r + 1)^L.., k]``.
    """
    weight, k = gradient.weight[: len(tensor)], tensor.shape[-1]
    if gradient.k_first:
        weight = weight.reshape(*weight.shape[:-1], k, weight.shape[-1] // k).swapaxes(-1, -2)
    return weight.reshape(tensor.shape)


def products_room(core: Core, plan: Plan, keep: bool) -> tuple[int, ...]:
    """The shape of ``States.products``; without numbers if they need not be kept."""
    _, parts, _, columns = core.weight.shape
    return (parts, len(plan.types) - plan.leaves, columns) if keep else (0, 0, 0)
