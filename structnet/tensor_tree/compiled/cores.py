"""A dense core as the compiled sweeps of the full tensor and of Tucker take it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.tensor_tree.aggregators.contraction import best_split
from structnet.tensor_tree.compiled.kernels.core import BLOCK
from structnet.tensor_tree.compiled.plan import Plan


class Core(NamedTuple):
    """A core ``[num_types, parts, (r + 1)^L.., k]``, or its gradient.

    Attributes:
        weight: the first ``at`` modes, then k, then the others; ``[num_types, parts, a, k b]``.
        at: count of the modes that are multiplied out before the core.
        rank: r.
    """

    weight: np.ndarray
    at: int
    rank: int


def make_core(tensor: np.ndarray, parts: int, arity: int, rank: int) -> Core:
    """A core with its modes in the order in which they are used."""
    types, k = len(tensor), tensor.shape[-1]
    at = best_split([rank + 1] * arity, k)
    left, right = (rank + 1) ** at, (rank + 1) ** (arity - at)
    weight = tensor.reshape(types, parts, left, right, k).swapaxes(-1, -2)
    return Core(np.ascontiguousarray(weight).reshape(types, parts, left, k * right), at, rank)


def core_gradient(gradient: Core, tensor: np.ndarray) -> np.ndarray:
    """That of the tensor."""
    *modes, columns = gradient.weight.shape
    k = tensor.shape[-1]
    return gradient.weight.reshape(*modes, k, columns // k).swapaxes(-1, -2).reshape(tensor.shape)


def products_room(core: Core, plan: Plan, keep: bool) -> tuple[int, ...]:
    """The shape of ``States.products``."""
    typed = len(plan.types) - int(plan.nodes[0])
    _, parts, _, columns = core.weight.shape
    return parts, typed if keep else min(typed, BLOCK), columns
