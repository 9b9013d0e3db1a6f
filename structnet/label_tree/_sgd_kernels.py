"""Training and search, one example at a time: compiled loops on shared float32 arrays.

Examples are ``values, offsets, ids``. Sparse row i has ``values[e]`` in column ``ids[e]`` for e
from ``offsets[i]`` to ``offsets[i + 1]``. Dense rows are consecutive in ``values``; the others are
None, and numba drops the code for sparse rows. Weights of nodes are ``[nodes, arity, size]`` for
dense rows, where the terms of a sum are adjacent, and ``[nodes, size, arity]`` for sparse ones,
where the sums are. An empty slot has the bias -inf, so that its probability and gradient are 0.
"""

from __future__ import annotations

import heapq
import math
from functools import partial

import numpy as np

from structnet.label_tree._vectors import (
    WIDTH,
    add,
    error,
    logits,
    prefetch,
    softmax,
    step,
)
from structnet.trees._kernels import compiled, doubled

# Sums may be reordered, so that they vectorise; infinities keep their meaning.
exact = partial(compiled, fastmath={"reassoc"})
inlined = partial(compiled, inline="always")  # passing arrays on is slow: it counts references
FEW = 64  # largest number of labels whose losses are kept in order; more gain nothing over a queue
NEAR = 2  # levels of the tree whose weights are always in the cache


@compiled
def represented(offsets, ids, values, embedding):
    """The weighted sum of the vectors of each bag's features, as consecutive dense rows."""
    size = embedding.shape[1]
    rows = np.zeros((len(offsets) - 1) * size, np.float32)
    for i in range(len(offsets) - 1):
        for e in range(offsets[i], offsets[i + 1]):
            add(rows, i * size, values[e], embedding, ids[e] * size, size)
    return rows


