"""Products along a path, compiled by numba: the sides of hyperplanes, and the scores of leaves.

A row is ``values`` and ``columns``, which are None for a dense row; many rows are a dense table or
the parts of a CSR matrix, likewise. Weights are dense, or sparse with columns in ``places``. Code
for arguments that are None is not compiled: users with dense rows do not wait for the loops over
sparse ones. In all forms, sums have the same order: entry d of a dot product goes to partial sum
``d % 16``, a leaf's scores grow from the biases feature by feature, and each product and its sum
are rounded once (``_vectors.py``). As zeros add nothing, dense and CSR rows, alone or in a batch,
give the same result to the last bit.

A packed tree (see ``arrays.py``) is ``table``, with six numbers for each node, which point to its
classes and, if it is a sparse leaf, features further on in ``table``, and to its ``weights``. These
start with its bias, or a leaf's biases; the weights of a dense leaf follow as ``[D, k]``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import types
from numba.extending import overload

from structnet.softmax_tree._vectors import SUMS, folded, four_rows, full_dot, fused, one_row
from structnet.trees._kernels import compiled

MET = 64  # features whose weights are read from memory once for all classes of a leaf
UNSIGNED = np.uint64  # such indices need no check for counting from the end
# Several threads may run these functions at the same time. Division by 0 is as in numpy, since
# loops that may raise an error are not vectorised.
free = partial(compiled, error_model="numpy")
within = partial(free, no_cpython_wrapper=True)  # called only from compiled functions
inlined = partial(free, inline="always")  # called from a single place, or too small for a call

# The fields of a node in the table. The left child of a leaf is -1, as are the features of a node
# with dense weights. The size of a leaf is its number of classes, that of a hyperplane its number
# of weights. The classes of an inner node point to the end of the nodes, where the first leaf's
# classes are.
LEFT, RIGHT, WEIGHTS, SIZE, CLASSES, FEATURES, FIELDS = range(7)


@inlined
def thin_dot(columns, values, full, a):
    """The dot product of a sparse vector and a dense one; ``a`` is a buffer for the sums."""
    for j in range(SUMS):
        a[j] = 0
    for e in range(len(columns)):
        j = columns[e] % SUMS
        a[j] = fused(values[e], full[columns[e]], a[j])
    return folded(a)


@within
def searched(numbers, first, number):
    """The place of the first of ascending numbers, from ``first`` on, that is not below a number.

    Numpy's ``searchsorted`` takes longer to compile than all its callers.
    """
    end = len(numbers)
    while first < end:
        middle = (first + end) // 2
        if numbers[middle] < number:
            first = middle + 1
        else:
            end = middle
    return first


@inlined
def both_thin_dot(columns, values, places, w, a):
    """The dot product of two sparse vectors with ascending columns."""
    for j in range(SUMS):
        a[j] = 0
    e = np.int64(0)  # a literal 0 would have the functions called compiled once more
    for i in range(len(columns)):
        e = searched(places, e, columns[i])
        if e == len(places):
            break
        if places[e] == columns[i]:
            j = columns[i] % SUMS
            a[j] = fused(values[i], w[e], a[j])
    return folded(a)


def row_of(values, columns, indptr, i):
    """The columns, None for a dense row, and the values of row i."""


@overload(row_of, inline="always")  # as the two forms return different types
def _row_of(values, columns, indptr, i):
    def sparse(values, columns, indptr, i):
        row = slice(indptr[i], indptr[i + 1])
        return columns[row], values[row]

    full = isinstance(indptr, types.NoneType)
    return (lambda values, columns, indptr, i: (None, values[i])) if full else sparse


@free
def projections(X, columns, indptr, rows, w, b, out):
    """``w.x + b`` of some rows."""
    flat, width, a = X.ravel(), len(w), np.empty(SUMS, w.dtype)
    for i in range(len(rows)):
        if indptr is None:
            out[i] = full_dot(flat, rows[i] * width, w, 0, width) + b
        else:
            row = slice(indptr[rows[i]], indptr[rows[i] + 1])
            out[i] = thin_dot(columns[row], X[row], w, a) + b


# ---- a packed tree


@inlined
def goes_right(columns, values, node, table, weights, places, a):
    """True if a row goes to the right of an inner node: ``w.x + b >= 0``."""
    start = table[FIELDS * node + WEIGHTS] + 1
    if places is not None:
        own = slice(start, start + table[FIELDS * node + SIZE])
        if columns is None:
            score = thin_dot(places[own], weights[own], values, a)
        else:
            score = both_thin_dot(columns, values, places[own], weights[own], a)
    elif columns is None:
        score = full_dot(values, 0, weights, start, len(values))
    else:
        score = thin_dot(columns, values, weights[start:], a)
    return score + weights[start - 1] >= 0


@within
def leaf_of(columns, values, table, weights, places, a):
    """The leaf that a row reaches; ``a`` is a buffer for sums, unused if all is dense."""
    node = np.int64(0)
    while table[FIELDS * node + LEFT] >= 0:
        right = goes_right(columns, values, node, table, weights, places, a)
        node = table[FIELDS * node + (RIGHT if right else LEFT)]
    return node


@within
def leaf_scores(columns, values, node, table, weights, places, out):
    """The scores of a leaf's classes, ``x W + c``. ``[k]``."""
    k, start = len(out), table[FIELDS * node + WEIGHTS]
    for j in range(k):
        out[j] = weights[start + j]
    if places is not None:
        at = table[FIELDS * node + FEATURES]
        features, starts = table[at + 1 : at + 1 + table[at]], table[at + 1 + table[at] :]
        sparse_scores(columns, values, features, starts, weights, places, out)
    elif columns is None:
        for d in range(0, len(values), MET):
            number = min(MET, len(values) - d)
            one_row(values, (d,), weights, start + k + d * k, number, k, out)
    else:
        for i in range(len(columns)):
            first = start + k + columns[i] * k
            row = weights[first : first + k]
            for j in range(k):
                out[j] = fused(values[i], row[j], out[j])


