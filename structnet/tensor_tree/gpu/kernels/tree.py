"""The GPU kernels of a typed Tree-LSTM: each computes a whole sweep, upwards or downwards.

The letters are those of :class:`...compiled.states.States`: H, C, Y, S, F and R are its ``h``,
``c``, ``gates``, ``sent``, ``forget`` and ``reduced``; ``d`` before a letter is its gradient. W and
V are the weights of messages and forget gates, w and b their biases; Q and q map R to the gates.
``n`` is the hidden size. ``row`` and ``there`` are the rows of a task, and which there are,
``[ROWS, 1]``.
"""

from __future__ import annotations

import triton
import triton.language as tl

from structnet.tensor_tree.gpu.kernels.children import FULL, SUM, reduce, reduce_backward
from structnet.tensor_tree.gpu.kernels.phases import (
    TOGETHER,
    close_cell,
    close_cell_backward,
    finish,
    lists_of,
    rows_at,
    sigmoid,
    take,
)
from structnet.tensor_tree.gpu.kernels.products import product


@triton.jit
def _send(
    row, there, key, sources, W, w, V, b, H, S, F, width, n,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Messages ``S = h W + w`` and forget gates ``F = sigmoid(h V + b)``."""
    h = H + rows_at(sources, row, there, n)
    for column in range(0, width, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        own = W + key * n * width + j
        z = product(h, there, n, own, width, j < width, ROWS, WIDTH, DEPTH)
        z += tl.load(w + key * width + j, j < width, other=0)
        tl.store(S + row * width + j, z, there & (j < width))
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        z = product(h, there, n, V + key * n * n + j, n, j < n, ROWS, WIDTH, DEPTH)
        z += tl.load(b + key * n + j, j < n, other=0)
        tl.store(F + row * n + j, sigmoid(z), there & (j < n))


@triton.jit
def _close(
    row, there, key, offsets, inbox, children, core, Q, q, H, C, Y, S, F, R, width, rank, n,
    FORM: tl.constexpr, ARITY: tl.constexpr, RANK: tl.constexpr, PARTS: tl.constexpr,
    K: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr, ROWS: tl.constexpr,
    WIDTH: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """The states of nodes, from what they received; those without a type have their gates in Y."""
    begin, slots, most = lists_of(offsets, row, there)
    if key >= 0:
        if FORM == FULL:
            reduce(
                children, H, begin, there, n, core, key, Y, row, FORM, ARITY, RANK, PARTS, K, LEFT,
                RIGHT, ROWS, WIDTH,
            )  # fmt: skip
        elif FORM != SUM:
            reduce(
                inbox, S, begin, there, width, core, key, R, row, FORM, ARITY, RANK, PARTS, K, LEFT,
                RIGHT, ROWS, WIDTH,
            )  # fmt: skip
        tl.debug_barrier()
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        here = there & (j < n)
        y = Y + row * 3 * n + j
        i = tl.zeros((ROWS, WIDTH), H.dtype.element_ty)
        o, u, kept = i, i, i
        if FORM == FULL or key < 0:
            i += tl.load(y, here, other=0)
            o += tl.load(y + n, here, other=0)
            u += tl.load(y + 2 * n, here, other=0)
        if FORM != FULL and key >= 0:
            own = q + key * 3 * n + j
            i += tl.load(own, j < n, other=0)
            o += tl.load(own + n, j < n, other=0)
            u += tl.load(own + 2 * n, j < n, other=0)
            if FORM != SUM:
                r, own, step = R + row * 3 * rank, Q + key * 3 * rank * n + j, rank * n
                i += product(r, there, rank, own, n, j < n, ROWS, WIDTH, DEPTH)
                r, own = r + rank, own + step
                o += product(r, there, rank, own, n, j < n, ROWS, WIDTH, DEPTH)
                r, own = r + rank, own + step
                u += product(r, there, rank, own, n, j < n, ROWS, WIDTH, DEPTH)
        for first in range(0, most, TOGETHER):
            for slot in tl.static_range(TOGETHER):
                mine = there & (first + slot < slots)
                message = rows_at(inbox, begin + first + slot, mine, 1)
                child = rows_at(children, begin + first + slot, mine, n)
                f = tl.load(F + message * n + j, mine & (j < n), other=0)
                kept += f * tl.load(C + child + j, mine & (j < n), other=0)
                if FORM == SUM:
                    s = S + message * width + j
                    i += tl.load(s, mine & (j < n), other=0)
                    o += tl.load(s + n, mine & (j < n), other=0)
                    u += tl.load(s + 2 * n, mine & (j < n), other=0)
        close_cell(i, o, u, kept, y, C + row * n + j, H + row * n + j, n, here)


@triton.jit
def up(
    tasks, done, offsets, inbox, children, sources, W, w, V, b, core, Q, q, H, C, Y, S, F, R,
    width, rank, n: tl.constexpr, FORM: tl.constexpr, ARITY: tl.constexpr, RANK: tl.constexpr,
    PARTS: tl.constexpr, K: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Computes all states."""
    is_messages, first, end, key, phase = take(tasks, done)
    row = first + tl.arange(0, ROWS)[:, None].to(tl.int64)
    if is_messages:
        _send(row, row < end, key, sources, W, w, V, b, H, S, F, width, n, ROWS, WIDTH, DEPTH)
    else:
        _close(
            row, row < end, key, offsets, inbox, children, core, Q, q, H, C, Y, S, F, R, width,
            rank, n, FORM, ARITY, RANK, PARTS, K, LEFT, RIGHT, ROWS, WIDTH, DEPTH,
        )  # fmt: skip
    finish(done, phase)


@triton.jit
def _send_backward(
    row, there, key, sources, back_offsets, back_slots, receivers, W, V, C, F, dC, dY, dS, dF,
    d_slots, own, width, n, FORM: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    DEPTH: tl.constexpr,
):  # fmt: skip
    """Sets dS, dF and ``own`` of messages, from the gradients of their receivers."""
    begin, slots, most = lists_of(back_offsets, row, there)
    source = rows_at(sources, row, there, n)
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        here = there & (j < n)
        dc = tl.zeros((ROWS, WIDTH), C.dtype.element_ty)
        dh = tl.zeros((ROWS, WIDTH), C.dtype.element_ty)
        for first in range(0, most, TOGETHER):
            for slot in tl.static_range(TOGETHER):
                mine = there & (first + slot < slots)
                v = rows_at(receivers, begin + first + slot, mine, n)
                dc += tl.load(dC + v + j, mine & (j < n), other=0)
                if FORM == FULL:  # a message is h itself
                    e = rows_at(back_slots, begin + first + slot, mine, n)
                    dh += tl.load(d_slots + e + j, mine & (j < n), other=0)
        f = tl.load(F + row * n + j, here, other=0)
        c = tl.load(C + source + j, here, other=0)
        tl.store(dF + row * n + j, dc * c * f * (1 - f), here)
        tl.store(own + row * 2 * n + j, dh, here)
        tl.store(own + row * 2 * n + n + j, dc * f, here)
    for column in range(0, width, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        ds = tl.zeros((ROWS, WIDTH), C.dtype.element_ty)
        for first in range(0, most, TOGETHER):
            for slot in tl.static_range(TOGETHER):
                mine = there & (first + slot < slots)
                if FORM == SUM:
                    to = dY + rows_at(receivers, begin + first + slot, mine, width)
                else:
                    to = d_slots + rows_at(back_slots, begin + first + slot, mine, width)
                ds += tl.load(to + j, mine & (j < width), other=0)
        tl.store(dS + row * width + j, ds, there & (j < width))
    tl.debug_barrier()
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        to, here, of_v = own + row * 2 * n + j, there & (j < n), V + (key * n + j) * n
        dh = tl.load(to, here, other=0)
        dh += product(dF + row * n, there, n, of_v, 1, j < n, ROWS, WIDTH, DEPTH)
        of_w = W + (key * n + j) * width
        dh += product(dS + row * width, there, width, of_w, 1, j < n, ROWS, WIDTH, DEPTH)
        tl.store(to, dh, here)


@triton.jit
def _close_backward(
    row, there, key, offsets, inbox, children, sent_offsets, sent, core, Q, H, C, Y, S, dH, dC, dY,
    dR, d_slots, own, width, rank, n, FORM: tl.constexpr, ARITY: tl.constexpr, RANK: tl.constexpr,
    PARTS: tl.constexpr, K: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Completes dC of nodes and sets dY, dR and ``d_slots``, from ``own`` of their messages."""
    begin, number, most = lists_of(sent_offsets, row, there)
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        here = there & (j < n)
        dh = tl.load(dH + row * n + j, here, other=0)
        dc = tl.load(dC + row * n + j, here, other=0)
        for first in range(0, most, TOGETHER):
            for one in tl.static_range(TOGETHER):
                mine = there & (first + one < number)
                to = own + rows_at(sent, begin + first + one, mine, 2 * n) + j
                dh += tl.load(to, mine & (j < n), other=0)
                dc += tl.load(to + n, mine & (j < n), other=0)
        y, dy = Y + row * 3 * n + j, dY + row * 3 * n + j
        close_cell_backward(y, C + row * n + j, dh, dc, dy, dC + row * n + j, n, here)
    if FORM != SUM and key >= 0:
        tl.debug_barrier()
        slot = tl.load(offsets + row, there, other=0).to(tl.int64)
        if FORM == FULL:
            reduce_backward(
                children, H, slot, there, n, core, key, dY, d_slots, row, FORM, ARITY, RANK,
                PARTS, K, LEFT, RIGHT, ROWS, WIDTH, SLOTS,
            )  # fmt: skip
        else:
            for g in range(3):
                for column in range(0, rank, WIDTH):
                    j = column + tl.arange(0, WIDTH)[None, :]
                    dy, of_q = dY + (row * 3 + g) * n, Q + ((key * 3 + g) * rank + j) * n
                    dr = product(dy, there, n, of_q, 1, j < rank, ROWS, WIDTH, DEPTH)
                    tl.store(dR + (row * 3 + g) * rank + j, dr, there & (j < rank))
            tl.debug_barrier()
            reduce_backward(
                inbox, S, slot, there, width, core, key, dR, d_slots, row, FORM, ARITY, RANK,
                PARTS, K, LEFT, RIGHT, ROWS, WIDTH, SLOTS,
            )  # fmt: skip


@triton.jit
def down(
    tasks, done, offsets, inbox, children, sources, back_offsets, back_slots, receivers,
    sent_offsets, sent, W, V, core, Q, H, C, Y, S, F, dH, dC, dY, dS, dF, dR, d_slots, own,
    width, rank, n: tl.constexpr, FORM: tl.constexpr, ARITY: tl.constexpr, RANK: tl.constexpr,
    PARTS: tl.constexpr, K: tl.constexpr, LEFT: tl.constexpr, RIGHT: tl.constexpr,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Computes the gradients of all states; dH and dC initially have those given from outside.

    Each row collects from what it was sent to: a message from its receivers, a node from its
    messages, which leave the gradients of h and c in ``own``, side by side.
    """
    is_messages, first, end, key, phase = take(tasks, done)
    row = first + tl.arange(0, ROWS)[:, None].to(tl.int64)
    if is_messages:
        _send_backward(
            row, row < end, key, sources, back_offsets, back_slots, receivers, W, V, C, F, dC, dY,
            dS, dF, d_slots, own, width, n, FORM, ROWS, WIDTH, DEPTH,
        )  # fmt: skip
    else:
        _close_backward(
            row, row < end, key, offsets, inbox, children, sent_offsets, sent, core, Q, H, C, Y, S,
            dH, dC, dY, dR, d_slots, own, width, rank, n, FORM, ARITY, RANK, PARTS, K, LEFT, RIGHT,
            ROWS, WIDTH, DEPTH, SLOTS,
        )  # fmt: skip
    finish(done, phase)
