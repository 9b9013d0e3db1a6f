"""Products of a dense core with one vector per child, for the rows of one level at a time.

``y(g, k) = sum core(g; i_1, .., i_L, k) (x_1, 1)(i_1) .. (x_L, 1)(i_L)`` for each part g. The outer
product of the first ``at`` children's vectors is *left*, with ``a`` numbers, and that of the others
*right*, with ``b``. Left times the core is the *product*, a matrix product; that times right is y.
In a row of the product, the numbers for all k are adjacent or, with ``k_first``, those for right.

As vectors are short, eight pairs of a row and a part are multiplied out side by side, each in a
*lane*. Row ``pointers[e]`` of ``X`` has the vectors of slot e, r adjacent numbers for each part.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import inlined, internal
from structnet.tensor_tree.compiled.kernels.products import times, times_transposed
from structnet.tensor_tree.compiled.kernels.steps import BLOCK, share_of

LANES = 8


@internal
def _load(offsets, pointers, nodes, first, X, modes, parts, row_of, part_of, x):
    """Fills in the row, the part and the vectors of each lane; x is ``[modes, r, LANES]``.

    The first lane is for the pair ``first`` of a row and a part; lanes after the last pair repeat
    it.
    """
    total, r = len(nodes) * parts, x.shape[1]
    i, g = first // parts, first % parts
    for lane in range(LANES):
        row_of[lane], part_of[lane] = i, g
        slot, column = offsets[nodes[i]] + modes, g * r
        for m in range(x.shape[0]):
            row = pointers[slot + m]
            for n in range(r):
                x[m, n, lane] = X[row, column + n]
        if first + lane + 1 < total:
            g += 1
            if g == parts:
                i, g = i + 1, 0


@internal
def _multiply_out(x, out):
    """The outer product ``(x_1, 1) (x_2, 1) ..``, the last mode fastest, in ``out``.

    It ends with the outer product of the last modes alone, as the first ones end with 1.
    """
    end = len(out)
    for lane in range(LANES):
        out[end - 1, lane] = 1
    size, r = 1, x.shape[1]
    for m in range(len(x) - 1, -1, -1):
        for i in range(r):
            first = end - (r + 1 - i) * size
            for j in range(size):
                for lane in range(LANES):
                    out[first + j, lane] = x[m, i, lane] * out[end - size + j, lane]
        size *= r + 1


@internal
def _multiply_out_backward(x, out, gradient, dx):
    """The gradient of :func:`_multiply_out` in dx; overwrites ``gradient``, that of ``out``."""
    size, r = len(out), x.shape[1]
    for m in range(len(x)):
        size //= r + 1
        others = len(out) - size
        for i in range(r):
            for lane in range(LANES):
                dx[m, i, lane] = 0
            for j in range(size):
                for lane in range(LANES):
                    dx[m, i, lane] += gradient[i * size + j, lane] * out[others + j, lane]
        # The gradient for the later modes: those of the r entries, weighted by x, and of the one.
        for j in range(size):
            for lane in range(LANES):
                rest = gradient[r * size + j, lane]
                gradient[j, lane] = x[m, 0, lane] * gradient[j, lane] + rest
            for i in range(1, r):
                for lane in range(LANES):
                    gradient[j, lane] += x[m, i, lane] * gradient[i * size + j, lane]


@internal
def _factors(offsets, pointers, nodes, X, r, modes, count, out):
    """The outer products of ``count`` children of each node, from place ``modes`` on, in ``out``.

    ``out`` is ``[parts, nodes, n]``.
    """
    parts, _, size = out.shape
    x, lanes = np.empty((count, r, LANES), X.dtype), np.empty((size, LANES), X.dtype)
    row_of, part_of = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    total = len(nodes) * parts
    for first in range(0, total, LANES):
        _load(offsets, pointers, nodes, first, X, modes, parts, row_of, part_of, x)
        _multiply_out(x, lanes)
        for lane in range(min(LANES, total - first)):
            g, i = part_of[lane], row_of[lane]
            for j in range(size):
                out[g, i, j] = lanes[j, lane]


@internal
def _factors_backward(offsets, pointers, nodes, X, r, modes, count, d_out, DX):
    """The gradient of :func:`_factors`, for each slot in its row of DX."""
    parts, _, size = d_out.shape
    x, lanes = np.empty((count, r, LANES), X.dtype), np.empty((size, LANES), X.dtype)
    dx, gradient = np.empty_like(x), np.zeros_like(lanes)
    row_of, part_of = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    total = len(nodes) * parts
    for first in range(0, total, LANES):
        _load(offsets, pointers, nodes, first, X, modes, parts, row_of, part_of, x)
        _multiply_out(x, lanes)
        there = min(LANES, total - first)
        for lane in range(there):
            g, i = part_of[lane], row_of[lane]
            for j in range(size):
                gradient[j, lane] = d_out[g, i, j]
        _multiply_out_backward(x, lanes, gradient, dx)
        for lane in range(there):
            slot, column = offsets[nodes[row_of[lane]]] + modes, part_of[lane] * r
            for m in range(count):
                for i in range(r):
                    DX[slot + m, column + i] = dx[m, i, lane]


@internal
def _times_right(z, x, k_first, y):
    """``y(j) = sum_n z(n, j) x(n)``, for each row."""
    k, b = y.shape[1], x.shape[1]
    for i in range(len(z)):
        if k_first:
            for j in range(k):
                total = z[i, j * b] * x[i, 0]
                for n in range(1, b):
                    total += z[i, j * b + n] * x[i, n]
                y[i, j] = total
        else:
            for j in range(k):
                y[i, j] = 0
            for n in range(b):
                for j in range(k):
                    y[i, j] += x[i, n] * z[i, n * k + j]


@internal
def _times_right_backward(z, dy, k_first, dx):
    """The gradient of x: ``dx(n) = sum_j z(n, j) dy(j)``, for each row."""
    k, b = dy.shape[1], dx.shape[1]
    for i in range(len(z)):
        if k_first:
            for n in range(b):
                dx[i, n] = 0
            for j in range(k):
                for n in range(b):
                    dx[i, n] += dy[i, j] * z[i, j * b + n]
        else:
            for n in range(b):
                total = z[i, n * k] * dy[i, 0]
                for j in range(1, k):
                    total += z[i, n * k + j] * dy[i, j]
                dx[i, n] = total


@internal
def _outer(right, dy, k_first, out):
    """The gradient of the product: ``dz(n, j) = x(n) dy(j)``, for each row."""
    k, b = dy.shape[1], right.shape[1]
    for i in range(len(dy)):
        if k_first:
            for j in range(k):
                for n in range(b):
                    out[i, j * b + n] = dy[i, j] * right[i, n]
        else:
            for n in range(b):
                for j in range(k):
                    out[i, n * k + j] = right[i, n] * dy[i, j]


@internal
def _in_block(starts, run, begin, size):
    """The rows of a run in a block, counted from its first: where they begin and end.

    There are none if they end before they begin.
    """
    return max(starts[run] - begin, 0), min(starts[run + 1] - begin, size)


@inlined
def contract(plan, pointers, level, lo, hi, core, X, products, Y):
    """Computes rows of Y of one level; ``products`` keeps those of all typed nodes, or is empty."""
    if lo >= hi:
        return
    parts, a, columns = core.weight.shape[1:]
    k = Y.shape[1] // parts
    b, r = columns // k, core.rank
    most, count = min(BLOCK, hi - lo), plan.offsets[lo + 1] - plan.offsets[lo] - core.at
    left, right = np.empty((parts, most, a), X.dtype), np.empty((parts, most, b), X.dtype)
    passing, y = np.empty((most, columns), X.dtype), np.empty((most, k), X.dtype)
    first = np.int64(0)  # a literal would make numba compile all that is called again
    for begin in range(lo, hi, BLOCK):
        nodes = np.arange(begin, min(begin + BLOCK, hi))
        size, row = len(nodes), begin - plan.leaves
        _factors(plan.offsets, pointers, nodes, X, r, first, core.at, left)
        _factors(plan.offsets, pointers, nodes, X, r, core.at, count, right)
        for g in range(parts):
            product = products[g, row : row + size] if len(products) else passing[:size]
            for run in range(plan.node_levels[level], plan.node_levels[level + 1]):
                i, end = _in_block(plan.nodes, run, begin, size)
                if i < end:
                    weight = core.weight[plan.node_keys[run], g]
                    times(left[g, i:end], weight, product[i:end])
            _times_right(product, right[g], core.k_first, y)
            for i in range(size):
                for j in range(k):
                    Y[begin + i, g * k + j] = y[i, j]


@inlined
def contract_backward(plan, pointers, level, lo, hi, core, X, products, DY, DX):
    """The gradient of :func:`contract` except the core's, for each slot in its row of DX."""
    if lo >= hi:
        return
    parts, a, columns = core.weight.shape[1:]
    k = DY.shape[1] // parts
    b, r = columns // k, core.rank
    most, count = min(BLOCK, hi - lo), plan.offsets[lo + 1] - plan.offsets[lo] - core.at
    d_left, right = np.empty((parts, most, a), X.dtype), np.empty((parts, most, b), X.dtype)
    d_right, d_product = np.empty_like(right), np.empty((most, columns), X.dtype)
    dy, first = np.empty((most, k), X.dtype), np.int64(0)
    for begin in range(lo, hi, BLOCK):
        nodes = np.arange(begin, min(begin + BLOCK, hi))
        size, row = len(nodes), begin - plan.leaves
        _factors(plan.offsets, pointers, nodes, X, r, core.at, count, right)
        for g in range(parts):
            _rows(DY, nodes, g * k, dy)
            _outer(right[g], dy[:size], core.k_first, d_product)
            for run in range(plan.node_levels[level], plan.node_levels[level + 1]):
                i, end = _in_block(plan.nodes, run, begin, size)
                if i < end:
                    weight = core.weight[plan.node_keys[run], g]
                    times_transposed(d_product[i:end], weight, d_left[g, i:end])
            _times_right_backward(products[g, row : row + size], dy, core.k_first, d_right[g])
        _factors_backward(plan.offsets, pointers, nodes, X, r, first, core.at, d_left, DX)
        _factors_backward(plan.offsets, pointers, nodes, X, r, core.at, count, d_right, DX)