@within
def sparse_scores(columns, values, features, starts, weights, places, out):
    """Adds the products of a row and the weights of each feature, which start at ``starts``."""
    f = np.int64(0)
    for i in range(len(features) if columns is None else len(columns)):
        if columns is None:
            f, value = i, values[features[i]]
            if value == 0:  # as most are, if the rows to learn from were sparse
                continue
        else:
            f, value = searched(features, f, columns[i]), values[i]
            if f == len(features):
                return
            if features[f] != columns[i]:
                continue
        for e in range(starts[f], starts[f + 1]):
            j = places[e]
            out[j] = fused(value, weights[e], out[j])


@partial(within, fastmath={"nnan", "nsz", "reassoc"})  # so that it is vectorised
def highest(scores):
    """The highest score."""
    found = scores[0]
    for j in range(1, len(scores)):
        found = max(found, scores[j])
    return found


@within
def likeliest(scores):
    """The place of the highest score, the first of equal ones."""
    most = highest(scores)
    for j in range(len(scores)):
        if scores[j] == most:
            return j
    return 0


@within
def likeliest_class(scores, classes):
    """The likeliest of a leaf's ascending classes, of which some have several scores, of parts."""
    most = highest(scores)
    # The class of the highest score has at least its share: few others need exponentials.
    least = most - np.float32(np.log(len(scores)))
    found, best, j = classes[0], 0.0, 0
    while j < len(scores):
        if scores[j] < least:
            j += 1
            continue
        start, total = j, 0.0
        while start > 0 and classes[start - 1] == classes[j]:
            start -= 1
        j = start
        while j < len(scores) and classes[j] == classes[start]:
            total += np.exp(scores[j] - most)
            j += 1
        if total > best:
            found, best = classes[start], total
    return found


@inlined
def class_of(columns, values, table, weights, places, a):
    """The predicted class of a row."""
    leaf = leaf_of(columns, values, table, weights, places, a)
    scores = np.empty(table[FIELDS * leaf + SIZE], weights.dtype)
    leaf_scores(columns, values, leaf, table, weights, places, scores)
    return table[table[FIELDS * leaf + CLASSES] + likeliest(scores)]


@inlined
def scale_into(values, mean, sd, x):
    """Writes a row into ``values``, in the tree's units if the mean and deviation are given."""
    if len(x) != len(values):
        raise ValueError("a row must have as many numbers as the tree has features")
    for d in range(len(values)):
        values[d] = x[d] if mean is None else (x[d] - mean[d]) / sd[d]


@free
def class_of_full(table, weights, x):
    """The predicted class of a dense row of any number type, if the weights are dense."""
    width = table[SIZE] if table[LEFT] >= 0 else len(weights) // table[SIZE] - 1
    return class_of_scaled(table, weights, None, None, None, width, x)


@free
def class_of_scaled(table, weights, places, mean, sd, width, x):
    """The predicted class of a dense row, also for sparse weights.

    It is in the user's units if their mean and deviation are given, else in the tree's.
    """
    values = np.empty(width, weights.dtype)
    scale_into(values, mean, sd, x)
    room = values if places is None else np.empty(SUMS, weights.dtype)  # `values` if unused
    return class_of(None, values, table, weights, places, room)


