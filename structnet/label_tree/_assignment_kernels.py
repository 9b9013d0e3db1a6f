"""Assigns the labels of a node to its children by scores, greedily or optimally."""

from __future__ import annotations

import heapq

import numpy as np

from structnet.trees._kernels import compiled


@compiled
def missing(size, arity):
    """The number of labels that a child lacks for a valid size, above 0 and 1 mod (arity - 1)."""
    return 1 if size == 0 else (1 - size) % (arity - 1)


@compiled
def greedy(scores, capacity):
    """The child of each label: takes pairs in order of falling score, but no child that is full.

    A child is full at its capacity, or if its size is valid (see :func:`missing`) and the remaining
    labels are needed for valid sizes of the others. Ties go to the lower label, then to the lower
    child. ``[labels, arity] -> [labels]``.
    """
    n, arity = scores.shape
    choice = np.zeros(n, np.int64)
    size = np.zeros(arity, np.int64)
    need = arity  # labels that all children lack together
    left = n + (1 - n) % (arity - 1)  # labels and empty slots that are not assigned yet
    waiting = [(0.0, -1)]  # heap of (-score, label); this entry gives numba the type
    waiting.clear()
    for i in range(n):
        for k in range(1, arity):
            if scores[i, k] > scores[i, choice[i]]:
                choice[i] = k
        waiting.append((-scores[i, choice[i]], i))
    heapq.heapify(waiting)
    while waiting:
        i = heapq.heappop(waiting)[1]
        j = choice[i]
        short = missing(size[j], arity)
        if size[j] == capacity or (short == 0 and left - need < arity - 1):
            best = -1
            for k in range(arity):
                full = size[k] == capacity or (
                    missing(size[k], arity) == 0 and left - need < arity - 1
                )
                if not full and (best < 0 or scores[i, k] > scores[i, best]):
                    best = k
            choice[i] = best
            heapq.heappush(waiting, (-scores[i, best], i))
            continue
        size[j] += 1
        need += missing(size[j], arity) - short
        left -= 1
    return choice


@compiled
def assigned(value):
    """The column of each row in the assignment with the largest sum of values.

    There are at least as many columns as rows. The Hungarian method finds shortest augmenting
    paths, one row at a time, with prices that keep all reduced costs at 0 or above.
    """
    rows, columns = value.shape
    price_row = np.zeros(rows + 1)
    price = np.zeros(columns + 1)
    owner = np.full(columns + 1, rows)  # row of each column, or rows; the last starts each search
    way = np.zeros(columns + 1, np.int64)
    for i in range(rows):
        owner[columns] = i
        here = columns
        least = np.full(columns, np.inf)
        used = np.zeros(columns + 1, np.bool_)
        while owner[here] != rows:
            used[here] = True
            row, delta, following = owner[here], np.inf, -1
            for j in range(columns):
                if not used[j]:
                    cost = -value[row, j] - price_row[row] - price[j]
                    if cost < least[j]:
                        least[j], way[j] = cost, here
                    if least[j] < delta:
                        delta, following = least[j], j
            for j in range(columns + 1):
                if used[j]:
                    price_row[owner[j]] += delta
                    price[j] -= delta
                elif j < columns:
                    least[j] -= delta
            here = following
        while here != columns:
            owner[here] = owner[way[here]]
            here = way[here]
    column_of = np.empty(rows, np.int64)
    for j in range(columns):
        if owner[j] != rows:
            column_of[owner[j]] = j
    return column_of


@compiled
def optimal(scores, capacity, limit):
    """The child of each label, so that the sum of scores is largest; greedy if that takes too long.

    A child may have 1, 1 + (arity - 1), ... labels and empty slots; each combination of such sizes
    is an assignment problem. With more than ``limit`` of them, the greedy choice is returned.
    """
    n, arity = scores.shape
    best = greedy(scores, capacity)
    units = (n + (1 - n) % (arity - 1) - arity) // (arity - 1)
    ways = 1.0
    for k in range(units):
        ways = ways * (units + arity - 1 - k) / (k + 1)
    if ways > limit:
        return best
    total = 0.0
    for i in range(n):
        total += scores[i, best[i]]
    units_of = np.zeros(arity, np.int64)  # units of each child; goes through all compositions
    units_of[arity - 1] = units
    owner = np.empty(arity + units * (arity - 1), np.int64)  # child of each column
    while True:
        columns, most = 0, 0  # columns of all children, and of the largest
        for j in range(arity):
            size = 1 + units_of[j] * (arity - 1)
            most = max(most, size)
            owner[columns : columns + size] = j
            columns += size
        if most <= capacity:
            places = assigned(scores[:, owner])
            value = 0.0
            for i in range(n):
                value += scores[i, owner[places[i]]]
            if value > total + 1e-12 * abs(total):
                total = value
                best = owner[places]
        j = arity - 1
        while j > 0 and units_of[j] == 0:
            j -= 1
        if j == 0:
            return best
        last = units_of[j]
        units_of[j] = 0
        units_of[j - 1] += 1
        units_of[arity - 1] = last - 1
