"""Sums of lists of rows, in Triton, which comes with the builds of torch for GPUs.

A program computes some columns of one output row from its list of rows, ``ROWS`` of them at a time.
It adds them in a fixed order, so equal inputs give bitwise equal results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from structnet.message_passing.transfer import moved
from structnet.trees._kernels import grouped

ROWS = 16  # rows of a list at a time; most lists are shorter, but a few have thousands


def grid(rows: int, columns: int) -> tuple[tuple[int, int], int]:
    """The grid of programs for an output array, and the columns that each computes."""
    width = min(1 << (columns - 1).bit_length(), 128)
    return (rows, -(-columns // width)), width


@triton.jit
def _sum_rows(x, index, offsets, out, n, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)[None, :]
    begin, end = tl.load(offsets + row), tl.load(offsets + row + 1)
    total = tl.zeros((1, WIDTH), x.dtype.element_ty)
    for i in range(begin, end, ROWS):
        entry = i + tl.arange(0, ROWS)
        there = (entry < end)[:, None] & (j < n)
        source = tl.load(index + entry, entry < end, other=0).to(tl.int64)[:, None]
        total += tl.sum(tl.load(x + source * n + j, there, other=0), 0, keep_dims=True)
    tl.store(out + row * n + j, total, j < n)


def sum_rows(x: Tensor, index: Tensor, offsets: Tensor) -> Tensor:
    """Row i is the sum of the rows of x in the i-th list of ``index``.

    Shapes:
        x ``[rows, n]``; index ``[entries]``; offsets ``[lists + 1]``; output ``[lists, n]``.
    """
    out = x.new_empty(len(offsets) - 1, x.shape[1])
    if out.numel():
        programs, width = grid(*out.shape)
        with torch.cuda.device_of(x):
            _sum_rows[programs](
                x.contiguous(), index, offsets, out, x.shape[1], ROWS=ROWS, WIDTH=width
            )
    return out


class Gather:
    """Selects rows of tensors; in the backward pass each row pulls its gradients in a fixed order.

    Args:
        index: numbers of the rows to select.
        num_rows: number of rows of the tensors.
        device: device of the tensors.

    Shapes:
        index ``[n]``; a tensor ``[num_rows, c]`` -> ``[n, c]``.
    """

    def __init__(self, index: np.ndarray, num_rows: int, device: torch.device):
        self.lists = moved(device, index, *grouped(index, num_rows))

    def __call__(self, x: Tensor) -> Tensor:
        return _Gather.apply(x, *self.lists)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, back: Tensor, back_offsets: Tensor) -> Tensor:
        ctx.save_for_backward(back, back_offsets)
        return x.index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        return sum_rows(gradient, *ctx.saved_tensors), None, None, None
