"""Training and search, one example at a time: compiled loops on shared float32 arrays.

An example is a row of a dense table, or a bag: ``ids[offsets[i]:offsets[i + 1]]`` with weights of
their own or, where there are none, equal ones (the mean). Where there are no vectors of features
(``embedding`` is empty), a bag is a sparse row itself. Weights of nodes are ``[nodes, arity,
size]``; an empty slot has the bias -inf, so that its probability is 0 and its gradient too.
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

# Sums in any order, so that they are vectorised; infinities keep their meaning.
exact = partial(compiled, nogil=True, fastmath={"reassoc"})
NEAR = 2  # levels of the tree whose weights are always near


@compiled
def represent(i, table, offsets, ids, weights, embedding, r):
    """The representation of an example, into ``r``; a sparse row without vectors has none."""
    size = len(r)
    if len(table):
        for k in range(size):
            r[k] = table[i, k]
        return
    if not len(embedding):
        return
    for k in range(size):
        r[k] = np.float32(0)
    share = np.float32(1) / np.float32(max(offsets[i + 1] - offsets[i], 1))
    for e in range(offsets[i], offsets[i + 1]):
        add(r, 0, weights[e] if len(weights) else share, embedding, ids[e] * size, size)


@compiled
def train_part(
    begin, end, labels, shares, table, offsets, ids, weights, embedding, weight, bias,
    code_offsets, nodes, slots, sums, seen, first_rate, last_rate, learn_bias,
):  # fmt: skip
    """Goes through the examples from ``begin`` to ``end``, and gives the sum of their losses.

    The rate runs linearly from the first to the last of all; ``shares`` are the weights, or empty;
    ``sums`` and ``seen``, the statistics, are empty where none are kept. The nodes of a path do not
    depend on each other: each step is taken for all of them before the next. Nothing is called but
    instructions: arrays that are handed on are counted, which takes longer than what is done here.
    """
    arity, size = weight.shape[1:]
    room = -(-arity // WIDTH) * WIDTH  # of a node in p
    r = np.zeros(size, np.float32)
    back = np.zeros(size, np.float32)
    longest = np.int64(0)  # numpy's diff and max take longer to compile than all this
    for label in range(len(code_offsets) - 1):
        longest = max(longest, code_offsets[label + 1] - code_offsets[label])
    p = np.empty(room * longest, np.float32)
    bags, weighted, keep = len(table) == 0, len(weights) > 0, len(seen) > 0
    sparse = bags and len(embedding) == 0
    embedded = bags and not sparse
    one, equal, least = np.float32(1), np.float32(0), np.float32(1e-30)
    infinite = np.float32(np.inf)
    share, loss, likelihood = one, 0.0, 1.0
    start, stop = 0, 0
    for i in range(begin, end):
        # What the next example needs is on its way while this one is worked on.
        if i + 1 < end and not sparse:
            following = code_offsets[labels[i + 1]] + NEAR
            for row in range(following, code_offsets[labels[i + 1] + 1]):
                prefetch(weight, nodes[row] * arity * size, arity * size)
            if embedded:
                for e in range(offsets[i + 1], offsets[i + 2]):
                    prefetch(embedding, ids[e] * size, size)
        for k in range(0 if sparse else size):
            r[k] = np.float32(0) if bags else table[i, k]
            back[k] = np.float32(0)
        if bags:
            start, stop = offsets[i], offsets[i + 1]
            equal = one / np.float32(max(stop - start, 1))
        if embedded:
            for e in range(start, stop):
                add(r, 0, weights[e] if weighted else equal, embedding, ids[e] * size, size)
        rate = np.float32(first_rate + (last_rate - first_rate) * i / len(labels))
        if len(shares):
            loss -= share * math.log(likelihood)
            likelihood, share = 1.0, shares[i]
        first, last = code_offsets[labels[i]], code_offsets[labels[i] + 1]
        for row in range(first, last):
            at = (row - first) * room
            if not sparse:
                logits(weight, bias, nodes[row] * arity, arity, size, r, p, at)
                continue
            for j in range(room):
                p[at + j] = bias[nodes[row], j] if j < arity else -infinite
            for e in range(start, stop):
                value = weights[e] if weighted else equal
                for j in range(arity):
                    p[at + j] += value * weight[nodes[row], j, ids[e]]
        for row in range(first, last):
            at = (row - first) * room
            softmax(p, at, arity)
            if keep:
                seen[row] += share
                add(sums, row * arity, share, p, at, arity)
            likelihood *= max(p[at + slots[row]], least)
            if likelihood < 1e-200:
                loss -= share * math.log(likelihood)
                likelihood = 1.0
        for row in range(first, last):
            at = (row - first) * room
            error(p, at, arity, slots[row], share * rate)
            if not sparse:
                step(weight, nodes[row] * arity, arity, size, r, p, at, back)
            for e in range(start, stop if sparse else start):
                value = weights[e] if weighted else equal
                for j in range(arity):
                    weight[nodes[row], j, ids[e]] -= value * p[at + j]
            if learn_bias:
                add(bias, nodes[row] * arity, -one, p, at, arity)
        for e in range(start, stop if embedded else start):
            add(embedding, ids[e] * size, -(weights[e] if weighted else equal), back, 0, size)
    return loss - share * math.log(likelihood)


@exact
def branch_log_prob(i, table, offsets, ids, weights, embedding, weight, bias, node, r, log_p):
    """The log-probabilities of a node's children, in double precision, into ``log_p``.

    They are those of example i, represented by ``r`` or a sparse row.
    """
    arity, size = weight.shape[1], weight.shape[2]
    start, stop = 0, 0
    if not len(table) and not len(embedding):
        start, stop, size = offsets[i], offsets[i + 1], 0
    share = np.float32(1) / np.float32(max(stop - start, 1))
    highest = -np.inf
    for j in range(arity):
        logit = np.float32(0)
        for k in range(size):
            logit += weight[node, j, k] * r[k]
        for e in range(start, stop):
            logit += (weights[e] if len(weights) else share) * weight[node, j, ids[e]]
        log_p[j] = logit + bias[node, j]
        highest = max(highest, log_p[j])
    total = 0.0
    for j in range(arity):
        total += math.exp(log_p[j] - highest)
    above = highest + math.log(total)
    for j in range(arity):
        log_p[j] -= above


@exact
def search(
    begin, end, table, offsets, ids, weights, embedding, weight, bias, children, top, beam,
    least, best, log_prob,
):  # fmt: skip
    """The likeliest labels of each example, best first, and how many nodes were computed.

    Whatever is likeliest goes on, node or leaf; a node's leaves can only be less likely, so that
    the first leaves to come up are the answer. Equal ones come by number.

    Args: ``beam`` is the most nodes that go on at each depth, 0 for all; ``least`` the smallest
    log-probability that counts.
    """
    num_nodes, arity, size = weight.shape
    r = np.empty(size, np.float32)
    log_p = np.empty(arity)
    expanded = np.zeros(64, np.int64)
    visited = 0
    heap = [(0.0, 0, 0)]
    for n in range(begin, end):
        represent(n, table, offsets, ids, weights, embedding, r)
        heap.clear()
        heap.append((0.0, 0, 0))  # a loss, a node or leaf, a depth
        if beam:
            expanded[:] = 0
        found = 0
        while heap and found < top:
            loss, node, depth = heapq.heappop(heap)
            if node >= num_nodes:
                best[n, found] = node - num_nodes
                log_prob[n, found] = -loss
                found += 1
                continue
            if beam:
                if depth >= len(expanded):
                    expanded = doubled(expanded)
                if expanded[depth] == beam:
                    continue
                expanded[depth] += 1
            visited += 1
            branch_log_prob(
                n, table, offsets, ids, weights, embedding, weight, bias, node, r, log_p
            )
            for j in range(arity):
                if children[node, j] >= 0 and -loss + log_p[j] >= least:
                    u = np.int64(children[node, j])
                    heapq.heappush(heap, (loss - log_p[j], u, depth + 1))
    return visited


@exact
def score_labels(
    begin, end, labels, table, offsets, ids, weights, embedding, weight, bias,
    code_offsets, nodes, slots, log_prob,
):  # fmt: skip
    """The log-probability of one label an example, into ``log_prob``: the sum along its code."""
    arity, size = weight.shape[1:]
    r = np.empty(size, np.float32)
    log_p = np.empty(arity)
    for n in range(begin, end):
        represent(n, table, offsets, ids, weights, embedding, r)
        loss = 0.0
        for row in range(code_offsets[labels[n]], code_offsets[labels[n] + 1]):
            branch_log_prob(
                n, table, offsets, ids, weights, embedding, weight, bias, nodes[row], r, log_p
            )
            loss -= log_p[slots[row]]
        log_prob[n] = -loss


@exact
def score_all(
    begin, end, table, offsets, ids, weights, embedding, weight, bias, children, log_prob
):
    """The log-probabilities of all labels, ``[n, labels]``, into ``log_prob``."""
    num_nodes, arity, size = weight.shape
    r = np.empty(size, np.float32)
    log_p = np.empty(arity)
    stack = np.empty(num_nodes + 1, np.int64)
    above = np.empty(num_nodes + 1)
    for n in range(begin, end):
        represent(n, table, offsets, ids, weights, embedding, r)
        above[0], stack[0], height = 0.0, 0, min(num_nodes, 1)
        while height:
            height -= 1
            loss, node = above[height], stack[height]
            branch_log_prob(
                n, table, offsets, ids, weights, embedding, weight, bias, node, r, log_p
            )
            for j in range(arity):
                u = children[node, j]
                if u >= num_nodes:
                    log_prob[n, u - num_nodes] = -(loss - log_p[j])
                elif u >= 0:
                    above[height], stack[height] = loss - log_p[j], u
                    height += 1


@compiled
def take_rows(offsets, ids, weights, rows):
    """The bags of some examples, one after the other."""
    new_offsets = np.zeros(len(rows) + 1, np.int64)
    for n in range(len(rows)):
        new_offsets[n + 1] = new_offsets[n] + offsets[rows[n] + 1] - offsets[rows[n]]
    new_ids = np.empty(new_offsets[-1], np.int32)
    new_weights = np.empty(new_offsets[-1] if len(weights) else 0, np.float32)
    for n in range(len(rows)):
        at = new_offsets[n]
        for e in range(offsets[rows[n]], offsets[rows[n] + 1]):
            new_ids[at] = ids[e]
            if len(weights):
                new_weights[at] = weights[e]
            at += 1
    return new_offsets, new_ids, new_weights


@partial(compiled, error_model="numpy")  # Where divisors are checked, nothing is vectorised.
def change_rows(rows, weight, total, gradient, rate, eps):
    """Adagrad's step with the gradients of some rows, whose squares come to the ``total``."""
    for i in range(len(rows)):
        w, s, g = weight[rows[i]], total[rows[i]], gradient[i]
        for k in range(len(g)):
            s[k] += g[k] * g[k]
            w[k] -= rate * (g[k] / (np.sqrt(s[k]) + eps))
