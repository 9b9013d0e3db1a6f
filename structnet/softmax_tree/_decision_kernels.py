"""The best of some hyperplanes, compiled by numba; ``decision_update.py`` says what is better.

Rows are those of ``_kernels.py``; weights are full, ``[D]``, also those of sparse rows. ``gains``
are the losses of each row on the left less those on the right, times its count, none of them 0.
Loops stand where numpy has a word, which would take longer to compile than all that is said here.
"""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree._kernels import free, inlined, projections, within

BYTE, TOP = 256, 2**31


@within
def ascending(numbers):
    """The places of numbers in ascending order, equal ones as they stand. ``[n]``, float32.

    It sorts by a byte of their bits at a time, which is several times as fast as comparing.
    """
    n = len(numbers)
    keys, room, counts = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(4 * BYTE, np.int64)
    for i in range(n):
        number = np.float32(numbers[i])
        bits = np.int64(number.view(np.int32))
        key = bits + TOP if bits >= 0 else -1 - bits  # their order is that of the numbers
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
    """The bias that parts ascending scores, so many of them below, if all are times a sign."""
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
    """The lowest weighted 0/1 loss of any bias on a direction or its opposite.

    Gives the loss, the bias, and whether it is on the opposite.
    """
    n, order = len(gains), ascending(scores)
    lost = wrong_right = least = most = 0.0
    low = high = np.int64(0)  # for a mere 0, what is called is compiled once more
    for i in range(n):
        # Where the first rows go left, they lose what they would have gained on the right.
        lost += gains[order[i]]
        if gains[order[i]] < 0:
            wrong_right -= gains[order[i]]
        if i + 1 < n and scores[order[i + 1]] == scores[order[i]]:  # they are not parted
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

    ``scores`` is room for those of the rows.
    """
    projections(X, columns, indptr, rows, weight, np.float32(0), scores)
    cost, bias, opposite = threshold(scores, gains)
    return cost + penalty * norm(weight), times(weight, -1.0 if opposite else 1.0), bias


@inlined
def sparser(X, columns, indptr, rows, gains, weight, bias, value, penalty, scores):
    """The best of a hyperplane and of its largest weights alone, each with its own threshold.

    Many features often tell the same, as far as clusters lie apart: what a prediction need not look
    at costs no mistake. The surrogate keeps them, as they give it wider margins.
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
    """The best hyperplane that follows from a node's own and a new one: w ``[D]`` and b.

    The value is the weighted 0/1 loss and the penalty times the norm. The node's own is given back
    if none is better.
    """
    scores, most = np.empty(len(rows), np.float32), norm(weight)
    projections(X, columns, indptr, rows, weight, np.float32(0), scores)
    value = mistakes(scores, bias, gains) + penalty * most
    best, at, found = weight, bias, False
    for attempt in range(2):
        if attempt:  # the same decisions at a smaller norm
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
        for side in range(2):  # all to one
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
