"""Products along a path, compiled by numba: the sides of hyperplanes, and the scores of leaves.

A row is ``values`` and ``columns``: of a row in full, the columns are empty. Weights are full or
sparse likewise, with columns in ``places``. Whatever the forms, a number is summed in one order:
entry d of a dot product goes to sum ``d % 8``, and a leaf's scores grow feature by feature. A zero
adds nothing, so rows in full and in CSR, alone and in a batch, give the same to the last bit.

A packed tree (see ``arrays.py``) is ``table``, six numbers a node, and what they point to: classes
and, of sparse leaves, features, further on in ``table``; numbers in ``weights``. A node's numbers
begin with its bias, or a leaf's biases; those of a full leaf follow as ``[D, k]``.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from structnet.trees._kernels import compiled

NOTHING = np.zeros(0, np.int32)
UNSIGNED = np.uint64  # such indices need no look at whether they count from the end
ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT = map(np.uint64, range(1, 9))
free = partial(compiled, nogil=True)  # several threads may train nodes at the same time

# What stands in the table of a node: -1 as the left child of a leaf, and as the features of a node
# whose weights are full; the size of a leaf is its number of classes, that of a sparse hyperplane
# its number of weights. The classes of an inner node are where the first leaf's are, which is where
# the nodes end.
LEFT, RIGHT, WEIGHTS, SIZE, CLASSES, FEATURES, FIELDS = range(7)


@free
def full_dot(x, at, w, start, number):
    """``sum_d x[at + d] w[start + d]`` of so many numbers, in eight sums; without a view of any."""
    zero = w.dtype.type(0)
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = zero
    d, e = UNSIGNED(at), UNSIGNED(start)
    end = d + UNSIGNED(number - number % 8)
    while d < end:
        a0 += x[d] * w[e]
        a1 += x[d + ONE] * w[e + ONE]
        a2 += x[d + TWO] * w[e + TWO]
        a3 += x[d + THREE] * w[e + THREE]
        a4 += x[d + FOUR] * w[e + FOUR]
        a5 += x[d + FIVE] * w[e + FIVE]
        a6 += x[d + SIX] * w[e + SIX]
        a7 += x[d + SEVEN] * w[e + SEVEN]
        d += EIGHT
        e += EIGHT
    left = number % 8
    if left > 0:
        a0 += x[d] * w[e]
    if left > 1:
        a1 += x[d + ONE] * w[e + ONE]
    if left > 2:
        a2 += x[d + TWO] * w[e + TWO]
    if left > 3:
        a3 += x[d + THREE] * w[e + THREE]
    if left > 4:
        a4 += x[d + FOUR] * w[e + FOUR]
    if left > 5:
        a5 += x[d + FIVE] * w[e + FIVE]
    if left > 6:
        a6 += x[d + SIX] * w[e + SIX]
    return ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7))


@free
def thin_dot(columns, values, full):
    """The same of a sparse vector and one in full."""
    a = np.zeros(8, full.dtype)
    for e in range(len(columns)):
        a[columns[e] % 8] += values[e] * full[columns[e]]
    return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]))


@free
def searched(numbers, first, number):
    """The place of the first that is no less, from ``first`` on, in ascending numbers.

    Numpy's ``searchsorted`` takes longer to compile than all that calls it.
    """
    end = len(numbers)
    while first < end:
        middle = (first + end) // 2
        if numbers[middle] < number:
            first = middle + 1
        else:
            end = middle
    return first


@free
def both_thin_dot(columns, values, places, w):
    """The same of two sparse vectors, whose columns ascend."""
    a = np.zeros(8, w.dtype)
    e = 0
    for i in range(len(columns)):
        e = searched(places, e, columns[i])
        if e == len(places):
            break
        if places[e] == columns[i]:
            a[columns[i] % 8] += values[i] * w[e]
    return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]))


@free
def projections(X, rows, w, b, out):
    """``w.x + b`` of some rows in full."""
    flat, width = X.ravel(), len(w)
    for i in range(len(rows)):
        out[i] = full_dot(flat, rows[i] * width, w, 0, width) + b


@free
def thin_projections(indptr, indices, data, rows, w, b, out):
    """The same of rows in CSR."""
    for i in range(len(rows)):
        start, stop = indptr[rows[i]], indptr[rows[i] + 1]
        out[i] = thin_dot(indices[start:stop], data[start:stop], w) + b


# ---- a packed tree


@free
def goes_right(columns, values, node, table, weights, places):
    """Whether a row goes to the right of an inner node: ``w.x + b >= 0``."""
    thin_row = len(values) == 0 or len(columns) > 0
    start = table[FIELDS * node + WEIGHTS] + 1
    if table[FIELDS * node + FEATURES] >= 0:
        stop = start + table[FIELDS * node + SIZE]
        if thin_row:
            score = both_thin_dot(columns, values, places[start:stop], weights[start:stop])
        else:
            score = thin_dot(places[start:stop], weights[start:stop], values)
    elif thin_row:
        score = thin_dot(columns, values, weights[start:])
    else:
        score = full_dot(values, 0, weights, start, len(values))
    return score + weights[start - 1] >= 0


@free
def full_leaf_of(flat, at, width, table, weights):
    """The leaf in which a row ends that is ``flat[at : at + width]``; all hyperplanes are full."""
    node, left = 0, table[LEFT]
    while left >= 0:
        start = table[FIELDS * node + WEIGHTS]
        right = full_dot(flat, at, weights, start + 1, width) + weights[start] >= 0
        node = table[FIELDS * node + RIGHT] if right else left
        left = table[FIELDS * node + LEFT]
    return node


@free
def leaf_of(columns, values, table, weights, places):
    """The leaf in which a row ends."""
    node = 0
    while table[FIELDS * node + LEFT] >= 0:
        right = goes_right(columns, values, node, table, weights, places)
        node = table[FIELDS * node + RIGHT] if right else table[FIELDS * node + LEFT]
    return node


@free
def full_scores(values, w, out):
    """Adds ``x W`` to a leaf's scores, four features at a time, one after the other. ``[D, k]``."""
    k, end = len(out), len(values) - len(values) % 4
    for d in range(0, end, 4):
        x0, x1, x2, x3 = values[d], values[d + 1], values[d + 2], values[d + 3]
        w0, w1 = w[d * k : d * k + k], w[d * k + k : d * k + 2 * k]
        w2, w3 = w[d * k + 2 * k : d * k + 3 * k], w[d * k + 3 * k : d * k + 4 * k]
        for j in range(k):
            out[j] = (((out[j] + x0 * w0[j]) + x1 * w1[j]) + x2 * w2[j]) + x3 * w3[j]
    for d in range(end, len(values)):
        x0, w0 = values[d], w[d * k : d * k + k]
        for j in range(k):
            out[j] += x0 * w0[j]


