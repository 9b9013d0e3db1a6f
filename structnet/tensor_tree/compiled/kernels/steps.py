"""The steps of a compiled sweep that all aggregators share: nodes close, messages are sent.

Each is for the rows of one level. ``plan`` is a :class:`..plan.Plan`, ``s`` the
:class:`..states.States`, ``d`` their gradients, ``width`` how many numbers a child sends apart
from its forget gate.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import (
    _sigmoid,
    by_gate,
    cell_backward,
    close_cell,
    compiled,
    open_gates,
)
from structnet.trees._kernels import grouped

BLOCK = 128  # rows that are multiplied at once


@compiled
def runs(level, key, levels, first):
    """The runs of rows sorted by level, then key: their first rows, their keys, each level's."""
    starts, keys = np.empty(len(level) + 1, np.int64), np.empty(len(level), np.int64)
    of_level = np.zeros(levels + 1, np.int64)
    n = 0
    for row in range(len(level)):
        if row == 0 or level[row] != level[row - 1] or key[row] != key[row - 1]:
            starts[n], keys[n] = first + row, key[row]
            of_level[level[row] + 1] += 1
            n += 1
    starts[n] = first + len(level)
    return starts[: n + 1], keys[:n], np.cumsum(of_level)


@compiled
def rows_of(runs, levels, level):
    """The rows of one level, from and to."""
    return runs[levels[level]], runs[levels[level + 1]]


# ---- nodes


@compiled
def close_nodes(plan, s, width, lo, hi):
    """Eq. (11), from what goes into the gates and the messages received."""
    n, of_messages = s.h.shape[1], s.sent.shape[1] > width
    gates = by_gate(s.gates, n)
    for v in range(lo, hi):
        open_gates(gates, s.c, v)
        gate = 3
        for e in range(plan.offsets[v], plan.offsets[v + 1]):
            m = plan.inbox[e]
            below = s.c[plan.sources[m]]
            c = s.c[v]
            if of_messages:
                f = s.sent[m, width:]
            else:
                f = gates[v, gate]
                gate += 1
                for j in range(n):
                    f[j] = _sigmoid(f[j])
            for j in range(n):
                c[j] += f[j] * below[j]
        close_cell(gates, s.c, s.tanh, s.h, v)


@compiled
def close_nodes_backward(plan, s, d, width, lo, hi):
    """Its gradient; a message's forget gate gets the sum of those of the cells that it is for."""
    n, of_messages = s.h.shape[1], s.sent.shape[1] > width
    gates, d_gates = by_gate(s.gates, n), by_gate(d.gates, n)
    for v in range(lo, hi):
        cell_backward(gates, s.tanh, d.h, d.c, d_gates, v)
        gate, dc = 3, d.c[v]
        for e in range(plan.offsets[v], plan.offsets[v + 1]):
            m = plan.inbox[e]
            if of_messages:
                kept = d.sent[m, width:]
                for j in range(n):
                    kept[j] += dc[j]
            else:
                f, df = gates[v, gate], d_gates[v, gate]
                c, below = s.c[plan.sources[m]], d.c[plan.sources[m]]
                gate += 1
                for j in range(n):
                    below[j] += dc[j] * f[j]
                    df[j] = dc[j] * c[j] * (f[j] - f[j] * f[j])


# ---- messages


@compiled
def _gather(index, X, out):
    for i in range(len(index)):
        x, y = X[index[i]], out[i]
        for j in range(len(y)):
            y[j] = x[j]


@compiled
def send(plan, s, messages, width, level):
    """The messages of one level: ``h W + b``, and a sigmoid for forget gates."""
    n, all_columns = s.h.shape[1], s.sent.shape[1]
    if all_columns == 0:
        return
    for run in range(plan.message_levels[level], plan.message_levels[level + 1]):
        key, first, end = plan.message_keys[run], plan.messages[run], plan.messages[run + 1]
        h, bias = np.empty((min(BLOCK, end - first), n), s.h.dtype), messages.bias[key]
        for lo in range(first, end, BLOCK):
            hi = min(lo + BLOCK, end)
            _gather(plan.sources[lo:hi], s.h, h)
            np.dot(h[: hi - lo], messages.weight[key], s.sent[lo:hi])
            for m in range(lo, hi):
                z = s.sent[m]
                for j in range(width):
                    z[j] += bias[j]
                for j in range(width, all_columns):
                    z[j] = _sigmoid(z[j] + bias[j])