@internal
def _rows(X, nodes, column, out):
    """Copies columns of the nodes' rows, from ``column`` on, to ``out``."""
    for i in range(len(nodes)):
        for j in range(out.shape[1]):
            out[i, j] = X[nodes[i], column + j]


@inlined
def core_backward(offsets, pointers, order, share, shares, core, X, DY, d_weight):
    """Adds a share of the core's gradient, in one product for many rows of a type on any level."""
    _, parts, a, columns = core.weight.shape
    k = DY.shape[1] // parts
    b, r = columns // k, core.rank
    left, right = np.empty((parts, BLOCK, a), X.dtype), np.empty((parts, BLOCK, b), X.dtype)
    dy, first = np.empty((BLOCK, k), X.dtype), np.int64(0)
    d_product, product = np.empty((BLOCK, columns), X.dtype), np.empty((a, columns), X.dtype)
    for key in range(len(order.starts) - 1):
        lo, hi, place = share_of(order, key, share, shares)
        for begin in range(lo, hi, BLOCK):
            size = min(BLOCK, hi - begin)
            nodes = order.rows[begin : begin + size]
            count = offsets[nodes[0] + 1] - offsets[nodes[0]] - core.at
            _factors(offsets, pointers, nodes, X, r, first, core.at, left)
            _factors(offsets, pointers, nodes, X, r, core.at, count, right)
            for g in range(parts):
                _rows(DY, nodes, g * k, dy)
                _outer(right[g], dy[:size], core.k_first, d_product)
                np.dot(left[g, :size].T, d_product[:size], product)
                for i in range(a):
                    for j in range(columns):
                        d_weight[place, g, i, j] += product[i, j]
