"""Products of a dense core with one vector a child, for the rows of one run at a time.

``y(g, k) = sum core(g; i_1, .., i_L, k) (x_1, 1)(i_1) .. (x_L, 1)(i_L)`` for each part g. The
vectors of the first ``at`` children are multiplied out to one of ``a`` numbers, *left*, those of
the others to one of ``b``, *right*; left times the core, the *product*, is a product of matrices,
and y is that times right. In a product's row y's numbers stand next to each other or, with
``k_first``, those of right.

Vectors are short, so eight rows and parts are multiplied out side by side, one a *lane*. ``X``
holds the vectors: row ``pointers[e]`` that of slot e, each part's r numbers next to each other.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.trees._kernels import grouped

LANES = 8
BLOCK = 128


@compiled
def _load(offsets, pointers, nodes, first, X, modes, parts, row_of, part_of, x):
    """Which row and part each lane is, and its vectors, ``[modes, r, LANES]``.

    Lanes after the last repeat it.
    """
    total, r = len(nodes) * parts, x.shape[1]
    i, g = first // parts, first % parts
    for lane in range(LANES):
        row_of[lane], part_of[lane] = i, g
        slot, column = offsets[nodes[i]] + modes, g * r
        for m in range(x.shape[0]):
            row = X[pointers[slot + m]]
            for n in range(r):
                x[m, n, lane] = row[column + n]
        if first + lane + 1 < total:
            g += 1
            if g == parts:
                i, g = i + 1, 0


@compiled
def _multiply_out(x, out):
    """``(x_1, 1) (x_2, 1) ..``, the last mode fastest; what fewer modes give stands at the end."""
    end = len(out)
    for lane in range(LANES):
        out[end - 1, lane] = 1
    size, r = 1, x.shape[1]
    for m in range(len(x) - 1, -1, -1):
        for i in range(r):
            factor, first = x[m, i], end - (r + 1 - i) * size
            for j in range(size):
                before, after = out[end - size + j], out[first + j]
                for lane in range(LANES):
                    after[lane] = factor[lane] * before[lane]
        size *= r + 1


@compiled
def _multiply_out_backward(x, out, gradient, dx):
    """Its gradient; spends its own."""
    size, r = len(out), x.shape[1]
    for m in range(len(x)):
        size //= r + 1
        others = out[len(out) - size :]
        for i in range(r):
            total, part = dx[m, i], gradient[i * size : (i + 1) * size]
            for lane in range(LANES):
                total[lane] = 0
            for j in range(size):
                other, entry = others[j], part[j]
                for lane in range(LANES):
                    total[lane] += entry[lane] * other[lane]
        # What is left for the modes after this one: its r entries weighed by x, and the one's.
        for j in range(size):
            left, last = gradient[j], gradient[r * size + j]
            for lane in range(LANES):
                left[lane] = x[m, 0, lane] * left[lane] + last[lane]
            for i in range(1, r):
                entry = gradient[i * size + j]
                for lane in range(LANES):
                    left[lane] += x[m, i, lane] * entry[lane]


@compiled
def _factors(offsets, pointers, nodes, X, r, modes, count, out):
    """The products of ``count`` children of each node, from ``modes`` on, ``[parts, nodes, n]``."""
    parts, _, size = out.shape
    x, lanes = np.empty((count, r, LANES), X.dtype), np.empty((size, LANES), X.dtype)
    row_of, part_of = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    total = len(nodes) * parts
    for first in range(0, total, LANES):
        _load(offsets, pointers, nodes, first, X, modes, parts, row_of, part_of, x)
        _multiply_out(x, lanes)
        for lane in range(min(LANES, total - first)):
            row = out[part_of[lane], row_of[lane]]
            for j in range(size):
                row[j] = lanes[j, lane]


@compiled
def _factors_backward(offsets, pointers, nodes, X, r, modes, count, d_out, DX):
    """Their gradients, added to DX."""
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
            row = d_out[part_of[lane], row_of[lane]]
            for j in range(size):
                gradient[j, lane] = row[j]
        _multiply_out_backward(x, lanes, gradient, dx)
        for lane in range(there):
            slot, column = offsets[nodes[row_of[lane]]] + modes, part_of[lane] * r
            for m in range(count):
                row = DX[pointers[slot + m]]
                for i in range(r):
                    row[column + i] += dx[m, i, lane]


@compiled
def _times_right(z, x, k_first, y):
    """``y(j) = sum_n z(n, j) x(n)``."""
    k, b = len(y), len(x)
    if k_first:
        for j in range(k):
            part = z[j * b : (j + 1) * b]
            total = part[0] * x[0]
            for n in range(1, b):
                total += part[n] * x[n]
            y[j] = total
    else:
        for j in range(k):
            y[j] = 0
        for n in range(b):
            part = z[n * k : (n + 1) * k]
            for j in range(k):
                y[j] += x[n] * part[j]


@compiled
def _times_right_backward(z, dy, k_first, dx):
    """Its gradient: ``dx(n) = sum_j z(n, j) dy(j)``."""
    k, b = len(dy), len(dx)
    if k_first:
        for n in range(b):
            dx[n] = 0
        for j in range(k):
            part = z[j * b : (j + 1) * b]
            for n in range(b):
                dx[n] += dy[j] * part[n]
    else:
        for n in range(b):
            part = z[n * k : (n + 1) * k]
            total = part[0] * dy[0]
            for j in range(1, k):
                total += part[j] * dy[j]
            dx[n] = total


@compiled
def _outer(right, dy, k_first, out):
    """The gradient of products: ``dz(n, j) = x(n) dy(j)``, a row each."""
    k, b = dy.shape[1], right.shape[1]
    for i in range(len(dy)):
        x, d, z = right[i], dy[i], out[i]
        if k_first:
            for j in range(k):
                part = z[j * b : (j + 1) * b]
                for n in range(b):
                    part[n] = d[j] * x[n]
        else:
            for n in range(b):
                part = z[n * k : (n + 1) * k]
                for j in range(k):
                    part[j] = x[n] * d[j]


@compiled
def contract(plan, pointers, lo, hi, key, core, X, products, Y):
    """Fill rows lo to hi of Y; ``products`` has room for all nodes with a type, or for a block."""
    parts, a, columns = core.weight.shape[1:]
    k = Y.shape[1] // parts
    b, r = columns // k, core.rank
    rows = min(BLOCK, hi - lo)
    left, right = np.empty((parts, rows, a), X.dtype), np.empty((parts, rows, b), X.dtype)
    nodes, offsets, typed = np.arange(lo, hi), plan.offsets, plan.nodes[0]
    count = offsets[lo + 1] - offsets[lo] - core.at
    for begin in range(lo, hi, BLOCK):
        end = min(begin + BLOCK, hi)
        some = nodes[begin - lo : end - lo]
        _factors(offsets, pointers, some, X, r, 0, core.at, left)
        _factors(offsets, pointers, some, X, r, core.at, count, right)
        row = begin - typed if products.shape[1] == len(plan.types) - typed else 0
        for g in range(parts):
            product = products[g, row : row + end - begin]
            np.dot(left[g, : end - begin], core.weight[key, g], product)
            for i in range(end - begin):
                y = Y[begin + i, g * k : (g + 1) * k]
                _times_right(product[i], right[g, i], core.k_first, y)


@compiled
def contract_backward(plan, pointers, lo, hi, key, core, X, products, DY, DX):
    """From rows lo to hi of DY, added to DX."""
    parts, a, columns = core.weight.shape[1:]
    k = DY.shape[1] // parts
    b, r = columns // k, core.rank
    rows = min(BLOCK, hi - lo)
    d_left, right = np.empty((parts, rows, a), X.dtype), np.empty((parts, rows, b), X.dtype)
    d_right, d_product = np.empty_like(right), np.empty((rows, columns), X.dtype)
    nodes, offsets, typed = np.arange(lo, hi), plan.offsets, plan.nodes[0]
    count = offsets[lo + 1] - offsets[lo] - core.at
    for begin in range(lo, hi, BLOCK):
        end = min(begin + BLOCK, hi)
        some = nodes[begin - lo : end - lo]
        _factors(offsets, pointers, some, X, r, core.at, count, right)
        for g in range(parts):
            dy = DY[begin:end, g * k : (g + 1) * k]
            _outer(right[g], dy, core.k_first, d_product)
            np.dot(d_product[: end - begin], core.weight[key, g].T, d_left[g, : end - begin])
            for i in range(end - begin):
                z = products[g, begin - typed + i]
                _times_right_backward(z, dy[i], core.k_first, d_right[g, i])
        _factors_backward(offsets, pointers, some, X, r, 0, core.at, d_left, DX)
        _factors_backward(offsets, pointers, some, X, r, core.at, count, d_right, DX)


@compiled
def core_backward(plan, pointers, core, X, DY, d_weight):
    """The gradient of the core: one product for many rows of a type, of whatever level."""
    num_types, parts, a, columns = core.weight.shape
    k = DY.shape[1] // parts
    b, r = columns // k, core.rank
    left, right = np.empty((parts, BLOCK, a), X.dtype), np.empty((parts, BLOCK, b), X.dtype)
    dy = np.empty((BLOCK, k), X.dtype)
    d_product, product = np.empty((BLOCK, columns), X.dtype), np.empty((a, columns), X.dtype)
    offsets, typed = plan.offsets, plan.nodes[0]
    order, starts = grouped(plan.types[typed:], num_types)
    for key in range(num_types):
        for begin in range(starts[key], starts[key + 1], BLOCK):
            nodes = order[begin : min(begin + BLOCK, starts[key + 1])] + typed
            count = offsets[nodes[0] + 1] - offsets[nodes[0]] - core.at
            _factors(offsets, pointers, nodes, X, r, 0, core.at, left)
            _factors(offsets, pointers, nodes, X, r, core.at, count, right)
            for g in range(parts):
                for i in range(len(nodes)):
                    for j in range(k):
                        dy[i, j] = DY[nodes[i], g * k + j]
                _outer(right[g], dy[: len(nodes)], core.k_first, d_product)
                np.dot(left[g, : len(nodes)].T, d_product[: len(nodes)], product)
                for i in range(a):
                    d, more = d_weight[key, g, i], product[i]
                    for j in range(columns):
                        d[j] += more[j]
