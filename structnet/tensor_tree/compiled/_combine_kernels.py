"""The loops of a compiled sweep that the aggregators differ in, and their gradients.

Arrays and arguments are named as in :mod:`structnet.tensor_tree.compiled._kernels`. ``DS`` has one
row a slot: the gradient of what a node received there.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled._kernels import compiled


@compiled
def add_received(offsets, inbox, keys, lo, hi, bias, Z, Y):
    """A weighted sum's gates: ``y = b + sum_j z_j``."""
    for v in range(lo, hi):
        y, b = Y[v], bias[keys[v]]
        for j in range(len(y)):
            y[j] = b[j]
        for e in range(offsets[v], offsets[v + 1]):
            z = Z[inbox[e]]
            for j in range(len(y)):
                y[j] += z[j]


@compiled
def _multiply_out(rows, X, column, r, out):
    """``(x_1, 1) (x_2, 1) ..`` of parts of rows of X, multiplied out, the last mode fastest.

    Gives how many numbers that are.
    """
    out[0] = 1
    one = out[0]  # a one of the array's own type, as a literal would be a float64
    size = 1
    for m in range(len(rows) - 1, -1, -1):
        x, before = X[rows[m], column : column + r], out[:size]
        for i in range(r, -1, -1):  # before itself last
            after, factor = out[i * size : (i + 1) * size], x[i] if i < r else one
            for j in range(size):
                after[j] = factor * before[j]
        size *= r + 1
    return size


@compiled
def _multiply_out_backward(rows, X, column, r, gradient, others, DX):
    """The gradient of :func:`_multiply_out` into columns of DX, a row a mode; spends its own."""
    for m in range(len(rows)):
        size = _multiply_out(rows[m + 1 :], X, column, r, others)
        x, dx = X[rows[m], column : column + r], DX[m, column : column + r]
        for i in range(r):
            part = gradient[i * size : (i + 1) * size]
            total = part[0] * others[0]
            for j in range(1, size):
                total += part[j] * others[j]
            dx[i] = total
        # What is left for the modes after this one: its r entries weighed by x, and the one's.
        first, last = gradient[:size], gradient[r * size : (r + 1) * size]
        for j in range(size):
            first[j] = x[0] * first[j] + last[j]
        for i in range(1, r):
            part = gradient[i * size : (i + 1) * size]
            for j in range(size):
                first[j] += x[i] * part[j]


@compiled
def multiply_out(offsets, rows, lo, hi, at, r, X, left, right):
    """What goes left and right of a core: products of the first ``at`` children and of the rest.

    ``rows[e]`` is the row of X that holds the child of slot e; each run of r numbers in it, with a
    one after it, is a part of its own. The factors hold the level's rows alone, ``[.., part, n]``.
    """
    for v in range(lo, hi):
        children = rows[offsets[v] : offsets[v + 1]]
        for g in range(left.shape[1]):
            _multiply_out(children[:at], X, g * r, r, left[v - lo, g])
            _multiply_out(children[at:], X, g * r, r, right[v - lo, g])


@compiled
def multiply_out_backward(offsets, rows, lo, hi, at, r, X, d_left, d_right, others, DS):
    """Its gradient, one row a slot; spends those of the factors."""
    for v in range(lo, hi):
        begin, end = offsets[v], offsets[v + 1]
        children, slots = rows[begin:end], DS[begin:end]
        for g in range(d_left.shape[1]):
            left, right = d_left[v - lo, g], d_right[v - lo, g]
            _multiply_out_backward(children[:at], X, g * r, r, left, others, slots[:at])
            _multiply_out_backward(children[at:], X, g * r, r, right, others, slots[at:])


@compiled
def contract(lo, hi, right, product, Y):
    """``y(g, k) = sum_b right(g, b) product(g, b, k)``, the parts side by side in y."""
    k = product.shape[2] // right.shape[2]
    for v in range(lo, hi):
        for g in range(right.shape[1]):
            x, y = right[v - lo, g], Y[v, g * k : (g + 1) * k]
            for j in range(k):
                y[j] = 0
            for b in range(len(x)):
                row = product[v - lo, g, b * k : (b + 1) * k]
                for j in range(k):
                    y[j] += x[b] * row[j]


