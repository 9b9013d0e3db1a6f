"""Products of several vectors, from which the dense aggregators are built."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from structnet.message_passing.cell import Nodes


def multilinear(nodes: Nodes, modes: Sequence[Tensor], core: Tensor) -> Tensor:
    """Contracts a dense core with one vector per mode.

    ``y(k) = sum G(i_1, .., i_M, k) z_1(i_1) .. z_M(i_M)``. The outer product of the first modes is
    multiplied by the core, then that of the rest, at the split that stores the fewest numbers.

    Shapes:
        modes: M of ``[runs, length, G, n_m]``.
        core: ``[num_types, G, n_1, .., n_M, k]``, without G if all modes have G = 1.
        output: ``[runs, G, length, k]``.
    """
    at = best_split(core.shape[-len(modes) - 1 : -1], core.shape[-1])
    left = outer_product(modes[:at])  # [runs, G, length, a]
    if core.dim() == len(modes) + 2:  # no gates in the core: they are side by side in k
        y = nodes.product(left.squeeze(1), core).unsqueeze(1)
    else:
        y = nodes.product(left, core)  # [runs, G, length, b k]
    if at == len(modes):
        return y  # [runs, G, length, k]: nothing is left to multiply by
    right = outer_product(modes[at:])  # [runs, G, length, b]
    return (right.unsqueeze(-1) * y.unflatten(-1, (right.shape[-1], -1))).sum(-2)


@lru_cache
def best_split(sizes: tuple[int, ...], k: int) -> int:
    """The number of modes to multiply out before the core that stores the fewest numbers."""

    def stored(at: int) -> int:
        rest = math.prod(sizes[at:])
        return math.prod(sizes[:at]) + rest * k + rest

    return min(range(1, len(sizes) + 1), key=stored)


def outer_product(modes: Sequence[Tensor]) -> Tensor:
    """The flattened outer product of one vector per mode, with the last mode fastest.

    Shapes:
        modes: M of ``[runs, length, G, n_m]``.
        output: ``[runs, G, length, n_1 .. n_M]``.
    """
    product, *others = (mode.transpose(1, 2) for mode in modes)
    for mode in others:
        product = (product.unsqueeze(-1) * mode.unsqueeze(-2)).flatten(-2)
    return product


def expand_outer(modes: Sequence[Tensor]) -> Tensor:
    """The outer product of the rows of matrices ``[.., n_m, r_m]``: ``[.., n_1 .., r_1 ..]``."""
    product = modes[0]
    for mode in modes[1:]:
        n, r = product.shape[-2:]
        product = torch.einsum("...ar,...bs->...abrs", product, mode)
        product = product.reshape(*product.shape[:-4], n * mode.shape[-2], r * mode.shape[-1])
    return product