@free
def leaf_scores(columns, values, node, table, weights, places, out):
    """The scores of a leaf's classes, ``x W + c``. ``[k]``."""
    k, start = len(out), table[FIELDS * node + WEIGHTS]
    for j in range(k):
        out[j] = weights[start + j]
    start += k
    at = table[FIELDS * node + FEATURES]
    if at < 0:
        if len(columns) == 0:
            full_scores(values, weights[start:], out)
            return
        for i in range(len(columns)):
            row = weights[start + columns[i] * k : start + columns[i] * k + k]
            for j in range(k):
                out[j] += values[i] * row[j]
        return
    number = table[at]
    features, starts = table[at + 1 : at + 1 + number], table[at + 1 + number :]
    f = 0
    if len(columns) == 0 and len(values) > 0:
        for f in range(number):
            for e in range(starts[f], starts[f + 1]):
                out[places[e]] += values[features[f]] * weights[e]
        return
    for i in range(len(columns)):
        f = searched(features, f, columns[i])
        if f == number:
            return
        if features[f] == columns[i]:
            for e in range(starts[f], starts[f + 1]):
                out[places[e]] += values[i] * weights[e]


@free
def likeliest(scores):
    """The place of the highest score; of equal ones the first."""
    best = 0
    for j in range(1, len(scores)):
        if scores[j] > scores[best]:
            best = j
    return best


@free
def class_of(table, weights, places, columns, values):
    """The class that a row is taken for; what changes from call to call comes last."""
    leaf = leaf_of(columns, values, table, weights, places)
    scores = np.empty(table[FIELDS * leaf + SIZE], weights.dtype)
    leaf_scores(columns, values, leaf, table, weights, places, scores)
    return table[table[FIELDS * leaf + CLASSES] + likeliest(scores)]


@free
def class_of_full(table, weights, values):
    """The same where row and weights are full: every array that is handed over takes its time."""
    leaf = full_leaf_of(values, 0, len(values), table, weights)
    size, start = table[FIELDS * leaf + SIZE], table[FIELDS * leaf + WEIGHTS]
    scores = weights[start : start + size].copy()
    full_scores(values, weights[start + size :], scores)
    return table[table[FIELDS * leaf + CLASSES] + likeliest(scores)]


@free
def class_of_scaled(table, weights, mean, sd, x):
    """The same of a row in the user's units, ``[D]``."""
    if len(x) != len(mean):
        raise ValueError("x must have as many numbers as the rows of fit")
    values = np.empty(len(x), weights.dtype)
    for d in range(len(x)):
        values[d] = (x[d] - mean[d]) / sd[d]
    return class_of_full(table, weights, values)


