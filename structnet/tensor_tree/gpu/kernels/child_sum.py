"""The GPU kernels of a Child-Sum Tree-LSTM: each computes a whole sweep, upwards or downwards.

The letters are those of :class:`...compiled.child_sum_sweep.States`; ``d`` before a letter is its
gradient. A, K, P and their gradients have rows for nodes with children only, the first of which is
node ``leaves``. ``n`` is the hidden size. ``row`` and ``there`` are the rows of a task, and which
there are, ``[ROWS, 1]``. The gradients of forget gates' arguments and of places, which no other
node needs, have kernels of their own.
"""

from __future__ import annotations

import triton
import triton.language as tl

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

jit = triton.jit(do_not_specialize=["leaves", "num_edges"])


@triton.jit
def _receive(
    row, there, offsets, children, places, g, s, P, H, C, Q, A, K, leaves, n, WIDTH: tl.constexpr
):
    """Sets ``A = sum_j g_j * h_j + s_j`` and ``K = sum_j f_j * c_j`` over a node's children j."""
    begin, slots, most = lists_of(offsets, row, there)
    own = (row - leaves) * n
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        here = there & (j < n)
        p = tl.load(P + own + j, here, other=0)
        total, kept = tl.zeros_like(p), tl.zeros_like(p)
        for first in range(0, most, TOGETHER):
            for slot in tl.static_range(TOGETHER):
                mine = there & (first + slot < slots)
                child = rows_at(children, begin + first + slot, mine, n) + j
                place = rows_at(places, begin + first + slot, mine, n) + j
                mine = mine & (j < n)
                total += tl.load(g + place, mine, other=0) * tl.load(H + child, mine, other=0)
                total += tl.load(s + place, mine, other=0)
                f = sigmoid(p + tl.load(Q + child, mine, other=0))
                kept += f * tl.load(C + child, mine, other=0)
        tl.store(A + own + j, total, here)
        tl.store(K + own + j, kept, here)