@free
def class_of_parts(table, weights, places, mean, sd, width, x):
    """As :func:`class_of_scaled`, by a single leaf whose classes have several parts."""
    values, at = np.empty(width, weights.dtype), table[CLASSES]
    scale_into(values, mean, sd, x)
    scores = np.empty(table[SIZE], weights.dtype)
    leaf_scores(None, values, 0, table, weights, places, scores)
    return likeliest_class(scores, table[at : at + len(scores)])


@free
def class_of_sparse(table, weights, places, width, columns, x):
    """The predicted class of a sparse row."""
    if len(x) != len(columns):
        raise ValueError("a row must have as many columns as numbers")
    room, last = np.empty(SUMS + len(x), weights.dtype), -1
    values = room[SUMS:]
    for e in range(len(x)):
        if columns[e] <= last or columns[e] >= width:
            raise ValueError("columns must ascend, and be below the number of features")
        values[e], last = x[e], columns[e]
    return class_of(columns, values, table, weights, places, room)


@inlined
def log_softmax(scores, out):
    """Scores minus the logarithm of the sum of their exponentials, in double precision."""
    most, total = np.float64(scores[likeliest(scores)]), 0.0
    for j in range(len(scores)):
        total += np.exp(scores[j] - most)
    shift = most + np.log(total)
    for j in range(len(scores)):
        out[j] = scores[j] - shift


@inlined
def log_probs(columns, values, leaf, table, weights, places, out):
    """The log-probabilities of a leaf's classes for a row."""
    scores = np.empty(len(out), weights.dtype)
    leaf_scores(columns, values, leaf, table, weights, places, scores)
    log_softmax(scores, out)


@free
def leaves_of(X, columns, indptr, rows, table, weights, places, out):
    """The leaf of each of some rows."""
    a = np.empty(SUMS, weights.dtype)
    for i in range(len(out)):
        own, values = row_of(X, columns, indptr, rows[i])
        out[i] = leaf_of(own, values, table, weights, places, a)


@free
def classes_of(X, columns, indptr, order, leaves, table, weights, places, out):
    """The class of each row from its leaf; ``order`` has the rows of a leaf next to each other."""
    room = np.empty(0, weights.dtype)
    i = 0
    while i < len(order):
        leaf, number = leaves[order[i]], 1
        size, at = table[FIELDS * leaf + SIZE], table[FIELDS * leaf + CLASSES]
        if len(room) < 4 * size:
            room = np.empty(4 * size, weights.dtype)
        four = i + 3 < len(order) and leaves[order[i + 3]] == leaf
        if four and indptr is None and places is None:
            number, start = 4, table[FIELDS * leaf + WEIGHTS]
            scores_of_four(X, order[i : i + 4], weights, start, size, room)
        if number == 1:
            own, values = row_of(X, columns, indptr, order[i])
            leaf_scores(own, values, leaf, table, weights, places, room[:size])
        for j in range(number):
            out[order[i + j]] = table[at + likeliest(room[j * size : j * size + size])]
        i += number


@free
def classes_of_parts(X, columns, indptr, table, weights, places, out):
    """The class of each row by a single leaf whose classes have several parts."""
    scores, at = np.empty(table[SIZE], weights.dtype), table[CLASSES]
    for i in range(len(out)):
        own, values = row_of(X, columns, indptr, i)
        leaf_scores(own, values, 0, table, weights, places, scores)
        out[i] = likeliest_class(scores, table[at : at + len(scores)])


@inlined
def scores_of_four(X, rows, weights, start, k, out):
    """The scores of a dense leaf's classes for four rows. ``[4 k]``."""
    for row in range(4):
        for j in range(k):
            out[row * k + j] = weights[start + j]
    width = X.shape[-1]
    starts = rows[0] * width, rows[1] * width, rows[2] * width, rows[3] * width
    four_rows(X.ravel(), starts, weights, start + k, width, k, out)


@free
def log_probs_of(X, columns, indptr, leaves, starts, table, weights, places, classes, out):
    """The classes of each row's leaf and their log-probabilities, from ``starts[i]`` on."""
    for i in range(len(leaves)):
        own, values = row_of(X, columns, indptr, i)
        here = out[starts[i] : starts[i + 1]]
        log_probs(own, values, leaves[i], table, weights, places, here)
        at = table[FIELDS * leaves[i] + CLASSES]
        for j in range(len(here)):
            classes[starts[i] + j] = table[at + j]
