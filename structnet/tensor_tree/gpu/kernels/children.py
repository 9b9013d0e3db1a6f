"""What each aggregator computes from a node's children, on a GPU, and its gradient.

Slot ``begin + m`` has child m; ``pointers`` has the row of its message or state in X, in which
``width`` numbers are side by side, ``RANK`` for each part. The full tensor and Tucker are ``PARTS``
cores with K outputs each: ``y_k = sum A(a) core_k(a, b) B(b)``, where A and B are the outer
products of the first and of the other children's vectors ``(x, 1)``. LEFT numbers of A are
multiplied at once, and all of B: RIGHT is a power of two.
"""

from __future__ import annotations

import triton
import triton.language as tl

from structnet.tensor_tree.gpu import sizes

SUM, FULL = tl.constexpr(sizes.SUM), tl.constexpr(sizes.FULL)
CANONICAL = tl.constexpr(sizes.CANONICAL)


@triton.jit
def _outer(
    pointers, X, begin, there, width, column, i, COUNT: tl.constexpr, RANK: tl.constexpr,
    WITHOUT: tl.constexpr,
):  # fmt: skip
    """Numbers i of the outer product of ``COUNT`` children's vectors ``(x, 1)``; 0 after the last.

    If child ``WITHOUT`` is one of them, its vector is replaced by ones.

    Shapes:
        begin, there ``[ROWS, 1]``; i ``[1, n]`` -> ``[ROWS, n]``.
    """
    out = tl.where(there & (i < (RANK + 1) ** COUNT), 1, 0).to(X.dtype.element_ty)
    for m in tl.static_range(COUNT):
        if m != WITHOUT:
            digit = (i // (RANK + 1) ** (COUNT - 1 - m)) % (RANK + 1)
            row = tl.load(pointers + begin + m, there, other=0).to(tl.int64)
            x = tl.load(X + row * width + column + digit, there & (digit < RANK), other=0)
            out *= tl.where(digit < RANK, x, 1)
    return out


@triton.jit
def _outer_backward(
    pointers, X, begin, there, width, column, i, given, total, COUNT: tl.constexpr,
    RANK: tl.constexpr,
):  # fmt: skip
    """Adds the gradients of the children's vectors, side by side in ``total``, ``[ROWS, ..]``."""
    place = tl.arange(0, total.shape[1])[None, :]
    for m in tl.static_range(COUNT):
        others = given * _outer(pointers, X, begin, there, width, column, i, COUNT, RANK, m)
        digit = (i // (RANK + 1) ** (COUNT - 1 - m)) % (RANK + 1)
        for d in range(RANK):
            dx = tl.sum(tl.where(digit == d, others, 0), 1, keep_dims=True)
            total += tl.where(place == m * RANK + d, dx, 0)
    return total


@triton.jit
def _store_slots(d_slots, begin, there, width, column, total, COUNT, RANK):
    """Stores gradients that are side by side, each in its slot."""
    place = tl.arange(0, total.shape[1])[None, :]
    to = (begin + place // RANK) * width + column + place % RANK
    tl.store(d_slots + to, total, there & (place < COUNT * RANK))


@triton.jit
def _core(core, a, b, rows, columns):
    """A part of a core for one output, ``[LEFT, RIGHT]``: rows a and columns b."""
    return tl.load(core + a * columns + b, (a < rows) & (b < columns), other=0)


@triton.jit
def reduce(
    pointers, X, begin, there, width, core, key, out, row, FORM: tl.constexpr,
    ARITY: tl.constexpr, RANK: tl.constexpr, PARTS: tl.constexpr, K: tl.constexpr,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Sets the ``PARTS K`` numbers of each row of ``out``."""
    if FORM == CANONICAL:
        for column in range(0, width, WIDTH):
            j = column + tl.arange(0, WIDTH)[None, :]
            here = there & (j < width)
            y = tl.full((ROWS, WIDTH), 1, X.dtype.element_ty)
            for m in tl.static_range(ARITY):
                x = tl.load(pointers + begin + m, there, other=0).to(tl.int64) * width
                y *= tl.load(X + x + j, here, other=0)
            tl.store(out + row * width + j, y, here)
    else:
        FIRST: tl.constexpr = (ARITY + 1) // 2
        rows, columns = (RANK + 1) ** FIRST, (RANK + 1) ** (ARITY - FIRST)
        j = tl.arange(0, RIGHT)[None, :]
        for output in range(PARTS * K):
            column = output // K * RANK
            own = core + (key * (PARTS * K) + output) * rows * columns
            products = tl.zeros((ROWS, RIGHT), X.dtype.element_ty)
            for first in range(0, rows, LEFT):
                i = first + tl.arange(0, LEFT)
                a = _outer(pointers, X, begin, there, width, column, i[None, :], FIRST, RANK, -1)
                matrix = _core(own, i[:, None], j, rows, columns)
                products += tl.dot(a, matrix, input_precision="ieee")
            b = _outer(pointers, X, begin + FIRST, there, width, column, j, ARITY - FIRST, RANK, -1)
            y = tl.sum(products * b, 1, keep_dims=True)
            tl.store(out + row * (PARTS * K) + output, y, there)


@triton.jit
def reduce_backward(
    pointers, X, begin, there, width, core, key, given, d_slots, row, FORM: tl.constexpr,
    ARITY: tl.constexpr, RANK: tl.constexpr, PARTS: tl.constexpr, K: tl.constexpr,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    SLOTS: tl.constexpr,
):  # fmt: skip
    """The gradient of :func:`reduce` for each slot, except those of the core."""
    if FORM == CANONICAL:
        for column in range(0, width, WIDTH):
            j = column + tl.arange(0, WIDTH)[None, :]
            here = there & (j < width)
            for m in tl.static_range(ARITY):
                dx = tl.load(given + row * width + j, here, other=0)
                for other in tl.static_range(ARITY):
                    if other != m:
                        x = tl.load(pointers + begin + other, there, other=0).to(tl.int64) * width
                        dx *= tl.load(X + x + j, here, other=0)
                tl.store(d_slots + (begin + m) * width + j, dx, here)
    else:
        FIRST: tl.constexpr = (ARITY + 1) // 2
        OTHERS: tl.constexpr = ARITY - FIRST
        rows, columns = (RANK + 1) ** FIRST, (RANK + 1) ** OTHERS
        j = tl.arange(0, RIGHT)[None, :]
        for g in range(PARTS):
            column = g * RANK
            b = _outer(pointers, X, begin + FIRST, there, width, column, j, OTHERS, RANK, -1)
            db = tl.zeros((ROWS, RIGHT), X.dtype.element_ty)
            dx = tl.zeros((ROWS, SLOTS), X.dtype.element_ty)
            for first in range(0, rows, LEFT):
                i = first + tl.arange(0, LEFT)
                a = _outer(pointers, X, begin, there, width, column, i[None, :], FIRST, RANK, -1)
                da = tl.zeros((ROWS, LEFT), X.dtype.element_ty)
                for k in range(g * K, (g + 1) * K):
                    own = core + (key * (PARTS * K) + k) * rows * columns
                    matrix = _core(own, i[:, None], j, rows, columns)
                    dy = tl.load(given + row * (PARTS * K) + k, there, other=0)
                    db += dy * tl.dot(a, matrix, input_precision="ieee")
                    da += tl.dot(dy * b, tl.trans(matrix), input_precision="ieee")
                dx = _outer_backward(
                    pointers, X, begin, there, width, column, i[None, :], da, dx, FIRST, RANK
                )
            _store_slots(d_slots, begin, there, width, column, dx, FIRST, RANK)
            dx = tl.zeros((ROWS, SLOTS), X.dtype.element_ty)
            dx = _outer_backward(
                pointers, X, begin + FIRST, there, width, column, j, db, dx, OTHERS, RANK
            )
            _store_slots(d_slots, begin + FIRST, there, width, column, dx, OTHERS, RANK)


@triton.jit
def core_gradients(
    nodes, chunks, offsets, pointers, X, given, out, width, ARITY: tl.constexpr,
    RANK: tl.constexpr, PARTS: tl.constexpr, K: tl.constexpr, LEFT: tl.constexpr,
    RIGHT: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Sums of the core's gradients over each chunk of nodes, ``[chunks, PARTS, K, a, b]``."""
    FIRST: tl.constexpr = (ARITY + 1) // 2
    rows, columns = (RANK + 1) ** FIRST, (RANK + 1) ** (ARITY - FIRST)
    chunk, output = tl.program_id(0).to(tl.int64), tl.program_id(1)
    i, j = tl.program_id(2) * LEFT + tl.arange(0, LEFT), tl.arange(0, RIGHT)[None, :]
    column = output // K * RANK
    begin, end = tl.load(chunks + chunk), tl.load(chunks + chunk + 1)
    total = tl.zeros((LEFT, RIGHT), X.dtype.element_ty)
    for first in range(begin, end, ROWS):
        place = first + tl.arange(0, ROWS)[:, None]
        there = place < end
        row = tl.load(nodes + place, there, other=0).to(tl.int64)
        slot = tl.load(offsets + row, there, other=0).to(tl.int64)
        a = _outer(pointers, X, slot, there, width, column, i[None, :], FIRST, RANK, -1)
        b = _outer(pointers, X, slot + FIRST, there, width, column, j, ARITY - FIRST, RANK, -1)
        dy = tl.load(given + row * (PARTS * K) + output, there, other=0)
        total += tl.dot(tl.trans(a), dy * b, input_precision="ieee")
    own = out + (chunk * (PARTS * K) + output) * rows * columns
    tl.store(own + i[:, None] * columns + j, total, (i[:, None] < rows) & (j < columns))