@jit
def up(
    tasks, done, offsets, children, places, U, V, g, s, P, Y, H, C, Q, A, K, leaves,
    n: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Computes all states; Y initially has the contributions of labels to the gates' arguments."""
    _, first, end, has_children, phase = take(tasks, done)
    row = first + tl.arange(0, ROWS)[:, None].to(tl.int64)
    there = row < end
    if has_children > 0:
        _receive(row, there, offsets, children, places, g, s, P, H, C, Q, A, K, leaves, n, WIDTH)
        tl.debug_barrier()
    a = A + (row - leaves) * n
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        here = there & (j < n)
        y = Y + row * 3 * n + j
        i = tl.load(y, here, other=0)
        o = tl.load(y + n, here, other=0)
        u = tl.load(y + 2 * n, here, other=0)
        kept = tl.zeros_like(i)
        if has_children > 0:
            i += product(a, there, n, U + j, 3 * n, j < n, ROWS, WIDTH, DEPTH)
            o += product(a, there, n, U + n + j, 3 * n, j < n, ROWS, WIDTH, DEPTH)
            u += product(a, there, n, U + 2 * n + j, 3 * n, j < n, ROWS, WIDTH, DEPTH)
            kept += tl.load(K + (row - leaves) * n + j, here, other=0)
        close_cell(i, o, u, kept, y, C + row * n + j, H + row * n + j, n, here)
    tl.debug_barrier()
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        q = product(H + row * n, there, n, V + j, n, j < n, ROWS, WIDTH, DEPTH)
        tl.store(Q + row * n + j, q, there & (j < n))
    finish(done, phase)


@triton.jit
def _pull(
    row, there, back_offsets, back_edges, parents, places, g, P, C, Q, dA, dC, dQ, dH, leaves, n,
    WIDTH: tl.constexpr,
):  # fmt: skip
    """Takes the gradients of a node's parents to it: sets its dQ, and adds to its dC and dH."""
    begin, number, most = lists_of(back_offsets, row, there)
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        here = there & (j < n)
        own = row * n + j
        c, q = tl.load(C + own, here, other=0), tl.load(Q + own, here, other=0)
        dh = tl.load(dH + own, here, other=0)
        dc, dq = tl.zeros_like(c), tl.zeros_like(c)
        for first in range(0, most, TOGETHER):
            for one in tl.static_range(TOGETHER):
                mine = there & (first + one < number)
                edge = rows_at(back_edges, begin + first + one, mine, 1)
                place = rows_at(places, edge, mine, n) + j
                parent = rows_at(parents, edge, mine, n) + j
                inner = parent - leaves * n
                mine = mine & (j < n)
                f = sigmoid(tl.load(P + inner, mine, other=0) + q)
                d_parent = tl.load(dC + parent, mine, other=0)
                dc += d_parent * f
                dq += d_parent * c * f * (1 - f)
                dh += tl.load(g + place, mine, other=0) * tl.load(dA + inner, mine, other=0)
        tl.store(dC + own, dc, here)
        tl.store(dQ + own, dq, here)
        tl.store(dH + own, dh, here)


@jit
def down(
    tasks, done, back_offsets, back_edges, parents, places, U, V, g, P, Y, C, Q, dA, dC, dQ, dH,
    dY, leaves, n: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Computes the gradients of all states; dH initially has those given from outside."""
    _, first, end, has_children, phase = take(tasks, done)
    row = first + tl.arange(0, ROWS)[:, None].to(tl.int64)
    there = row < end
    _pull(
        row, there, back_offsets, back_edges, parents, places, g, P, C, Q, dA, dC, dQ, dH, leaves,
        n, WIDTH,
    )  # fmt: skip
    tl.debug_barrier()
    for column in range(0, n, WIDTH):
        j = column + tl.arange(0, WIDTH)[None, :]
        here = there & (j < n)
        own, y = row * n + j, row * 3 * n + j
        dh = tl.load(dH + own, here, other=0)
        dh += product(dQ + row * n, there, n, V + j * n, 1, j < n, ROWS, WIDTH, DEPTH)
        dc = tl.load(dC + own, here, other=0)
        close_cell_backward(Y + y, C + own, dh, dc, dY + y, dC + own, n, here)
    if has_children > 0:
        tl.debug_barrier()
        for column in range(0, n, WIDTH):
            j = column + tl.arange(0, WIDTH)[None, :]
            of_u = U + j * 3 * n
            da = product(dY + row * 3 * n, there, 3 * n, of_u, 1, j < n, ROWS, WIDTH, DEPTH)
            tl.store(dA + (row - leaves) * n + j, da, there & (j < n))
    finish(done, phase)


@jit
def forget_backward(
    offsets, children, P, C, Q, dC, dP, leaves, n, ROWS: tl.constexpr, WIDTH: tl.constexpr
):
    """Sets dP of a node with children."""
    row = tl.program_id(0).to(tl.int64)
    v = leaves + row
    j = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)[None, :]
    begin, end = tl.load(offsets + v), tl.load(offsets + v + 1)
    p = tl.load(P + row * n + j, j < n, other=0)
    total = tl.zeros((1, WIDTH), C.dtype.element_ty)
    for i in range(begin, end, ROWS):
        edge = i + tl.arange(0, ROWS)
        there = (edge < end)[:, None] & (j < n)
        child = tl.load(children + edge, edge < end, other=0).to(tl.int64)[:, None] * n + j
        f = sigmoid(p + tl.load(Q + child, there, other=0))
        total += tl.sum(f * (1 - f) * tl.load(C + child, there, other=0), 0, keep_dims=True)
    total *= tl.load(dC + v * n + j, j < n, other=0)
    tl.store(dP + row * n + j, total, j < n)


@jit
def places_backward(
    children, parents, places, H, dA, dg, ds, num_edges, leaves, n, num_places,
    EDGES: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Sets the parts of dg and ds, one per run of ``EDGES`` edges: ``[runs, places, n]``."""
    begin = tl.program_id(0) * EDGES
    place = tl.program_id(1)
    j = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)[None, :]
    gate = tl.zeros((1, WIDTH), H.dtype.element_ty)
    bias = tl.zeros((1, WIDTH), H.dtype.element_ty)
    for i in range(begin, min(begin + EDGES, num_edges), ROWS):
        edge = i + tl.arange(0, ROWS)
        in_place = tl.load(places + edge, edge < num_edges, other=-1) == place
        there = in_place[:, None] & (j < n)
        child = tl.load(children + edge, in_place, other=0).to(tl.int64)[:, None] * n + j
        parent = tl.load(parents + edge, in_place, other=0).to(tl.int64)[:, None]
        d_sum = tl.load(dA + (parent - leaves) * n + j, there, other=0)
        bias += tl.sum(d_sum, 0, keep_dims=True)
        gate += tl.sum(d_sum * tl.load(H + child, there, other=0), 0, keep_dims=True)
    out = (tl.program_id(0) * num_places + place).to(tl.int64) * n + j
    tl.store(dg + out, gate, j < n)
    tl.store(ds + out, bias, j < n)
