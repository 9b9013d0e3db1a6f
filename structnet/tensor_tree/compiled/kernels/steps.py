"""The steps of a compiled sweep that all aggregators share: closing nodes and sending messages.

Each is for rows of one level, from ``lo`` to ``hi``, or for a share of the gradients of the
weights. ``plan`` is a :class:`..plan.Plan`, ``back`` the :class:`..plan.Back`, ``s`` the
:class:`..states.States`, ``d`` their :class:`..states.Gradients`. Backward, rows collect: a message
from its receivers, a node from the messages that it sent. So no two rows of a step write to the
same place, and threads can share the rows.

Rows are indexed by their numbers, not sliced: a slice is reference-counted by a locked instruction,
which takes as long as the loop over a short row, and longer if another thread counts too.
"""

from __future__ import annotations

import numpy as np

from structnet.tensor_tree.compiled.kernels.gates import (
    _sigmoid,
    bare,
    cell_backward,
    close_cell,
    compiled,
    inlined,
    internal,
    open_gates,
)
from structnet.tensor_tree.compiled.kernels.lanes import add_rows_times, add_times_transposed
from structnet.tensor_tree.compiled.kernels.products import FEW

BLOCK = 128  # rows that are multiplied at once


# ---- nodes


@inlined
def close_nodes(plan, s, lo, hi):
    """Computes states by Eq. (11), from the gates' arguments and the messages received."""
    n, of_messages = s.h.shape[1], s.forget.shape[1] > 0
    for v in range(lo, hi):
        open_gates(s.gates, s.c, v)
        column = 3 * n
        for e in range(plan.offsets[v], plan.offsets[v + 1]):
            child, m = plan.children[e], plan.inbox[e]
            if of_messages:
                for j in range(n):
                    s.c[v, j] += s.forget[m, j] * s.c[child, j]
            else:
                for j in range(n):
                    s.gates[v, column + j] = _sigmoid(s.gates[v, column + j])
                for j in range(n):
                    s.c[v, j] += s.gates[v, column + j] * s.c[child, j]
                column += n
        close_cell(s.gates, s.c, s.tanh, s.h, v)


@inlined
def close_nodes_backward(plan, back, s, d, lo, hi):
    """The gradient of :func:`close_nodes`, from the gradients of a node's messages."""
    n, of_messages = s.h.shape[1], s.forget.shape[1] > 0
    for v in range(lo, hi):
        for i in range(back.sent.starts[v], back.sent.starts[v + 1]):
            m = back.sent.rows[i]
            for j in range(n):
                d.h[v, j] += d.own[m, j]
            for j in range(n):
                d.c[v, j] += d.own[m, n + j]
        cell_backward(s.gates, s.tanh, d.h, d.c, d.gates, v)
        if of_messages:
            continue
        column = 3 * n
        for e in range(plan.offsets[v], plan.offsets[v + 1]):
            child = plan.children[e]
            for j in range(n):
                f = s.gates[v, column + j]
                d.gates[v, column + j] = d.c[v, j] * s.c[child, j] * (f - f * f)
            column += n


# ---- messages


@inlined
def send(plan, s, messages, level, first, last):
    """Computes messages of one level: ``h W + b``, with a sigmoid for forget gates."""
    n, columns = s.h.shape[1], s.forget.shape[1]
    if s.sent.shape[1] + columns == 0:
        return
    h = np.empty((min(BLOCK, max(last - first, 0)), n), s.h.dtype)
    for run in range(plan.message_levels[level], plan.message_levels[level + 1]):
        key, end = plan.message_keys[run], min(plan.messages[run + 1], last)
        for lo in range(max(plan.messages[run], first), end, BLOCK):
            hi = min(lo + BLOCK, end)
            if hi - lo < FEW:
                z, f = messages.sent, messages.forget
                _multiply_few(s.h, plan.sources, z.weight, z.bias, key, lo, hi, s.sent)
                _multiply_few(s.h, plan.sources, f.weight, f.bias, key, lo, hi, s.forget)
            else:
                for m in range(lo, hi):
                    source = plan.sources[m]
                    for j in range(n):
                        h[m - lo, j] = s.h[source, j]
                _multiply(h, messages.sent, key, lo, hi, s.sent)
                _multiply(h, messages.forget, key, lo, hi, s.forget)
            for m in range(lo, hi):
                for j in range(columns):
                    s.forget[m, j] = _sigmoid(s.forget[m, j])


@bare
def _multiply_few(H, sources, weight, bias, key, lo, hi, out):
    for m in range(lo, hi):
        for j in range(out.shape[1]):
            out[m, j] = bias[key, j]
    if out.shape[1] > 0:
        add_rows_times(H, sources, weight, key, out, lo, hi)


@internal
def _multiply(h, linear, key, lo, hi, out):
    if out.shape[1] == 0:
        return
    np.dot(h[: hi - lo], linear.weight[key], out[lo:hi])
    for m in range(lo, hi):
        for j in range(out.shape[1]):
            out[m, j] += linear.bias[key, j]