@inlined
def room_for(code_offsets, arity):
    """The arity rounded up to whole vectors, and a buffer of this size for each node of a path."""
    longest = np.int64(0)  # compiles faster than numpy's diff and max
    for label in range(len(code_offsets) - 1):
        longest = max(longest, code_offsets[label + 1] - code_offsets[label])
    room = -(-arity // WIDTH) * WIDTH
    return room, np.empty(room * longest, np.float32)


@inlined
def decided(
    first, last, nodes, slots, arity, room, p, bias, sums, seen, share, rate, learn_bias,
    weighted, loss, likelihood,
):  # fmt: skip
    """Turns the logits of a path, in ``p``, into errors times the rate; updates biases, statistics.

    Returns the loss so far as a sum and a product of probabilities, whose logarithm is still to be
    subtracted: so not every row needs a logarithm.
    """
    for row in range(first, last):
        at = (row - first) * room
        softmax(p, at, arity)
        if len(seen):
            seen[row] += share
            add(sums, row * arity, share, p, at, arity)
        likelihood *= max(p[at + slots[row]], np.float32(1e-30))
        if likelihood < 1e-200 or weighted:
            loss -= share * math.log(likelihood)
            likelihood = 1.0
        error(p, at, arity, slots[row], share * rate)
        if learn_bias:
            add(bias, nodes[row] * arity, -np.float32(1), p, at, arity)
    return loss, likelihood


@compiled
def train_dense(
    begin, end, labels, shares, values, offsets, ids, weight, bias,
    code_offsets, nodes, slots, sums, seen, first_rate, last_rate, learn_bias, embedding,
):  # fmt: skip
    """Trains on the examples from ``begin`` to ``end``, and returns the sum of their losses.

    They are dense rows or, with vectors of features (``embedding``), bags. The rate changes
    linearly from the first to the last of all examples. ``shares`` are weights of the examples, or
    empty; ``sums`` and ``seen``, the statistics, are empty if none are kept. As the nodes of a path
    do not depend on each other, each stage is computed for all of them before the next.
    """
    arity, size = weight.shape[1:]
    room, p = room_for(code_offsets, arity)
    r, back = np.zeros(size, np.float32), np.zeros(size, np.float32)
    loss, likelihood = 0.0, 1.0
    for i in range(begin, end):
        # The weights for the next example are fetched while this one is computed.
        if i + 1 < end:
            following = code_offsets[labels[i + 1]] + NEAR
            for row in range(following, code_offsets[labels[i + 1] + 1]):
                prefetch(weight, nodes[row] * arity * size, arity * size)
            if embedding is not None:
                for e in range(offsets[i + 1], offsets[i + 2]):
                    prefetch(embedding, ids[e] * size, size)
        for k in range(size):
            r[k] = values[i * size + k] if embedding is None else np.float32(0)
            back[k] = np.float32(0)
        if embedding is not None:
            for e in range(offsets[i], offsets[i + 1]):
                add(r, 0, values[e], embedding, ids[e] * size, size)
        rate = np.float32(first_rate + (last_rate - first_rate) * i / len(labels))
        share = shares[i] if len(shares) else np.float32(1)
        first, last = code_offsets[labels[i]], code_offsets[labels[i] + 1]
        for row in range(first, last):
            logits(weight, bias, nodes[row] * arity, arity, size, r, 0, p, (row - first) * room)
        loss, likelihood = decided(
            first, last, nodes, slots, arity, room, p, bias, sums, seen, share, rate, learn_bias,
            len(shares) > 0, loss, likelihood,
        )  # fmt: skip
        for row in range(first, last):
            step(weight, nodes[row] * arity, arity, size, r, p, (row - first) * room, back)
        if embedding is not None:
            for e in range(offsets[i], offsets[i + 1]):
                add(embedding, ids[e] * size, -values[e], back, 0, size)
    return loss - math.log(likelihood)


@compiled
def train_sparse(
    begin, end, labels, shares, values, offsets, ids, weight, bias,
    code_offsets, nodes, slots, sums, seen, first_rate, last_rate, learn_bias,
):  # fmt: skip
    """The same for sparse rows that nodes classify directly, without vectors of features."""
    size, arity = weight.shape[1:]
    room, p = room_for(code_offsets, arity)
    loss, likelihood = 0.0, 1.0
    for i in range(begin, end):
        if i + 1 < end:
            for e in range(offsets[i + 1], offsets[i + 2]):
                for row in range(code_offsets[labels[i + 1]], code_offsets[labels[i + 1] + 1]):
                    prefetch(weight, (nodes[row] * size + ids[e]) * arity, arity)
        rate = np.float32(first_rate + (last_rate - first_rate) * i / len(labels))
        share = shares[i] if len(shares) else np.float32(1)
        first, last = code_offsets[labels[i]], code_offsets[labels[i] + 1]
        for row in range(first, last):
            for j in range(room):
                p[(row - first) * room + j] = bias[nodes[row], j] if j < arity else -np.inf
        for e in range(offsets[i], offsets[i + 1]):  # outer loop: no sum waits for itself
            for row in range(first, last):
                at = (nodes[row] * size + ids[e]) * arity
                add(p, (row - first) * room, values[e], weight, at, arity)
        loss, likelihood = decided(
            first, last, nodes, slots, arity, room, p, bias, sums, seen, share, rate, learn_bias,
            len(shares) > 0, loss, likelihood,
        )  # fmt: skip
        for e in range(offsets[i], offsets[i + 1]):
            for row in range(first, last):
                at = (nodes[row] * size + ids[e]) * arity
                add(weight, at, -values[e], p, (row - first) * room, arity)
    return loss - math.log(likelihood)


@exact
def branch_log_prob(i, values, offsets, ids, weight, bias, node, logit, log_p):
    """Computes the log-probabilities of a node's children for example i, in float64, in ``log_p``.

    ``logit`` is a float32 buffer for as many numbers, rounded up to whole vectors.
    """
    arity = len(log_p)
    if ids is None:
        size = weight.shape[2]
        logits(weight, bias, node * arity, arity, size, values, i * size, logit, 0)
    else:
        for j in range(arity):
            logit[j] = bias[node, j]
        for e in range(offsets[i], offsets[i + 1]):
            add(logit, 0, values[e], weight, (node * weight.shape[1] + ids[e]) * arity, arity)
    highest = -np.inf
    for j in range(arity):
        log_p[j] = logit[j]
        highest = max(highest, log_p[j])
    total = 0.0
    for j in range(arity):
        total += math.exp(log_p[j] - highest)
    above = highest + math.log(total)
    for j in range(arity):
        log_p[j] -= above


@exact
def search(
    values, offsets, ids, weight, bias, children, top, beam, least, best, log_prob,
):  # fmt: skip
    """Finds the ``top`` likeliest labels of each example, best first; returns the nodes computed.

    Of all nodes and leaves found, the likeliest is taken next. As the leaves below a node are at
    most as likely as the node, the first leaves that are taken are the answer; ties are taken in
    order of number. ``beam`` is the largest number of nodes taken at each depth, 0 for no limit;
    ``least`` is the smallest log-probability. Labels go to ``best``, log-probabilities to
    ``log_prob``, both ``[n, top]``.
    """
    num_nodes, arity = bias.shape
    logit, log_p = np.empty(arity + WIDTH, np.float32), np.empty(arity)
    expanded = np.zeros(64, np.int64)
    visited = 0
    heap = [(0.0, 0, 0)]
    # The losses of the likeliest leaves so far, ascending; what is above the last is not needed.
    nearest = np.empty(top if top <= FEW else 1)
    for n in range(len(log_prob)):
        heap.clear()
        nearest[:] = np.inf
        heap.append((0.0, 0, 0))  # loss, node or leaf, depth
        if beam:
            expanded[:] = 0
        count, last = 0, len(nearest) - 1
        while heap and count < top:
            loss, node, depth = heapq.heappop(heap)
            if node >= num_nodes:
                best[n, count] = node - num_nodes
                log_prob[n, count] = -loss
                count += 1
                continue
            if beam:
                if depth >= len(expanded):
                    expanded = doubled(expanded)
                if expanded[depth] == beam:
                    continue
                expanded[depth] += 1
            visited += 1
            branch_log_prob(n, values, offsets, ids, weight, bias, node, logit, log_p)
            for j in range(arity):
                u, below = np.int64(children[node, j]), loss - log_p[j]
                if u >= 0 and -below >= least and below <= nearest[last]:
                    heapq.heappush(heap, (below, u, depth + 1))
                    if u >= num_nodes and top <= FEW:
                        at = last
                        while at > 0 and nearest[at - 1] > below:
                            nearest[at] = nearest[at - 1]
                            at -= 1
                        nearest[at] = below
    return visited


@exact
def score_labels(
    labels, values, offsets, ids, weight, bias, code_offsets, nodes, slots, log_prob,
):  # fmt: skip
    """Computes the log-probability of one label for each example, in ``log_prob``, ``[n]``."""
    arity = bias.shape[1]
    logit, log_p = np.empty(arity + WIDTH, np.float32), np.empty(arity)
    for n in range(len(log_prob)):
        loss = 0.0
        for row in range(code_offsets[labels[n]], code_offsets[labels[n] + 1]):
            branch_log_prob(n, values, offsets, ids, weight, bias, nodes[row], logit, log_p)
            loss -= log_p[slots[row]]
        log_prob[n] = -loss


@exact
def score_all(values, offsets, ids, weight, bias, children, log_prob):
    """Computes the log-probabilities of all labels, in ``log_prob``, ``[n, labels]``."""
    num_nodes, arity = bias.shape
    logit, log_p = np.empty(arity + WIDTH, np.float32), np.empty(arity)
    stack = np.empty(num_nodes + 1, np.int64)
    above = np.empty(num_nodes + 1)
    for n in range(len(log_prob)):
        above[0], stack[0], height = 0.0, 0, min(num_nodes, 1)
        while height:
            height -= 1
            loss, node = above[height], stack[height]
            branch_log_prob(n, values, offsets, ids, weight, bias, node, logit, log_p)
            for j in range(arity):
                u = children[node, j]
                if u >= num_nodes:
                    log_prob[n, u - num_nodes] = -(loss - log_p[j])
                elif u >= 0:
                    above[height], stack[height] = loss - log_p[j], u
                    height += 1


@compiled
def take_rows(offsets, entries, rows):
    """The offsets and the entries of the bags of some examples."""
    new_offsets = np.zeros(len(rows) + 1, np.int64)
    for n in range(len(rows)):
        new_offsets[n + 1] = new_offsets[n] + offsets[rows[n] + 1] - offsets[rows[n]]
    taken = np.empty(new_offsets[-1], entries.dtype)
    for n in range(len(rows)):
        at = new_offsets[n]
        for e in range(offsets[rows[n]], offsets[rows[n] + 1]):
            taken[at] = entries[e]
            at += 1
    return new_offsets, taken


@partial(compiled, error_model="numpy")  # checks of divisors would not vectorise
def change_rows(rows, weight, total, gradient, rate, eps):
    """Takes a step of Adagrad for some rows, and adds the squares of gradients to ``total``."""
    for i in range(len(rows)):
        w, s, g = weight[rows[i]], total[rows[i]], gradient[i]
        for k in range(len(g)):
            s[k] += g[k] * g[k]
            w[k] -= rate * (g[k] / (np.sqrt(s[k]) + eps))
