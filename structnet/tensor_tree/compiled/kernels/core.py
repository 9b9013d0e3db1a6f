"""Products of a dense core with one vector per child, for the rows of one level at a time.

``y(g, k) = sum core(g; i_1, .., i_L, k) (x_1, 1)(i_1) .. (x_L, 1)(i_L)`` for each part g. The outer
product of the first ``at`` children's vectors is *left*, with ``a`` numbers, and that of the others
*right*, with ``b``. Left times the core is the *product*, a matrix product; that times right is y.

As vectors are short, loops run over *lanes*: the last axis of the arrays has one place per pair of
a part and a node, and its size is a multiple of :data:`LANES`, which vector registers hold. A block
is a number of nodes that is such a multiple, one part at a time, for the matrix library; or fewer
than that, all parts at once and, as far as that fills no register, lanes that nobody reads.

Row ``pointers[e]`` of ``X`` has the vectors of slot e, r adjacent numbers for each part.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import bare, inlined, internal
from structnet.tensor_tree.compiled.kernels.lanes import (
    LANES,
    add_products,
    add_times,
    add_times_transposed,
    gather,
    multiply,
    spread,
)
from structnet.tensor_tree.compiled.kernels.steps import BLOCK, share_of


@bare
def _load(offsets, pointers, nodes, X, g, parts, r, x):
    """The vectors of the children of ``parts`` parts from g on, place by place; 0 elsewhere."""
    n, lanes = len(nodes), x.shape[1]
    for i in range(n):
        slot = offsets[nodes[i]]
        for m in range(len(x) // r):
            for p in range(parts):
                spread(x, m * r, p * n + i, X, pointers[slot + m], (g + p) * r, r)
    for j in range(len(x)):
        for lane in range(n * parts, lanes):
            x[j, lane] = 0


@bare
def _load_rows(nodes, Y, g, parts, y):
    """Numbers of the nodes' rows of Y, for ``parts`` parts from g on; 0 elsewhere."""
    n, (k, lanes) = len(nodes), y.shape
    for i in range(n):
        for p in range(parts):
            spread(y, 0, p * n + i, Y, nodes[i], (g + p) * k, k)
    for j in range(k):
        for lane in range(n * parts, lanes):
            y[j, lane] = 0


# ---- loops over lanes


@bare
def _multiply_out(x, begin, end, r, out):
    """The outer product ``(x_1, 1) (x_2, 1) ..`` of modes of x, the last fastest, in ``out``.

    Their vectors are rows ``begin`` to ``end`` of x. It ends with the outer product of the last
    modes alone, as the first ones end with 1.
    """
    last, lanes = len(out) - 1, out.shape[1]
    for lane in range(lanes):
        out[last, lane] = 1
    size = 1
    for m in range(end - r, begin - 1, -r):
        for i in range(r):
            first, later = len(out) - (r + 1 - i) * size, len(out) - size
            for j in range(size):
                multiply(out, first + j, x, m + i, out, later + j)
        size *= r + 1


@bare
def _multiply_out_backward(x, begin, end, r, out, gradient, dx):
    """The gradient of :func:`_multiply_out` in dx; overwrites ``gradient``, that of ``out``.

    The last rows of ``gradient`` get that of the outer product of the later modes.
    """
    size, first, lanes = len(out), 0, out.shape[1]
    for m in range(begin, end, r):
        size //= r + 1
        later = len(out) - size
        for i in range(r):
            for lane in range(lanes):
                dx[m + i, lane] = 0
            add_products(dx, m + i, gradient, first + i * size, 1, out, later, size)
        for j in range(size):
            add_products(gradient, later + j, gradient, first + j, size, x, m, r)
        first = later


@bare
def _times_right(product, right, y):
    """``y(j) = sum_n product(n, j) right(n)``."""
    k, lanes = y.shape
    for j in range(k):
        for lane in range(lanes):
            y[j, lane] = 0
        add_products(y, j, product, j, k, right, 0, len(right))


@bare
def _times_right_backward(product, dy, d_right):
    """The gradient of ``right``: ``sum_j product(n, j) dy(j)``."""
    k, lanes = dy.shape
    for n in range(len(d_right)):
        for lane in range(lanes):
            d_right[n, lane] = 0
        add_products(d_right, n, product, n * k, 1, dy, 0, k)