@compiled
def contract_backward(lo, hi, right, product, DY, d_right, d_product):
    """Its gradient."""
    k = product.shape[2] // right.shape[2]
    for v in range(lo, hi):
        for g in range(right.shape[1]):
            x, dx, dy = right[v - lo, g], d_right[v - lo, g], DY[v, g * k : (g + 1) * k]
            for b in range(len(x)):
                row = product[v - lo, g, b * k : (b + 1) * k]
                d_row = d_product[v - lo, g, b * k : (b + 1) * k]
                total = row[0] * dy[0]
                for j in range(1, k):
                    total += row[j] * dy[j]
                dx[b] = total
                for j in range(k):
                    d_row[j] = x[b] * dy[j]


@compiled
def map_out(keys, lo, hi, output, bias, X, Y):
    """From r numbers a gate to c: ``y = x Q + b``, the gates side by side in X and Y."""
    _, gates, r, c = output.shape
    for v in range(lo, hi):
        for g in range(gates):
            y, x = Y[v, g * c : (g + 1) * c], X[v, g * r : (g + 1) * r]
            b = bias[keys[v], g]
            for j in range(c):
                y[j] = b[j]
            for i in range(r):
                row = output[keys[v], g, i]
                for j in range(c):
                    y[j] += x[i] * row[j]


@compiled
def map_out_backward(keys, lo, hi, output, X, DY, DX, d_output, d_bias):
    """Its gradient; adds to those of the map and the bias."""
    _, gates, r, c = output.shape
    for v in range(lo, hi):
        for g in range(gates):
            dy, db = DY[v, g * c : (g + 1) * c], d_bias[keys[v], g]
            x, dx = X[v, g * r : (g + 1) * r], DX[v, g * r : (g + 1) * r]
            for j in range(c):
                db[j] += dy[j]
            for i in range(r):
                row, d_row = output[keys[v], g, i], d_output[keys[v], g, i]
                total = row[0] * dy[0]
                for j in range(1, c):
                    total += row[j] * dy[j]
                dx[i] = total
                for j in range(c):
                    d_row[j] += x[i] * dy[j]


@compiled
def multiply_entries(offsets, inbox, lo, hi, Z, Y):
    """CP: the entry-by-entry product of what was received."""
    for v in range(lo, hi):
        y = Y[v]
        for j in range(len(y)):
            y[j] = 1
        for e in range(offsets[v], offsets[v + 1]):
            z = Z[inbox[e]]
            for j in range(len(y)):
                y[j] *= z[j]


@compiled
def multiply_entries_backward(offsets, inbox, lo, hi, Z, DY, DS):
    """Its gradient, one row a slot."""
    for v in range(lo, hi):
        dy = DY[v]
        for e in range(offsets[v], offsets[v + 1]):
            d = DS[e]
            for j in range(len(d)):
                d[j] = dy[j]
            # Not divided out of the whole product: an entry may be zero.
            for other in range(offsets[v], offsets[v + 1]):
                if other != e:
                    z = Z[inbox[other]]
                    for j in range(len(d)):
                        d[j] *= z[j]


@compiled
def multiply_matrices(offsets, inbox, keys, lo, hi, start, Z, V, Y):
    """Tensor train: ``v M_1 .. M_L``; V keeps what goes into each slot's matrix."""
    _, gates, r = start.shape
    for v in range(lo, hi):
        for g in range(gates):
            first, y = start[keys[v], g], Y[v, g * r : (g + 1) * r]
            for b in range(r):
                y[b] = first[b]
            for e in range(offsets[v], offsets[v + 1]):
                x, z = V[e, g * r : (g + 1) * r], Z[inbox[e], g * r * r : (g + 1) * r * r]
                for b in range(r):
                    x[b] = y[b]
                    y[b] = 0
                for a in range(r):
                    for b in range(r):
                        y[b] += x[a] * z[a * r + b]


@compiled
def multiply_matrices_backward(offsets, inbox, keys, lo, hi, Z, V, DY, DS, d_start):
    """Its gradient, one row a slot; spends its own."""
    _, gates, r = d_start.shape
    dx = np.empty(r, Z.dtype)
    for v in range(lo, hi):
        for g in range(gates):
            dy, first = DY[v, g * r : (g + 1) * r], d_start[keys[v], g]
            for e in range(offsets[v + 1] - 1, offsets[v] - 1, -1):
                x, z = V[e, g * r : (g + 1) * r], Z[inbox[e], g * r * r : (g + 1) * r * r]
                dz = DS[e, g * r * r : (g + 1) * r * r]
                for a in range(r):
                    dx[a] = 0
                    for b in range(r):
                        dz[a * r + b] = x[a] * dy[b]
                        dx[a] += dy[b] * z[a * r + b]
                for a in range(r):
                    dy[a] = dx[a]
            for b in range(r):
                first[b] += dy[b]
