"""Products of several vectors, from which the dense aggregators are built."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from structnet.message_passing.cell import Nodes


def multilinear(nodes: Nodes, modes: Sequence[Tensor], core: Tensor) -> Tensor:
    """Contracts a dense core with one vector per mode.

    ``y(k) = sum G(i_1, .., i_M, k) z_1(i_1) .. z_M(i_M)``. The outer product of the first modes is
    multiplied by the core, then that of the rest, at the split that stores the fewest numbers; the
    reference backend contracts one mode after another.

    Shapes:
        modes: M of ``[runs, length, G, n_m]``.
        core: ``[num_types, G, n_1, .., n_M, k]``, without G if all modes have G = 1.
        output: ``[runs, G, length, k]``.
    """
    if nodes.plain:
        return _mode_by_mode(nodes, modes, core)
    at = best_split(core.shape[-len(modes) - 1 : -1], core.shape[-1])
    left = OuterProduct.apply(*modes[:at])  # [runs, G, length, a]
    if core.dim() == len(modes) + 2:  # no gates in the core: they are side by side in k
        y = nodes.product(left.squeeze(1), core).unsqueeze(1)
    else:
        y = nodes.product(left, core)  # [runs, G, length, b k]
    if at == len(modes):
        return y  # [runs, G, length, k]: nothing is left to multiply by
    return RowProduct.apply(OuterProduct.apply(*modes[at:]), y)


def _mode_by_mode(nodes: Nodes, modes: Sequence[Tensor], core: Tensor) -> Tensor:
    """:func:`multilinear` in plain torch."""
    y = nodes.select(core)
    if core.dim() == len(modes) + 2:  # no gates in the core
        y = y.unsqueeze(1)
    y = y.unsqueeze(2)  # [runs, G, 1, n_1, .., n_M, k]
    for mode in modes:  # each [runs, length, G, n]
        y = torch.einsum("algn,agln...->agl...", mode, y)
    return y


@lru_cache
def best_split(sizes: tuple[int, ...], k: int) -> int:
    """The number of modes to multiply out before the core that stores the fewest numbers."""

    def stored(at: int) -> int:
        rest = math.prod(sizes[at:])
        return math.prod(sizes[:at]) + rest * k + rest

    return min(range(1, len(sizes) + 1), key=stored)


class OuterProduct(torch.autograd.Function):
    """The flattened outer product of one vector per mode, with the last mode fastest.

    Shapes:
        modes: M of ``[runs, length, G, n_m]``.
        output: ``[runs, G, length, n_1 .. n_M]``.
    """

    @staticmethod
    def forward(ctx: Any, *modes: Tensor) -> Tensor:
        runs, length, gates, _ = modes[0].shape
        products = [modes[0].transpose(1, 2).contiguous()]
        for mode in modes[1:]:
            before = products[-1].unsqueeze(-1)
            product = before.new_empty(runs, gates, length, before.shape[-2], mode.shape[-1])
            torch.mul(before, mode.transpose(1, 2).unsqueeze(-2), out=product)
            products.append(product.flatten(-2))
        ctx.save_for_backward(*modes[1:], *products[:-1])
        return products[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        # From the last mode to the first; what is left is the gradient of the product before it.
        saved = ctx.saved_tensors  # read once: checkpointing gives them away only once
        modes, products = saved[: len(saved) // 2], saved[len(saved) // 2 :]
        gradients = []
        for mode, before in zip(reversed(modes), reversed(products), strict=True):
            gradient = gradient.unflatten(-1, (-1, mode.shape[-1]))
            gradients.append((gradient * before.unsqueeze(-1)).sum(-2).transpose(1, 2))
            gradient = (gradient * mode.transpose(1, 2).unsqueeze(-2)).sum(-1)
        return gradient.transpose(1, 2), *reversed(gradients)


class RowProduct(torch.autograd.Function):
    """Each row's vector times its own matrix: ``[.., b]`` and ``[.., b k]`` -> ``[.., k]``."""

    @staticmethod
    def forward(ctx: Any, vector: Tensor, matrix: Tensor) -> Tensor:
        ctx.save_for_backward(vector, matrix)
        matrix = matrix.unflatten(-1, (vector.shape[-1], -1))
        return (vector.unsqueeze(-1) * matrix).sum(-2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        vector, matrix = ctx.saved_tensors
        matrix = matrix.unflatten(-1, (vector.shape[-1], -1))
        gradient = gradient.unsqueeze(-2)
        return (gradient * matrix).sum(-1), (vector.unsqueeze(-1) * gradient).flatten(-2)


def expand_outer(modes: Sequence[Tensor]) -> Tensor:
    """The outer product of the rows of matrices ``[.., n_m, r_m]``: ``[.., n_1 .., r_1 ..]``."""
    product = modes[0]
    for mode in modes[1:]:
        n, r = product.shape[-2:]
        product = torch.einsum("...ar,...bs->...abrs", product, mode)
        product = product.reshape(*product.shape[:-4], n * mode.shape[-2], r * mode.shape[-1])
    return product
