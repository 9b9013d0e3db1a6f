"""Parts of the solver for sparse rows, compiled by numba: pairs of a feature and a class.

By the penalty nearly all weights of sparse rows are 0. Only those pairs are stored and moved that
have a weight, or whose first weight would lower the losses by more than it costs; as that changes
with the other weights, all pairs are looked at again from time to time (``LOOK``).

The pairs of feature d are those from ``pairs[d]`` to ``pairs[d + 1]``, each with its class in
``classes``. Weights are ``[P + k, 1]``: those of the pairs, then the biases. Rows are sparse by
feature: values, their rows, and the start of each feature. Scores and slopes are ``[n, k]``, so
that inner loops run along the classes of a row, which are close together in memory.
"""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree._kernels import UNSIGNED, free, within
from structnet.softmax_tree._solver_kernels import (
    FIRST,
    PATIENCE,
    POWER_STEPS,
    STEEPEST,
    TOLERANCE,
    binary_losses,
    exponential,
    go_beyond,
    proximal_step,
    summing,
)

LOOK = 10  # steps after which all pairs are looked at again; each look costs as much as a step
MANY = 8  # classes take so much less time if all are looked at in order


@summing
def pair_scores(X, places, starts, pairs, classes, weights, scores):
    """``W x_n + c`` of each row. ``[n, k]``."""
    n, k = scores.shape
    number = len(classes)
    for i in range(n):
        row = scores[i]
        for c in range(k):
            row[c] = weights[number + c, 0]
    full, own, kept = np.zeros(k, np.float32), np.empty(k, np.float32), np.empty(k, np.int32)
    for d in range(len(pairs) - 1):
        count = np.int64(0)
        for p in range(pairs[d], pairs[d + 1]):
            own[count], kept[count] = weights[p, 0], classes[p]
            count += weights[p, 0] != 0
        if count == 0:
            continue
        if count * MANY < k:
            for e in range(UNSIGNED(starts[d]), UNSIGNED(starts[d + 1])):
                row, value = scores[UNSIGNED(places[e])], X[e]
                for j in range(count):
                    row[UNSIGNED(kept[j])] += value * own[j]
            continue
        for c in range(k):
            full[c] = 0
        for j in range(count):
            full[kept[j]] = own[j]
        for e in range(UNSIGNED(starts[d]), UNSIGNED(starts[d + 1])):
            row, value = scores[UNSIGNED(places[e])], X[e]
            for c in range(k):
                row[c] += value * full[c]


@summing
def pair_gradient(X, places, starts, pairs, classes, slopes, gradient):
    """The derivatives of the losses by the weights, from those by the scores. ``[P + k, 1]``."""
    n, k = slopes.shape
    number, totals, full = len(classes), np.zeros(k), np.empty(k, np.float32)
    for i in range(n):
        row = slopes[i]
        for c in range(k):
            totals[c] += row[c]
    for c in range(k):
        gradient[number + c, 0] = totals[c]
    for d in range(len(pairs) - 1):
        own = slice(pairs[d], pairs[d + 1])
        mine, out = classes[own], gradient[own, 0]
        for p in range(len(mine)):
            out[p] = 0
        if 0 < len(mine) * MANY < k:
            for e in range(UNSIGNED(starts[d]), UNSIGNED(starts[d + 1])):
                row, value = slopes[UNSIGNED(places[e])], X[e]
                for p in range(len(mine)):
                    out[p] += value * row[UNSIGNED(mine[p])]
        elif len(mine):
            for c in range(k):
                full[c] = 0
            for e in range(UNSIGNED(starts[d]), UNSIGNED(starts[d + 1])):
                row, value = slopes[UNSIGNED(places[e])], X[e]
                for c in range(k):
                    full[c] += value * row[c]
            for p in range(len(mine)):
                out[p] = full[mine[p]]


@summing
def pairs_of(weights):
    """The pairs with a weight: ``pairs``, ``classes``. ``[D + 1, k]``."""
    features, k, number = len(weights) - 1, weights.shape[1], np.int64(0)
    pairs = np.zeros(features + 1, np.int64)
    for d in range(features):
        for c in range(k):
            number += weights[d, c] != 0
        pairs[d + 1] = number
    classes, number = np.empty(number, np.int32), np.int64(0)
    for d in range(features):
        for c in range(k):
            if weights[d, c] != 0:
                classes[number] = c
                number += 1
    return pairs, classes