@compiled
def send_backward(plan, s, d, messages, width, level):
    """Its gradient, but for those of the weights."""
    n, all_columns = s.h.shape[1], s.sent.shape[1]
    if all_columns == 0:
        return
    for run in range(plan.message_levels[level], plan.message_levels[level + 1]):
        key, first, end = plan.message_keys[run], plan.messages[run], plan.messages[run + 1]
        dh = np.empty((min(BLOCK, end - first), n), s.h.dtype)
        for lo in range(first, end, BLOCK):
            hi = min(lo + BLOCK, end)
            if all_columns > width:
                for m in range(lo, hi):
                    f, df = s.sent[m, width:], d.sent[m, width:]
                    c, dc = s.c[plan.sources[m]], d.c[plan.sources[m]]
                    for j in range(n):
                        kept = df[j]
                        dc[j] += kept * f[j]
                        df[j] = kept * c[j] * (f[j] - f[j] * f[j])
            np.dot(d.sent[lo:hi], messages.weight[key].T, dh[: hi - lo])
            for m in range(lo, hi):
                x, y = dh[m - lo], d.h[plan.sources[m]]
                for j in range(n):
                    y[j] += x[j]


@compiled
def weights_backward(plan, s, d, gradients):
    """The gradients of the messages' weights: products over all levels, a key after the other."""
    n, all_columns = s.h.shape[1], s.sent.shape[1]
    if all_columns == 0:
        return
    num_keys = len(gradients.weight)
    by_key, starts = grouped(plan.message_keys, num_keys)
    h, dz = np.empty((BLOCK, n), s.h.dtype), np.empty((BLOCK, all_columns), s.h.dtype)
    product = np.empty((n, all_columns), s.h.dtype)
    for key in range(num_keys):
        weight, bias = gradients.weight[key], gradients.bias[key]
        fill = 0
        for at in range(starts[key], starts[key + 1]):
            run = by_key[at]
            row, end = plan.messages[run], plan.messages[run + 1]
            while row < end:
                count = min(end - row, BLOCK - fill)
                _gather(plan.sources[row : row + count], s.h, h[fill:])
                dz[fill : fill + count] = d.sent[row : row + count]
                row, fill = row + count, fill + count
                if fill == BLOCK or (row == end and at == starts[key + 1] - 1):
                    np.dot(h[:fill].T, dz[:fill], product)
                    for i in range(n):
                        total, more = weight[i], product[i]
                        for j in range(all_columns):
                            total[j] += more[j]
                    for i in range(fill):
                        more = dz[i]
                        for j in range(all_columns):
                            bias[j] += more[j]
                    fill = 0


# ---- the order of a sweep


@compiled
def begin(plan, s, messages, width):
    """Level 0: the leaves, whose gates are there, and the bottom, whose state is."""
    close_nodes(plan, s, width, 0, plan.nodes[0])
    send(plan, s, messages, width, 0)


@compiled
def close_level(plan, s, messages, width, level):
    """What follows once a level's gates are there."""
    lo, hi = rows_of(plan.nodes, plan.node_levels, level)
    close_nodes(plan, s, width, lo, hi)
    send(plan, s, messages, width, level)


@compiled
def close_level_backward(plan, s, d, messages, width, level):
    """Back to the gradients of what goes into a level's gates."""
    send_backward(plan, s, d, messages, width, level)
    lo, hi = rows_of(plan.nodes, plan.node_levels, level)
    close_nodes_backward(plan, s, d, width, lo, hi)


@compiled
def end_backward(plan, s, d, messages, width, gradients):
    """Level 0, and the messages' weights."""
    send_backward(plan, s, d, messages, width, 0)
    close_nodes_backward(plan, s, d, width, 0, plan.nodes[0])
    weights_backward(plan, s, d, gradients)
