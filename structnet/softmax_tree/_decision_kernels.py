"""The best of several hyperplanes, compiled by numba; ``decision_update.py`` defines the value.

Rows are as in ``_kernels.py``; weights are dense, ``[D]``, even for sparse rows. ``gains`` are the
loss of each row on the left minus that on the right, times its weight; none is 0. Loops replace
numpy's functions, which would take longer to compile than this whole module.
"""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree._kernels import free, inlined, projections, within

BYTE, TOP = 256, 2**31


@within
def ascending(numbers):
    """The places of numbers in ascending order; the sort is stable. ``[n]``, float32.

    A radix sort, byte by byte, is several times as fast as comparing.
    """
    n = len(numbers)
    keys, room, counts = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(4 * BYTE, np.int64)
    for i in range(n):
        number = np.float32(numbers[i])
        bits = np.int64(number.view(np.int32))
        key = bits + TOP if bits >= 0 else -1 - bits  # in the order of the numbers
        keys[i] = (key << 32) | i
        for byte in range(4):
            counts[byte * BYTE + ((key >> (8 * byte)) & (BYTE - 1))] += 1
    for byte in range(4):
        start = 0
        for place in range(byte * BYTE, (byte + 1) * BYTE):
            start, counts[place] = start + counts[place], start
        for i in range(n):
            place = byte * BYTE + ((keys[i] >> (32 + 8 * byte)) & (BYTE - 1))
            room[counts[place]] = keys[i]
            counts[place] += 1
        keys, room = room, keys
    for i in range(n):
        keys[i] &= 2 * TOP - 1
    return keys


@within
def mistakes(scores, bias, gains):
    """The weighted 0/1 loss of a direction with a bias."""
    total = 0.0
    for i in range(len(gains)):
        if (scores[i] + bias >= 0) != (gains[i] > 0):
            total += abs(gains[i])
    return total


@within
def norm(weight):
    """``||w||_1``."""
    total = 0.0
    for d in range(len(weight)):
        total += abs(weight[d])
    return total


@within
def times(weight, factor):
    """Weights times a factor. ``[D]``."""
    found = np.empty(len(weight), np.float32)
    for d in range(len(weight)):
        found[d] = weight[d] * factor
    return found


@within
def bias_at(scores, order, cut, sign):
    """The bias that cuts scores times a sign; ``cut`` scores come before it in ascending order."""
    last, first = (cut - 1, cut) if sign > 0 else (cut, cut - 1)  # on the left, on the right
    if not 0 <= last < len(order):
        return np.float32(1) - sign * scores[order[first]]
    below = sign * scores[order[last]]
    if not 0 <= first < len(order):
        return -np.nextafter(below, np.float32(np.inf))
    above = sign * scores[order[first]]
    middle = np.float32((np.float64(below) + above) / 2)
    return -middle if middle > below else -above


@free
def threshold(scores, gains):
    """The lowest weighted 0/1 loss that any bias has on a direction or its opposite.

    Returns the loss, the bias, and True if the opposite direction is better.
    """
    n, order = len(gains), ascending(scores)
    lost = wrong_right = least = most = 0.0
    low = high = np.int64(0)  # a literal 0 would have the functions called compiled once more
    for i in range(n):
        # The loss if the first i + 1 rows go left, beyond that if all go right.
        lost += gains[order[i]]
        if gains[order[i]] < 0:
            wrong_right -= gains[order[i]]
        if i + 1 < n and scores[order[i + 1]] == scores[order[i]]:  # no cut between equal scores
            continue
        if lost < least:
            least, low = lost, np.int64(i + 1)
        if lost > most:
            most, high = lost, np.int64(i + 1)
    cost, opposite = wrong_right + least, lost + wrong_right - most
    if cost <= opposite:
        return cost, bias_at(scores, order, low, np.float32(1)), False
    return opposite, bias_at(scores, order, high, np.float32(-1)), True


@inlined
def at_threshold(X, columns, indptr, rows, gains, weight, penalty, scores):
    """The value of the best bias on a direction or its opposite, the weights and the bias.

    ``scores`` is a buffer for the scores of the rows.
    """
    projections(X, columns, indptr, rows, weight, np.float32(0), scores)
    cost, bias, opposite = threshold(scores, gains)
    return cost + penalty * norm(weight), times(weight, -1.0 if opposite else 1.0), bias


@inlined
def sparser(X, columns, indptr, rows, gains, weight, bias, value, penalty, scores):
    """The best of a hyperplane and those of its 1, 2, 4, ... largest weights, with own thresholds.

    Many features are often redundant, as clusters lie far apart: predictions without them make no
    more mistakes. The surrogate keeps them, as they give it wider margins.
    """
    sizes, number = np.empty(len(weight), np.float32), 0
    for d in range(len(weight)):
        sizes[d] = -abs(weight[d])
        number += weight[d] != 0
    order, best, at = ascending(sizes), weight, bias
    wanted, fewer = 1, np.zeros(len(weight), np.float32)
    while wanted < number:
        for i in range(wanted // 2, wanted):
            fewer[order[i]] = weight[order[i]]
        wanted *= 2
        cost, new, own = at_threshold(X, columns, indptr, rows, gains, fewer, penalty, scores)
        if cost < value:
            value, best, at = cost, new, own
    return best, at


@free
def best_plane(X, columns, indptr, rows, gains, weight, bias, new, own, penalty):
    """The best hyperplane made from a node's own and a new one: w ``[D]`` and b.

    The value is the weighted 0/1 loss plus the penalty times the norm. The node's own is returned
    if none is better.
    """
    scores, most = np.empty(len(rows), np.float32), norm(weight)
    projections(X, columns, indptr, rows, weight, np.float32(0), scores)
    value = mistakes(scores, bias, gains) + penalty * most
    best, at, found = weight, bias, False
    for attempt in range(2):
        if attempt:  # the same decisions, at the smaller norm of the node's own
            size = norm(new)
            factor = most / size if size else 1.0
            if not 0 < factor < 1:
                break
            new, own = times(new, factor), np.float32(own * factor)
        projections(X, columns, indptr, rows, new, np.float32(0), scores)
        cost = mistakes(scores, own, gains) + penalty * norm(new)
        if cost < value:
            value, best, at, found = cost, new, own, True
            break
    if not found:
        for side in range(2):  # all rows to one side
            sign, cost = np.float32(1 - 2 * side), 0.0
            for i in range(len(gains)):
                if sign * gains[i] < 0:
                    cost -= sign * gains[i]
            if cost < value:
                value, best, at = cost, np.zeros(len(weight), np.float32), sign
        for which in range(2):
            direction = weight if which else new
            if norm(direction):
                cost, way, own = at_threshold(
                    X, columns, indptr, rows, gains, direction, penalty, scores
                )
                if cost < value:
                    value, best, at = cost, way, own
    return sparser(X, columns, indptr, rows, gains, best, at, value, penalty, scores)