@free
def sure_classes(scores, lengths, rounding, weight, bias, classes, rows, out):
    """The classes of a leaf's rows, from their scores without biases; -1 if rounding may decide.

    Two sums of D products, in whatever orders, differ by no more than so many roundings of the
    product of the two vectors' lengths.
    """
    squares = np.zeros(len(bias), weight.dtype)
    for d in range(len(weight)):
        row = weight[d]
        for j in range(len(row)):
            squares[j] += row[j] * row[j]
    longest = most = weight.dtype.type(0)
    for j in range(len(bias)):
        longest, most = max(longest, squares[j]), max(most, abs(bias[j]))
    longest = np.sqrt(longest)
    for i in range(len(rows)):
        row, near, best = scores[i], 0, 0
        highest = row[0] + bias[0]
        for j in range(len(row)):
            row[j] += bias[j]
            if row[j] > highest:
                highest = row[j]
        bound = highest - rounding * (lengths[rows[i]] * longest + most)
        for j in range(len(row)):
            if not row[j] < bound:
                near, best = near + 1, j
        out[rows[i]] = classes[best] if near == 1 else -1


@free
def log_softmax(scores, out):
    """Scores less the logarithm of the sum of their exponentials, in double precision."""
    most, total = np.float64(scores[likeliest(scores)]), 0.0
    for j in range(len(scores)):
        total += np.exp(scores[j] - most)
    shift = most + np.log(total)
    for j in range(len(scores)):
        out[j] = scores[j] - shift


@free
def log_probs(columns, values, leaf, table, weights, places, out):
    """The log-probabilities of a leaf's classes for a row."""
    scores = np.empty(len(out), weights.dtype)
    leaf_scores(columns, values, leaf, table, weights, places, scores)
    log_softmax(scores, out)


@free
def leaves_by_scores(X, scores, places, doubts, lengths, table, weights, out):
    """The leaf of each row in full, where the projections at some nodes are known but for rounding.

    Node v's are ``scores[:, places[v]]``, if that is no -1; the bias is still to be added.
    """
    flat, width = X.ravel(), X.shape[1]
    for i in range(len(out)):
        node, left = 0, table[LEFT]
        while left >= 0:
            start, place = table[FIELDS * node + WEIGHTS], places[node]
            score = doubt = weights.dtype.type(0)
            if place >= 0:
                score = scores[i, place] + weights[start]
                doubt = doubts[place] * lengths[i]
            if not abs(score) > doubt:
                score = full_dot(flat, i * width, weights, start + 1, width) + weights[start]
            node = table[FIELDS * node + RIGHT] if score >= 0 else left
            left = table[FIELDS * node + LEFT]
        out[i] = node


@free
def leaves_of(X, indptr, indices, data, table, weights, places, out):
    """The leaf of each row; of rows in full, ``indices`` is empty and ``indptr`` has a 0 a row."""
    flat, width = X.ravel(), X.shape[1]
    for i in range(len(out)):
        if len(indptr) == 0 and len(places) == 0:
            out[i] = full_leaf_of(flat, i * width, width, table, weights)
        elif len(indptr) == 0:
            out[i] = leaf_of(indices, X[i], table, weights, places)
        else:
            row = slice(indptr[i], indptr[i + 1])
            out[i] = leaf_of(indices[row], data[row], table, weights, places)


@free
def classes_of(X, indptr, indices, data, order, leaves, table, weights, places, out):
    """The class of each row, whose leaves are known; in an order in which those of a leaf meet."""
    room = np.empty(0, weights.dtype)
    for i in order:
        leaf = leaves[i]
        size = table[FIELDS * leaf + SIZE]
        if len(room) < size:
            room = np.empty(size, weights.dtype)
        scores = room[:size]
        if len(indptr) == 0:
            leaf_scores(indices, X[i], leaf, table, weights, places, scores)
        else:
            row = slice(indptr[i], indptr[i + 1])
            leaf_scores(indices[row], data[row], leaf, table, weights, places, scores)
        out[i] = table[table[FIELDS * leaf + CLASSES] + likeliest(scores)]


@free
def log_probs_of(X, indptr, indices, data, leaves, starts, table, weights, places, classes, out):
    """The classes of each row's leaf and their log-probabilities, from ``starts[i]`` on."""
    for i in range(len(leaves)):
        leaf, here = leaves[i], out[starts[i] : starts[i + 1]]
        if len(indptr) == 0:
            log_probs(indices, X[i], leaf, table, weights, places, here)
        else:
            row = slice(indptr[i], indptr[i + 1])
            log_probs(indices[row], data[row], leaf, table, weights, places, here)
        at = table[FIELDS * leaf + CLASSES]
        for j in range(len(here)):
            classes[starts[i] + j] = table[at + j]
