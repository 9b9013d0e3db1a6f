"""Matrix products in the GPU kernels, and sums of outer products of rows with the same key."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def product(
    x, there, depth, columns, stride, in_columns,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Rows of x times columns of a matrix: ``sum_k x[k] columns[k * stride]``.

    Args:
        x, columns: places where each row and each column begin, ``[ROWS, 1]`` and ``[1, WIDTH]``.
        there, in_columns: masks of the rows and columns that there are.
        depth: number of entries of a row.
        stride: distance of adjacent entries of a column.
    """
    total = tl.zeros((ROWS, WIDTH), x.dtype.element_ty)
    for begin in range(0, depth, DEPTH):
        k = begin + tl.arange(0, DEPTH)
        a = tl.load(x + k[None, :], there & (k[None, :] < depth), other=0)
        in_depth = k[:, None] < depth
        b = tl.load(columns + k[:, None] * stride, in_columns & in_depth, other=0)
        total += tl.dot(a, b, input_precision="ieee")
    return total


@triton.jit
def outer_products(
    X, x_rows, DY, dy_rows, chunks, out, bias, x_width, dy_width, num_parts, depth, columns,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Sums of ``x' dy`` and of dy over each chunk of rows, for each of ``num_parts`` of a row.

    Shapes:
        x_rows, dy_rows ``[n]``; chunks ``[chunks + 1]``; X ``[.., parts depth]``; DY
        ``[.., parts columns]``; out ``[chunks, parts, depth, columns]``; bias
        ``[chunks, parts, columns]``.
    """
    chunk = tl.program_id(0).to(tl.int64)
    tiles = tl.cdiv(columns, WIDTH)
    j = (tl.program_id(1) % tiles) * WIDTH + tl.arange(0, WIDTH)[None, :]
    k = (tl.program_id(1) // tiles) * DEPTH + tl.arange(0, DEPTH)[:, None]
    part = tl.program_id(2)
    begin, end = tl.load(chunks + chunk), tl.load(chunks + chunk + 1)
    total = tl.zeros((DEPTH, WIDTH), X.dtype.element_ty)
    of_bias = tl.zeros((1, WIDTH), X.dtype.element_ty)
    for first in range(begin, end, ROWS):
        across, along = first + tl.arange(0, ROWS)[None, :], first + tl.arange(0, ROWS)[:, None]
        x_row = tl.load(x_rows + across, across < end, other=0).to(tl.int64)
        dy_row = tl.load(dy_rows + along, along < end, other=0).to(tl.int64)
        x = tl.load(X + x_row * x_width + part * depth + k, (across < end) & (k < depth), other=0)
        dy = tl.load(
            DY + dy_row * dy_width + part * columns + j, (along < end) & (j < columns), other=0
        )
        total += tl.dot(x, dy, input_precision="ieee")
        of_bias += tl.sum(dy, 0, keep_dims=True)
    own = (chunk * num_parts + part) * depth
    tl.store(out + (own + k) * columns + j, total, (k < depth) & (j < columns))
    if tl.program_id(1) < tiles:
        own = (chunk * num_parts + part) * columns
        tl.store(bias + own + j, of_bias, j < columns)
