"""Training and search, one example at a time: compiled loops on shared float32 arrays.

An example is a row of a dense table, or a bag: ``ids[offsets[i]:offsets[i + 1]]`` with weights of
their own or, where there are none, equal ones (the mean). Weights of nodes are ``[nodes, arity,
size]``; an empty slot has the bias -inf, so that its probability is 0 and its gradient too.
"""

from __future__ import annotations

import heapq
import math
from functools import partial

import numpy as np

from structnet.trees._kernels import compiled

# Sums in any order, so that they are vectorised; infinities keep their meaning.
fast = partial(compiled, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
exact = partial(compiled, nogil=True, fastmath={"reassoc"})


@fast
def represent(i, table, offsets, ids, weights, embedding, r):
    """The representation of an example, into ``r``."""
    size = len(r)
    if len(table):
        for k in range(size):
            r[k] = table[i, k]
        return
    for k in range(size):
        r[k] = np.float32(0)
    start, end = offsets[i], offsets[i + 1]
    if len(weights):
        for e in range(start, end):
            for k in range(size):
                r[k] += weights[e] * embedding[ids[e], k]
    else:
        for e in range(start, end):
            for k in range(size):
                r[k] += embedding[ids[e], k]
        share = np.float32(1) / np.float32(max(end - start, 1))
        for k in range(size):
            r[k] *= share


@fast
def branch(weight, bias, node, r, p):
    """The probabilities of a node's children, into ``p``."""
    arity, size = weight.shape[1], weight.shape[2]
    highest = np.float32(-np.inf)
    for j in range(arity):
        logit = np.float32(0)
        for k in range(size):
            logit += weight[node, j, k] * r[k]
        p[j] = logit + bias[node, j]
        highest = max(highest, p[j])
    total = np.float32(0)
    for j in range(arity):
        p[j] = math.exp(p[j] - highest)
        total += p[j]
    total = np.float32(1) / total
    for j in range(arity):
        p[j] *= total


@fast
def train_part(
    begin, end, labels, shares, table, offsets, ids, weights, embedding, weight, bias,
    code_offsets, nodes, slots, sums, seen, first_rate, last_rate, learn_bias,
):  # fmt: skip
    """Goes through the examples from ``begin`` to ``end``, and gives the sum of their losses.

    The rate runs linearly from the first to the last of all; ``shares`` are the weights, or empty;
    ``sums`` and ``seen``, the statistics, are empty where none are kept.
    """
    arity, size = weight.shape[1], weight.shape[2]
    r = np.empty(size, np.float32)
    back = np.empty(size, np.float32)
    p = np.empty(arity, np.float32)
    learn_bag = len(table) == 0
    keep = len(seen) > 0
    loss = 0.0
    for i in range(begin, end):
        represent(i, table, offsets, ids, weights, embedding, r)
        rate = np.float32(first_rate + (last_rate - first_rate) * i / len(labels))
        share = np.float32(1)
        if len(shares):
            share = shares[i]
            rate *= share
        for k in range(size):
            back[k] = np.float32(0)
        likelihood = 1.0
        label = labels[i]
        for row in range(code_offsets[label], code_offsets[label + 1]):
            node, slot = nodes[row], slots[row]
            branch(weight, bias, node, r, p)
            if keep:
                seen[row] += share
                for j in range(arity):
                    sums[row, j] += share * p[j]
            likelihood *= max(p[slot], np.float32(1e-30))
            if likelihood < 1e-200:
                loss -= share * math.log(likelihood)
                likelihood = 1.0
            p[slot] -= np.float32(1)
            for j in range(arity):
                g = rate * p[j]
                for k in range(size):
                    old = weight[node, j, k]
                    back[k] += g * old
                    weight[node, j, k] = old - g * r[k]
                if learn_bias:
                    bias[node, j] -= g
        loss -= share * math.log(likelihood)
        if learn_bag:
            first, last = offsets[i], offsets[i + 1]
            if len(weights):
                for e in range(first, last):
                    for k in range(size):
                        embedding[ids[e], k] -= weights[e] * back[k]
            else:
                equal = np.float32(1) / np.float32(max(last - first, 1))
                for k in range(size):
                    back[k] *= equal
                for e in range(first, last):
                    for k in range(size):
                        embedding[ids[e], k] -= back[k]
    return loss


@exact
def branch_log_prob(weight, bias, node, r, log_p):
    """The log-probabilities of a node's children, in double precision, into ``log_p``."""
    arity, size = weight.shape[1], weight.shape[2]
    highest = -np.inf
    for j in range(arity):
        logit = np.float32(0)
        for k in range(size):
            logit += weight[node, j, k] * r[k]
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
                    expanded = np.append(expanded, np.zeros(len(expanded), np.int64))
                if expanded[depth] == beam:
                    continue
                expanded[depth] += 1
            visited += 1
            branch_log_prob(weight, bias, node, r, log_p)
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
            branch_log_prob(weight, bias, nodes[row], r, log_p)
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
            branch_log_prob(weight, bias, node, r, log_p)
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