@summing
def more_pairs(X, places, starts, slopes, pairs, classes, thresholds):
    """These pairs and those whose derivative is above its threshold: ``pairs``, ``classes``.

    Shapes: slopes ``[n, k]``; thresholds ``[D + 1]``.
    """
    k, number = slopes.shape[1], np.int64(0)
    found, room, slope = np.zeros_like(pairs), np.empty(k, np.int32), np.empty(k, np.float32)
    for d in range(len(pairs) - 1):
        for c in range(k):
            slope[c] = 0
        for e in range(UNSIGNED(starts[d]), UNSIGNED(starts[d + 1])):
            row, value = slopes[UNSIGNED(places[e])], X[e]
            for c in range(k):
                slope[c] += value * row[c]
        for p in range(pairs[d], pairs[d + 1]):
            slope[classes[p]] = np.inf
        if number + k > len(room):
            more = np.empty(2 * len(room) + k, np.int32)
            for p in range(number):
                more[p] = room[p]
            room = more
        for c in range(k):
            room[number] = c
            number += not abs(slope[c]) <= thresholds[d]  # also where sums overflow
        found[d + 1] = number
    return found, room[:number].copy()


@within
def moved(weights, pairs, classes, more, into):
    """Weights of pairs as those of more pairs, 0 for new ones. ``[P + k, 1] -> [P' + k, 1]``."""
    found = np.zeros((len(weights) + len(into) - len(classes), 1), np.float32)
    for d in range(len(pairs) - 1):
        at = more[d]
        for p in range(pairs[d], pairs[d + 1]):
            while into[at] != classes[p]:
                at += 1
            found[at, 0] = weights[p, 0]
    for c in range(len(weights) - len(classes)):
        found[len(into) + c, 0] = weights[len(classes) + c, 0]
    return found


@within
def of_each(numbers, pairs, biases):
    """A number of each feature for each of its pairs, and 0 for the biases. ``[P + k]``."""
    found = np.zeros(pairs[-1] + biases, np.float32)
    for d in range(len(pairs) - 1):
        for p in range(pairs[d], pairs[d + 1]):
            found[p] = numbers[d]
    return found


@summing
def loss_at(scores, y, counts, room):
    """The sum of the losses; ``room`` is a buffer. ``[n, k], [n], [n], [n]``."""
    if scores.shape[1] == 1:
        return binary_losses(scores.ravel(), y, counts, room)
    loss = 0.0
    for i in range(len(y)):
        row, total = scores[i], np.float32(0)
        most = row[0]
        for c in range(1, len(row)):
            most = max(most, row[c])
        for c in range(len(row)):
            total += exponential(row[c] - most)
        loss += counts[i] * (np.log(total) + most - row[y[i]])
    return loss


@summing
def slopes_beyond(here, new, pace, y, counts, room, slopes):
    """The losses past the new scores, by ``pace`` times the way to them; their derivatives.

    These go to ``slopes``; ``room`` is a buffer. Shapes: here, new, slopes ``[n, k]``; the others
    ``[n]``.
    """
    if here.shape[1] == 1:
        out = slopes.ravel()
        for i in range(len(y)):
            room[i] = new[i, 0] + pace * (new[i, 0] - here[i, 0])
        return binary_losses(room, y, counts, out)
    loss = 0.0
    for i in range(len(y)):
        old, ahead, row, total = here[i], new[i], slopes[i], np.float32(0)
        most = np.float32(-np.inf)
        for c in range(len(row)):
            row[c] = ahead[c] + pace * (ahead[c] - old[c])
            most = max(most, row[c])
        own = row[y[i]]
        for c in range(len(row)):
            row[c] = exponential(row[c] - most)
            total += row[c]
        loss += counts[i] * (np.log(total) + most - own)
        share = counts[i] / total
        for c in range(len(row)):
            row[c] *= share
        row[y[i]] -= counts[i]
    return loss


