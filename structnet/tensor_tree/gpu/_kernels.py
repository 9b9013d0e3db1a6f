"""The GPU kernels for one level of a sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM`.

Matrix products are left to torch; a few kernels do the rest of a level, forward and backward. The
letters are those of :class:`..compiled.child_sum_sweep.States`; ``d`` before a letter is its
gradient. A program computes some columns of one node (:mod:`structnet.message_passing.gpu.rows`),
or of one place and a run of edges. ``n`` is the hidden size. A, K, P and their gradients have rows
for nodes with children only, the first of which is node ``leaves``.
"""

from __future__ import annotations

import triton
import triton.language as tl

jit = triton.jit(do_not_specialize=["first", "leaves", "kept", "num_edges"])


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@jit
def receive(
    offsets, children, places, g, s, P, H, C, Q, A, K, first, leaves, n,
    ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Sets ``A = sum_j g_j * h_j + s_j`` and ``K = sum_j f_j * c_j`` over a node's children j."""
    v = first + tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)[None, :]
    own = (v - leaves) * n + j
    begin, end = tl.load(offsets + v), tl.load(offsets + v + 1)
    p = tl.load(P + own, j < n, other=0)
    total = tl.zeros((1, WIDTH), H.dtype.element_ty)
    kept = tl.zeros((1, WIDTH), H.dtype.element_ty)
    for i in range(begin, end, ROWS):
        edge = i + tl.arange(0, ROWS)
        there = (edge < end)[:, None] & (j < n)
        child = tl.load(children + edge, edge < end, other=0).to(tl.int64)[:, None] * n + j
        place = tl.load(places + edge, edge < end, other=0)[:, None] * n + j
        h = tl.load(H + child, there, other=0)
        total += tl.sum(
            tl.load(g + place, there, other=0) * h + tl.load(s + place, there, other=0), 0,
            keep_dims=True,
        )  # fmt: skip
        f = tl.sigmoid(p + tl.load(Q + child, there, other=0))
        kept += tl.sum(f * tl.load(C + child, there, other=0), 0, keep_dims=True)
    tl.store(A + own, total, j < n)
    tl.store(K + own, kept, j < n)


@jit
def gates(Y, K, H, C, first, leaves, kept, n, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Sets h and c of a node from its pre-activations and the first ``kept`` (0 or n) of its K."""
    v = first + tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    y = Y + 3 * v * n + j
    i = tl.sigmoid(tl.load(y, j < n, other=0))
    o = tl.sigmoid(tl.load(y + n, j < n, other=0))
    u = _tanh(tl.load(y + 2 * n, j < n, other=0))
    c = i * u + tl.load(K + (v - leaves) * n + j, j < kept, other=0)
    tl.store(C + v * n + j, c, j < n)
    tl.store(H + v * n + j, o * _tanh(c), j < n)


@jit
def pull(
    back_offsets, back_edges, parents, places, g, P, C, Q, dA, dC, dQ, dH, first, leaves, n,
    ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Takes the gradients of a node's parents to it: sets its dC and dQ, and adds to its dH."""
    v = first + tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)[None, :]
    own = v * n + j
    begin, end = tl.load(back_offsets + v), tl.load(back_offsets + v + 1)
    c, q = tl.load(C + own, j < n, other=0), tl.load(Q + own, j < n, other=0)
    dc = tl.zeros((1, WIDTH), C.dtype.element_ty)
    dq = tl.zeros((1, WIDTH), C.dtype.element_ty)
    dh = tl.load(dH + own, j < n, other=0)
    for i in range(begin, end, ROWS):
        entry = i + tl.arange(0, ROWS)
        there = (entry < end)[:, None] & (j < n)
        edge = tl.load(back_edges + entry, entry < end, other=0)
        place = tl.load(places + edge, entry < end, other=0)[:, None] * n + j
        parent = tl.load(parents + edge, entry < end, other=0).to(tl.int64)[:, None]
        inner = (parent - leaves) * n + j
        f = tl.sigmoid(tl.load(P + inner, there, other=0) + q)
        d_parent = tl.load(dC + parent * n + j, there, other=0)
        dc += tl.sum(d_parent * f, 0, keep_dims=True)
        dq += tl.sum(d_parent * c * f * (1 - f), 0, keep_dims=True)
        d_sum = tl.load(dA + inner, there, other=0)
        dh += tl.sum(tl.load(g + place, there, other=0) * d_sum, 0, keep_dims=True)
    tl.store(dC + own, dc, j < n)
    tl.store(dQ + own, dq, j < n)
    tl.store(dH + own, dh, j < n)


@jit
def gates_backward(Y, C, dH, dC, dY, first, n, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Completes a node's dC, and sets its dY."""
    v = first + tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    own, y = v * n + j, 3 * v * n + j
    i = tl.sigmoid(tl.load(Y + y, j < n, other=0))
    o = tl.sigmoid(tl.load(Y + y + n, j < n, other=0))
    u = _tanh(tl.load(Y + y + 2 * n, j < n, other=0))
    t = _tanh(tl.load(C + own, j < n, other=0))
    dh = tl.load(dH + own, j < n, other=0)
    dc = tl.load(dC + own, j < n, other=0) + dh * o * (1 - t * t)
    tl.store(dC + own, dc, j < n)
    tl.store(dY + y, dc * u * i * (1 - i), j < n)
    tl.store(dY + y + n, dh * t * o * (1 - o), j < n)
    tl.store(dY + y + 2 * n, dc * i * (1 - u * u), j < n)


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
        f = tl.sigmoid(p + tl.load(Q + child, there, other=0))
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
