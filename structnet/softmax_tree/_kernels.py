"""Products along a path, compiled by numba: the sides of hyperplanes, and the scores of leaves.

A row is ``values`` and ``columns``: of a row in full, the columns are empty. Weights are full or
sparse likewise, with columns in ``places``. Whatever the forms, a number is summed in one order:
entry d of a dot product goes to sum ``d % 16``, a leaf's scores grow from the biases feature by
feature, and a product and its sum have one rounding (``_vectors.py``). A zero adds nothing, so rows
in full and in CSR, alone and in a batch, give the same to the last bit.

A packed tree (see ``arrays.py``) is ``table``, six numbers a node, and what they point to: classes
and, of sparse leaves, features, further on in ``table``; numbers in ``weights``. A node's numbers
begin with its bias, or a leaf's biases; those of a full leaf follow as ``[D, k]``.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from structnet.softmax_tree._vectors import SUMS, four_rows, full_dot, fused, one_row
from structnet.trees._kernels import compiled

NOTHING = np.zeros(0, np.int32)
MET = 64  # features whose weights are read from memory once for all classes of a leaf
UNSIGNED = np.uint64  # such indices need no look at whether they count from the end
free = partial(compiled, nogil=True)  # several threads may train nodes at the same time

# What stands in the table of a node: -1 as the left child of a leaf, and as the features of a node
# whose weights are full; the size of a leaf is its number of classes, that of a sparse hyperplane
# its number of weights. The classes of an inner node are where the first leaf's are, which is where
# the nodes end.
LEFT, RIGHT, WEIGHTS, SIZE, CLASSES, FEATURES, FIELDS = range(7)


@free
def folded(a):
    """The sum of sixteen numbers: those of the second half are added to the first, and so on."""
    width = SUMS // 2
    while width > 0:
        for j in range(width):
            a[j] += a[j + width]
        width //= 2
    return a[0]


@free
def thin_dot(columns, values, full):
    """The product of a sparse vector and one in full."""
    a = np.zeros(SUMS, full.dtype)
    for e in range(len(columns)):
        j = columns[e] % SUMS
        a[j] = fused(values[e], full[columns[e]], a[j])
    return folded(a)


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
    a = np.zeros(SUMS, w.dtype)
    e = 0
    for i in range(len(columns)):
        e = searched(places, e, columns[i])
        if e == len(places):
            break
        if places[e] == columns[i]:
            j = columns[i] % SUMS
            a[j] = fused(values[i], w[e], a[j])
    return folded(a)


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
        score = full_dot(values.ravel(), 0, weights, start, len(values))
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
def begin_scores(weights, start, out):
    """A leaf's biases, to which the products are added. ``[k]``."""
    for j in range(len(out)):
        out[j] = weights[start + j]


@free
def full_scores(flat, at, weights, start, features, k, out):
    """The scores of a leaf's classes for the row ``flat[at : at + features]``, ``x W + c``."""
    begin_scores(weights, start, out)
    start += k
    for d in range(0, features, MET):
        one_row(flat, (at + d,), weights, start + d * k, min(MET, features - d), k, out)


@free
def leaf_scores(columns, values, node, table, weights, places, out):
    """The scores of a leaf's classes, ``x W + c``. ``[k]``."""
    k, start = len(out), table[FIELDS * node + WEIGHTS]
    at = table[FIELDS * node + FEATURES]
    if at < 0 and len(columns) == 0:
        full_scores(values.ravel(), 0, weights, start, len(values), k, out)
        return
    begin_scores(weights, start, out)
    start += k
    if at < 0:
        for i in range(len(columns)):
            row = weights[start + columns[i] * k : start + columns[i] * k + k]
            for j in range(k):
                out[j] = fused(values[i], row[j], out[j])
        return
    number = table[at]
    features, starts = table[at + 1 : at + 1 + number], table[at + 1 + number :]
    f = 0
    if len(columns) == 0 and len(values) > 0:
        for f in range(number):
            for e in range(starts[f], starts[f + 1]):
                j = places[e]
                out[j] = fused(values[features[f]], weights[e], out[j])
        return
    for i in range(len(columns)):
        f = searched(features, f, columns[i])
        if f == number:
            return
        if features[f] == columns[i]:
            for e in range(starts[f], starts[f + 1]):
                j = places[e]
                out[j] = fused(values[i], weights[e], out[j])


@partial(compiled, fastmath={"nnan", "nsz", "reassoc"})  # in any order, in vectors
def highest(scores):
    """The highest score."""
    found = scores[0]
    for j in range(1, len(scores)):
        found = max(found, scores[j])
    return found


@free
def likeliest(scores):
    """The place of the highest score; of equal ones the first."""
    most = highest(scores)
    for j in range(len(scores)):
        if scores[j] == most:
            return j
    return 0


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
    flat = values.ravel()
    leaf = full_leaf_of(flat, 0, len(flat), table, weights)
    size, start = table[FIELDS * leaf + SIZE], table[FIELDS * leaf + WEIGHTS]
    scores = np.empty(size, weights.dtype)
    full_scores(flat, 0, weights, start, len(flat), size, scores)
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
def leaves_of(X, indptr, indices, data, table, weights, places, out):
    """The leaf of each row; of rows in full, ``indptr`` and ``indices`` are empty."""
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
    room, flat, width = np.empty(0, weights.dtype), X.ravel(), X.shape[1]
    full = len(indptr) == 0 and len(places) == 0
    i = 0
    while i < len(order):
        leaf, number = leaves[order[i]], 1
        size, at = table[FIELDS * leaf + SIZE], table[FIELDS * leaf + CLASSES]
        if len(room) < 4 * size:
            room = np.empty(4 * size, weights.dtype)
        if full and i + 3 < len(order) and leaves[order[i + 3]] == leaf:
            number, start = 4, table[FIELDS * leaf + WEIGHTS]
            r0, r1, r2, r3 = order[i], order[i + 1], order[i + 2], order[i + 3]
            starts = r0 * width, r1 * width, r2 * width, r3 * width
            for j in range(4):
                begin_scores(weights, start, room[j * size : j * size + size])
            four_rows(flat, starts, weights, start + size, width, size, room)
        elif len(indptr) == 0:
            leaf_scores(indices, X[order[i]], leaf, table, weights, places, room[:size])
        else:
            row = slice(indptr[order[i]], indptr[order[i] + 1])
            leaf_scores(indices[row], data[row], leaf, table, weights, places, room[:size])
        for j in range(number):
            out[order[i + j]] = table[at + likeliest(room[j * size : j * size + size])]
        i += number


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