@within
def steepest_of_sparse(X, places, starts, counts, vector):
    """As :func:`._solver_kernels.steepest`, for sparse rows."""
    features = len(vector) - 1
    every, only = np.arange(features + 1), np.zeros(features, np.int32)
    scores, value = np.empty((len(counts), 1), np.float32), 0.0
    for step in range(POWER_STEPS + 1):
        squares = 0.0
        for d in range(len(vector)):
            squares += np.float64(vector[d, 0]) * vector[d, 0]
        value = np.sqrt(squares)
        if step == POWER_STEPS or value == 0:
            break
        for d in range(len(vector)):
            vector[d, 0] /= np.float32(value)
        pair_scores(X, places, starts, every, only, vector, scores)
        for i in range(len(counts)):
            scores[i, 0] *= counts[i]
        pair_gradient(X, places, starts, every, only, scores, vector)
    return value


@free
def fista_of_pairs(
    X, places, starts, y, counts, begin, thresholds, ridges, direction, factor, steps
):
    """As :func:`._solver_kernels.fista`, for sparse rows."""
    k, n = begin.shape[1], len(y)
    curvature = FIRST * factor * steepest_of_sparse(X, places, starts, counts, direction)
    pairs, classes = pairs_of(begin)
    here = np.empty((len(classes) + k, 1), np.float32)
    for d in range(len(pairs) - 1):
        for p in range(pairs[d], pairs[d + 1]):
            here[p, 0] = begin[d, classes[p]]
    for c in range(k):
        here[len(classes) + c, 0] = begin[len(begin) - 1, c]
    best = here
    own_thresholds, own_ridges = of_each(thresholds, pairs, k), of_each(ridges, pairs, k)
    ahead, gradient = here.copy(), np.empty_like(here)
    scores, room = np.empty((n, k), np.float32), np.empty(n, np.float32)
    pair_scores(X, places, starts, pairs, classes, here, scores)
    old_scores, slopes = scores.copy(), np.empty_like(scores)
    speed, pace, lowest = 1.0, np.float32(0), np.empty(steps + 1, np.float64)
    lowest[0] = np.inf
    for step in range(1, steps + 1):
        loss = slopes_beyond(old_scores, scores, pace, y, counts, room, slopes)
        if step % LOOK == 1:
            more, into = more_pairs(X, places, starts, slopes, pairs, classes, thresholds)
            here = moved(here, pairs, classes, more, into)
            best = moved(best, pairs, classes, more, into)
            ahead = moved(ahead, pairs, classes, more, into)
            pairs, classes, gradient = more, into, np.empty_like(here)
            own_thresholds, own_ridges = of_each(thresholds, pairs, k), of_each(ridges, pairs, k)
        pair_gradient(X, places, starts, pairs, classes, slopes, gradient)
        old_scores, scores = scores, old_scores
        new = np.empty_like(here)
        while True:
            rise, penalty, uphill = proximal_step(
                here, ahead, gradient, curvature, own_thresholds, own_ridges, new
            )
            pair_scores(X, places, starts, pairs, classes, new, scores)
            found = loss_at(scores, y, counts, room)
            slack = 1e-6 * (abs(loss) + 1.0)  # as rounding errors exceed a small difference
            if found <= loss + rise + slack or not np.isfinite(rise) or curvature > STEEPEST:
                break
            curvature *= 2
        faster = 1.0 if uphill else (1 + (1 + 4 * speed**2) ** 0.5) / 2
        pace, speed = np.float32(0 if uphill else (speed - 1) / faster), faster
        go_beyond(here, new, pace, ahead)
        here = new
        if found + penalty < lowest[step - 1]:
            best = new
        lowest[step] = min(lowest[step - 1], found + penalty)
        curvature *= 0.95
        if step >= PATIENCE and lowest[step] > lowest[step - PATIENCE] * (1 - TOLERANCE):
            break
    solved = np.zeros_like(begin)
    for d in range(len(pairs) - 1):
        for p in range(pairs[d], pairs[d + 1]):
            solved[d, classes[p]] = best[p, 0]
    for c in range(k):
        solved[len(begin) - 1, c] = best[len(classes) + c, 0]
    return solved
