"""The layout of a dense core in the compiled sweeps of the full tensor and of Tucker."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.tensor_tree.aggregators.contraction import best_split
from structnet.tensor_tree.compiled.plan import Plan


class Core(NamedTuple):
    """A core ``[num_types, parts, (r + 1)^L.., k]``, or its gradient.

    Attributes:
        weight: numbers of the core, with the product a of the sizes of the first ``at`` modes and
            the product b of those of the others.
        at: number of modes that are multiplied out before the core.
        rank: r.

    Shapes:
        weight ``[num_types, parts, a, b k]``.
    """

    weight: np.ndarray
    at: int
    rank: int


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
    at = best_split((rank + 1,) * arity, tensor.shape[-1])
    shape = (rank + 1) ** at, (rank + 1) ** (arity - at) * tensor.shape[-1]
    return Core(np.ascontiguousarray(tensor).reshape(len(tensor), parts, *shape), at, rank)


def core_gradient(gradient: Core, tensor: np.ndarray) -> np.ndarray:
    """The gradient of a tensor, from that of its :class:`Core`.

    Shapes:
        output: that of ``tensor``, ``[num_types, (parts,) (r + 1)^L.., k]``.
    """
    return gradient.weight[: len(tensor)].reshape(tensor.shape)


def products_room(core: Core, plan: Plan, keep: bool) -> tuple[int, ...]:
    """The shape of ``States.products``; without numbers if they need not be kept."""
    _, parts, _, columns = core.weight.shape
    return (len(plan.types) - plan.leaves, parts * columns) if keep else (0, 0)