@inlined
def send_backward(plan, back, s, d, messages, level, first, last):
    """The gradient of :func:`send`, except those of the weights."""
    n = s.h.shape[1]
    dh = np.empty((min(BLOCK, max(last - first, 0)), n), s.h.dtype)
    for run in range(plan.message_levels[level], plan.message_levels[level + 1]):
        key, end = plan.message_keys[run], min(plan.messages[run + 1], last)
        for lo in range(max(plan.messages[run], first), end, BLOCK):
            hi = min(lo + BLOCK, end)
            for m in range(lo, hi):
                for j in range(2 * n):
                    d.own[m, j] = 0
                _collect_forget(plan, back, s, d, m)
                _collect_sent(back, d, m)
            if hi - lo < FEW:
                _multiply_few_backward(d.sent, messages.sent.weight, key, lo, hi, d.own)
                _multiply_few_backward(d.forget, messages.forget.weight, key, lo, hi, d.own)
            else:
                _multiply_backward(d.sent, messages.sent.weight, key, lo, hi, dh, d.own)
                _multiply_backward(d.forget, messages.forget.weight, key, lo, hi, dh, d.own)


@inlined
def _collect_forget(plan, back, s, d, m):
    """Collects the gradients of a message's forget gate and of its c, from the receivers' cells.

    If the receivers compute the forget gates, only that of c.
    """
    n, source, of_messages = s.h.shape[1], plan.sources[m], s.forget.shape[1] > 0
    if of_messages:
        for j in range(n):
            d.forget[m, j] = 0
    for i in range(back.slots.starts[m], back.slots.starts[m + 1]):
        v, e = back.receivers[i], back.slots.rows[i]
        if of_messages:
            for j in range(n):
                d.forget[m, j] += d.c[v, j]
        else:
            column = (3 + e - plan.offsets[v]) * n
            for j in range(n):
                d.own[m, n + j] += d.c[v, j] * s.gates[v, column + j]
    if of_messages:
        for j in range(n):
            d.own[m, n + j] = d.forget[m, j] * s.forget[m, j]
        for j in range(n):
            f = s.forget[m, j]
            d.forget[m, j] *= s.c[source, j] * (f - f * f)


@inlined
def _collect_sent(back, d, m):
    """Collects the gradient of a message from the gates that it was added to, or from its slots.

    For a message that is h itself, it goes to the part of h in ``d.own``.
    """
    columns, of_slot = d.sent.shape[1], d.slots.shape[1]
    for j in range(columns):
        d.sent[m, j] = 0
    for i in range(back.slots.starts[m], back.slots.starts[m + 1]):
        v, e = back.receivers[i], back.slots.rows[i]
        if of_slot == 0:
            for j in range(columns):
                d.sent[m, j] += d.gates[v, j]
        elif columns > 0:
            for j in range(columns):
                d.sent[m, j] += d.slots[e, j]
        else:
            for j in range(of_slot):
                d.own[m, j] += d.slots[e, j]


@bare
def _multiply_few_backward(dz, weight, key, lo, hi, own):
    """Adds the gradient of h to the first columns of ``own``."""
    if dz.shape[1] > 0:
        add_times_transposed(dz, weight, key, own, lo, hi)


@internal
def _multiply_backward(dz, weight, key, lo, hi, dh, own):
    """The same for many rows; dh is a buffer for a block."""
    if dz.shape[1] == 0:
        return
    np.dot(dz[lo:hi], weight[key].T, dh[: hi - lo])
    for m in range(lo, hi):
        for j in range(dh.shape[1]):
            own[m, j] += dh[m - lo, j]


# ---- weights


@compiled
def share_of(order, key, share, shares):
    """The rows of one key in a share, as their first place and the end, and the row of their sum.

    That is the key's own or, for the second or a later share of a key, one after those of all keys.
    """
    total, begin = len(order.rows), order.starts[key]
    lo = max(total * share // shares, begin)
    hi = min(total * (share + 1) // shares, order.starts[key + 1])
    return lo, hi, key if lo == begin else len(order.starts) + share - 2


@inlined
def weights_backward(sources, H, d_sent, d_forget, order, share, shares, gradients):
    """Adds a share of the gradients of the messages' weights: products over all levels, by key."""
    h = np.empty((BLOCK, H.shape[1]), H.dtype)
    sent, forget = np.empty((BLOCK, d_sent.shape[1]), h.dtype), np.empty(h.shape, h.dtype)
    of_sent = np.empty((h.shape[1], d_sent.shape[1]), h.dtype)
    of_forget = np.empty((h.shape[1], h.shape[1]), h.dtype)
    for key in range(len(order.starts) - 1):
        lo, hi, place = share_of(order, key, share, shares)
        for begin in range(lo, hi, BLOCK):
            rows = order.rows[begin : min(begin + BLOCK, hi)]
            for i in range(len(rows)):
                source = sources[rows[i]]
                for j in range(h.shape[1]):
                    h[i, j] = H[source, j]
            _weights_backward(h, rows, d_sent, sent, of_sent, gradients.sent, place)
            _weights_backward(h, rows, d_forget, forget, of_forget, gradients.forget, place)


@internal
def _weights_backward(h, rows, DZ, dz, product, gradients, place):
    """Adds a block's gradients to those at one place; dz and ``product`` are buffers."""
    n, columns = h.shape[1], DZ.shape[1]
    if columns == 0:
        return
    for i in range(len(rows)):
        m = rows[i]
        for j in range(columns):
            dz[i, j] = DZ[m, j]
        for j in range(columns):
            gradients.bias[place, j] += dz[i, j]
    np.dot(h[: len(rows)].T, dz[: len(rows)], product)
    for i in range(n):
        for j in range(columns):
            gradients.weight[place, i, j] += product[i, j]