@bare
def _outer(right, dy, out):
    """The gradient of the product: ``right(n) dy(j)``."""
    k = len(dy)
    for n in range(len(right)):
        for j in range(k):
            multiply(out, n * k + j, right, n, dy, j)


# ---- products of few nodes: each has a row of its own, as a register is filled along it


@bare
def _few_products(left, weight, rows, product):
    """Left times the core for each part and node, in ``rows`` and in lanes."""
    n = len(rows) // len(weight)
    for row in range(len(rows)):
        for j in range(rows.shape[1]):
            rows[row, j] = 0
        add_times(left, row, left.shape[1], weight, row // n, rows, row)
        spread(product, 0, row, rows, row, 0, rows.shape[1])


@internal
def _few_products_backward(right, dy, weight, n, d_left):
    """The gradient of left, from that of y, for n nodes."""
    parts, a, columns = weight.shape
    k = len(dy)
    rows, row = np.empty((1, columns), dy.dtype), np.empty((1, a), dy.dtype)
    for lane in range(parts * n):
        for m in range(len(right)):
            for j in range(k):
                rows[0, m * k + j] = right[m, lane] * dy[j, lane]
        for j in range(a):
            row[0, j] = 0
        add_times_transposed(rows, weight, lane // n, row, 0, 1)
        spread(d_left, 0, lane, row, 0, 0, a)


# ---- a block


@internal
def _parts(nodes, weight):
    """The number of parts that are computed at once."""
    return len(weight) if len(nodes) < LANES else 1


@internal
def _sizes(offsets, nodes, parts):
    """The number of lanes of a block, and of places of a node."""
    lanes = (len(nodes) * parts + LANES - 1) // LANES * LANES
    return lanes, offsets[nodes[0] + 1] - offsets[nodes[0]]


@bare
def _factors(offsets, pointers, nodes, X, g, parts, r, at, x, left, right):
    """The children's vectors in x, and the outer products of the first ``at`` and the others."""
    _load(offsets, pointers, nodes, X, g, parts, r, x)
    _multiply_out(x, 0, at * r, r, left)
    _multiply_out(x, at * r, len(x), r, right)


@internal
def _block(offsets, pointers, nodes, X, weight, r, at, kept, Y):
    """Computes the nodes' rows of Y; ``kept`` gets the products, part by part."""
    n, (all_parts, a, columns) = len(nodes), weight.shape
    parts = _parts(nodes, weight)
    lanes, places = _sizes(offsets, nodes, parts)
    k = Y.shape[1] // all_parts
    x, y = np.empty((places * r, lanes), X.dtype), np.empty((k, lanes), X.dtype)
    left, right = np.empty((a, lanes), X.dtype), np.empty((columns // k, lanes), X.dtype)
    for g in range(0, all_parts, parts):
        _factors(offsets, pointers, nodes, X, g, parts, r, at, x, left, right)
        if n < LANES:
            product = np.empty((columns, lanes), X.dtype)
            _few_products(left, weight, kept.reshape(parts * n, columns), product)
        else:
            product = kept[g * n * columns : (g + 1) * n * columns].reshape(columns, n)
            np.dot(weight[g].T, left, product)
        _times_right(product, right, y)
        for i in range(n):
            for p in range(parts):
                gather(y, 0, p * n + i, Y, nodes[i], (g + p) * k, k)


@internal
def _block_backward(offsets, pointers, nodes, X, weight, r, at, kept, DY, DX):
    """The gradient of :func:`_block` except the core's, for each slot in its row of DX."""
    n, (all_parts, a, columns) = len(nodes), weight.shape
    parts = _parts(nodes, weight)
    lanes, places = _sizes(offsets, nodes, parts)
    k = DY.shape[1] // all_parts
    x, dy = np.empty((places * r, lanes), X.dtype), np.empty((k, lanes), X.dtype)
    left, right = np.empty((a, lanes), X.dtype), np.empty((columns // k, lanes), X.dtype)
    dx, d_left, d_right = np.empty_like(x), np.empty_like(left), np.empty_like(right)
    buffer = np.empty((columns, lanes), X.dtype)
    for g in range(0, all_parts, parts):
        _factors(offsets, pointers, nodes, X, g, parts, r, at, x, left, right)
        _load_rows(nodes, DY, g, parts, dy)
        if n < LANES:
            _few_products_backward(right, dy, weight, n, d_left)
            product = buffer
            rows = kept.reshape(parts * n, columns)
            for lane in range(parts * n):
                spread(product, 0, lane, rows, lane, 0, columns)
        else:
            _outer(right, dy, buffer)
            np.dot(weight[g], buffer, d_left)
            product = kept[g * n * columns : (g + 1) * n * columns].reshape(columns, n)
        _times_right_backward(product, dy, d_right)
        _multiply_out_backward(x, 0, at * r, r, left, d_left, dx)
        _multiply_out_backward(x, at * r, len(x), r, right, d_right, dx)
        for i in range(n):
            for m in range(places):
                slot = offsets[nodes[i]] + m
                for p in range(parts):
                    gather(dx, m * r, p * n + i, DX, slot, (g + p) * r, r)


@internal
def _weight_backward(offsets, pointers, nodes, X, r, at, DY, d_weight):
    """Adds the nodes' gradient of the core."""
    parts, a, columns = d_weight.shape
    lanes, places = _sizes(offsets, nodes, 1)
    k = DY.shape[1] // parts
    x, dy = np.empty((places * r, lanes), X.dtype), np.empty((k, lanes), X.dtype)
    left, right = np.empty((a, lanes), X.dtype), np.empty((columns // k, lanes), X.dtype)
    d_product, total = np.empty((columns, lanes), X.dtype), np.empty((a, columns), X.dtype)
    for g in range(parts):
        _factors(offsets, pointers, nodes, X, g, 1, r, at, x, left, right)
        _load_rows(nodes, DY, g, 1, dy)
        _outer(right, dy, d_product)
        np.dot(left, d_product.T, total)
        for i in range(a):
            for j in range(columns):
                d_weight[g, i, j] += total[i, j]


# ---- a level, and a share of the gradient of the weights


@inlined
def contract(plan, pointers, level, lo, hi, core, X, products, Y):
    """Computes rows of Y of one level; ``products`` keeps those of all typed nodes, or is empty."""
    nodes, passing = np.arange(lo, hi), np.empty((0, 0), X.dtype)
    if len(products) == 0:
        size = core.weight.shape[1] * core.weight.shape[3]
        passing = np.empty((min(BLOCK, max(hi - lo, 0)), size), X.dtype)
    for run in range(plan.node_levels[level], plan.node_levels[level + 1]):
        begin, end = max(plan.nodes[run], lo), min(plan.nodes[run + 1], hi)
        while begin < end:
            n = _next(end - begin)
            row = begin - plan.leaves
            kept = products[row : row + n] if len(products) else passing[:n]
            _block(
                plan.offsets, pointers, nodes[begin - lo : begin - lo + n], X,
                core.weight[plan.node_keys[run]], core.rank, core.at, kept.reshape(-1), Y,
            )  # fmt: skip
            begin += n


@inlined
def contract_backward(plan, pointers, level, lo, hi, core, X, products, DY, DX):
    """The gradient of :func:`contract` except the core's, for each slot in its row of DX."""
    nodes = np.arange(lo, hi)
    for run in range(plan.node_levels[level], plan.node_levels[level + 1]):
        begin, end = max(plan.nodes[run], lo), min(plan.nodes[run + 1], hi)
        while begin < end:
            n = _next(end - begin)
            kept = products[begin - plan.leaves : begin - plan.leaves + n]
            _block_backward(
                plan.offsets, pointers, nodes[begin - lo : begin - lo + n], X,
                core.weight[plan.node_keys[run]], core.rank, core.at, kept.reshape(-1), DY, DX,
            )  # fmt: skip
            begin += n


@internal
def _next(n):
    """The number of nodes of the next block, of n that are left."""
    return min(BLOCK, n // LANES * LANES) if n >= LANES else n


@inlined
def core_backward(offsets, pointers, order, share, shares, core, X, DY, d_weight):
    """Adds a share of the core's gradient, in one product for many rows of a type on any level."""
    for key in range(len(order.starts) - 1):
        lo, hi, place = share_of(order, key, share, shares)
        for begin in range(lo, hi, BLOCK):
            nodes = order.rows[begin : min(begin + BLOCK, hi)]
            _weight_backward(offsets, pointers, nodes, X, core.rank, core.at, DY, d_weight[place])
