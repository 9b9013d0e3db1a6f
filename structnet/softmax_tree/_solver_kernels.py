"""Solves a node's problem in one call, compiled by numba; ``solver.py`` defines the problem.

Rows are a dense table, or sparse by feature: values, their rows, and the start of each feature.
There are often more features than rows, so that weights, which are read in order, take more memory
than scores, which are not. Weights are ``[D + 1, k]``, with the biases last; scores and slopes are
``[k, n]``, so that inner loops run along the rows. A single column of weights is the binary form:
its score is that of class 1.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from structnet.softmax_tree._kernels import UNSIGNED, free, inlined, within
from structnet.trees import _llvm

POWER_STEPS = 6
FIRST = 0.25  # initial curvature, as a share of its bound
# At each step the curvature falls by a little, or down to AMPLE times what the last step met, but
# to no less than STEEP_FALL: sure of nothing among k classes, losses are 2 / k times as curved as
# their bound.
FALL, STEEP_FALL, AMPLE = 0.95, 0.5, 1.5
PATIENCE = 5  # steps over which the objective must fall
TOLERANCE = 5e-4  # share by which it must fall
CLEAR = 10  # times the rounding errors, from which a difference tells the curvature
STEEPEST = 1e30  # largest curvature, within single precision
BLOCK = 256  # rows that are processed for all classes at a time, so that they stay in the cache
E0, E1, E2, E3, E4, E5 = map(np.float32, _llvm.SERIES)
PER_LOG_2 = np.float32(1.4426950408889634)
LOG_2, REST = map(np.float32, _llvm.LOG_2)
ROUND = np.float32(_llvm.ROUND)
LEAST = np.float32(-87)  # lower x are raised to it
L3, L5, L7, L9, L11, L13 = (np.float32(1 / odd) for odd in range(3, 14, 2))
ONE = np.float32(1)
ANY_ORDER = {"reassoc", "contract", "nsz"}  # sums in any order, so that they are vectorised
summing = partial(within, fastmath=ANY_ORDER)
# Given explicitly, as a function that is compiled for a caller would inherit the caller's flags.
rounding = partial(within, fastmath={"contract"})


@rounding
def exponential(x):
    """``e^x`` for x of at most 0, to two roundings; loops over it are vectorised.

    Sums in another order would undo the rounding to a whole number.
    """
    shifted = np.float32(max(x, LEAST) * PER_LOG_2 + ROUND)
    whole = shifted - ROUND
    r = max(x, LEAST) - whole * LOG_2 - whole * REST
    series = ((((E0 * r + E1) * r + E2) * r + E3) * r + E4) * r + E5
    power = np.int32((np.int32(shifted.view(np.int32)) + 127) << 23).view(np.float32)  # 2^whole
    return (series * (r * r) + (r + ONE)) * power


@summing
def log_one_plus(e):
    """``log(1 + e)`` for e from 0 to 1, by the series of ``2 artanh(e / (2 + e))``."""
    u = e / (np.float32(2) + e)
    v = u * u
    series = ((((L13 * v + L11) * v + L9) * v + L7) * v + L5) * v + L3
    return np.float32(2) * u * (series * v + ONE)


@summing
def binary_losses(scores, y, counts, slopes):
    """The sum of logistic losses; their derivatives by the scores go to ``slopes``. ``[n]``."""
    loss = 0.0
    for i in range(len(y)):
        sign = np.float32(2 * y[i] - 1)
        margin = sign * scores[i]
        e = exponential(-abs(margin))
        loss += counts[i] * (log_one_plus(e) - min(margin, np.float32(0)))
        slopes[i] = -sign * counts[i] * (e if margin > 0 else ONE) / (ONE + e)
    return loss


@summing
def softmax_losses(scores, y, counts, slopes):
    """The sum of softmax losses; their derivatives by the scores go to ``slopes``. ``[k, n]``."""
    k, loss = len(scores), 0.0
    most, total = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    for low in range(0, len(y), BLOCK):
        number = min(BLOCK, len(y) - low)
        for i in range(number):
            most[i], total[i] = -np.inf, 0
        for c in range(k):
            row = scores[c, low : low + number]
            for i in range(number):
                most[i] = max(most[i], row[i])
        for c in range(k):
            row, out = scores[c, low : low + number], slopes[c, low : low + number]
            for i in range(number):
                out[i] = exponential(row[i] - most[i])
                total[i] += out[i]
        for i in range(number):
            count = counts[low + i]
            loss += count * (np.log(total[i]) + most[i] - scores[y[low + i], low + i])
            total[i] = count / total[i]
        for c in range(k):
            out = slopes[c, low : low + number]
            for i in range(number):
                out[i] *= total[i]
        for i in range(number):
            slopes[y[low + i], low + i] -= counts[low + i]
    return loss


@partial(free, fastmath=ANY_ORDER)
def own_losses(scores, y, out):
    """The loss of each row, ``log sum_c e^(s_c) - s_y``. ``[n, k], [n] -> [n]``."""
    for i in range(len(y)):
        row, total = scores[i], np.float32(0)
        most = row[0]
        for c in range(1, len(row)):
            most = max(most, row[c])
        for c in range(len(row)):
            total += exponential(row[c] - most)
        out[i] = np.log(np.float64(total)) + most - row[y[i]]


@inlined
def losses_of(scores, y, counts, slopes):
    """The sum of the losses; their derivatives by the scores go to ``slopes``. ``[k, n]``."""
    if len(scores) == 1:
        return binary_losses(scores[0], y, counts, slopes[0])
    return softmax_losses(scores, y, counts, slopes)


@summing
def scores_of(X, places, starts, weights, scores):
    """``W x_n + c`` of each row. ``[k, n]``."""
    features, k = len(weights) - 1, weights.shape[1]
    if starts is None:
        np.dot(weights[:features].T, X.T, scores)
        for c in range(k):
            row, bias = scores[c], weights[features, c]
            for i in range(len(row)):
                row[i] += bias
        return
    n = scores.shape[1]
    if k == 1:
        own_scores, bias = scores[0], weights[features, 0]
        for i in range(n):
            own_scores[i] = bias
        for d in range(features):
            weight = weights[d, 0]
            if weight != 0:
                for e in range(UNSIGNED(starts[d]), UNSIGNED(starts[d + 1])):
                    own_scores[UNSIGNED(places[e])] += X[e] * weight
        return
    own = np.empty((n, k), np.float32)
    for i in range(n):
        for c in range(k):
            own[i, c] = weights[features, c]
    for d in range(features):
        row, size = weights[d], np.float32(0)
        for c in range(k):
            size += abs(row[c])
        if size == 0:  # as are most, by the penalty
            continue
        for e in range(UNSIGNED(starts[d]), UNSIGNED(starts[d + 1])):
            score = own[UNSIGNED(places[e])]
            for c in range(k):
                score[c] += X[e] * row[c]
    for c in range(k):
        row = scores[c]
        for i in range(n):
            row[i] = own[i, c]


@summing
def gradient_of(X, places, starts, slopes, gradient):
    """The derivatives of the losses by the weights, from those by the scores. ``[D + 1, k]``.

    Shapes: slopes ``[k, n]``.
    """
    features, k, n = len(gradient) - 1, len(slopes), slopes.shape[1]
    for c in range(k):
        total, row = 0.0, slopes[c]
        for i in range(n):
            total += row[i]
        gradient[features, c] = total
    if starts is None:
        np.dot(X.T, slopes.T, gradient[:features])
        return
    if k == 1:
        own_slopes = slopes[0]
        for d in range(features):
            slope = np.float32(0)
            for e in range(UNSIGNED(starts[d]), UNSIGNED(starts[d + 1])):
                slope += X[e] * own_slopes[UNSIGNED(places[e])]
            gradient[d, 0] = slope
        return
    own = np.empty((n, k), np.float32)
    for c in range(k):
        row = slopes[c]
        for i in range(n):
            own[i, c] = row[i]
    for d in range(features):
        row = gradient[d]
        for c in range(k):
            row[c] = 0
        for e in range(UNSIGNED(starts[d]), UNSIGNED(starts[d + 1])):
            slope = own[UNSIGNED(places[e])]
            for c in range(k):
                row[c] += X[e] * slope[c]


@inlined
def steepest(X, places, starts, counts, vector):
    """An estimate of the largest eigenvalue of ``sum_n a_n (x_n, 1) (x_n, 1)^T``.

    The power method starts from ``vector``, ``[D + 1, 1]``, and overwrites it.
    """
    scores, value = np.empty((1, len(counts)), np.float32), 0.0
    for step in range(POWER_STEPS + 1):
        squares = 0.0
        for d in range(len(vector)):
            squares += np.float64(vector[d, 0]) * vector[d, 0]
        value = np.sqrt(squares)
        if step == POWER_STEPS or value == 0:
            break
        for d in range(len(vector)):
            vector[d, 0] /= np.float32(value)
        scores_of(X, places, starts, vector, scores)
        for i in range(len(counts)):
            scores[0, i] *= counts[i]
        gradient_of(X, places, starts, scores, vector)
    return value


@summing
def proximal_step(here, ahead, gradient, curvature, thresholds, ridges, new):
    """A gradient step from ``ahead``, then shrinkage towards 0 by thresholds and ridges.

    Returns the rise of the quadratic bound of the losses along the step, the penalty at its end,
    True if the way from here to the new weights points against the step, and its squared length.
    """
    rise = penalty = uphill = length = 0.0
    for d in range(len(new)):
        threshold = np.float32(thresholds[d] / curvature)
        shrunk = np.float32(curvature / (curvature + ridges[d]))
        size = square = np.float32(0)
        for c in range(new.shape[1]):
            z = ahead[d, c] - gradient[d, c] / np.float32(curvature)
            new[d, c] = np.copysign(max(abs(z) - threshold, np.float32(0)), z) * shrunk
            size += abs(new[d, c])
            square += new[d, c] * new[d, c]
            way = np.float64(new[d, c] - ahead[d, c])
            rise += way * (gradient[d, c] + curvature / 2 * way)
            length += way * way
            uphill -= way * (new[d, c] - here[d, c])
        penalty += thresholds[d] * size + ridges[d] / 2 * square
    return rise, penalty, uphill > 0, length


@summing
def go_beyond(here, new, pace, ahead):
    """Extrapolates from here past the new numbers, by ``pace`` times the way between them."""
    for d in range(len(new)):
        for c in range(new.shape[1]):
            ahead[d, c] = new[d, c] + pace * (new[d, c] - here[d, c])


@free
def fista(X, places, starts, y, counts, begin, thresholds, ridges, direction, factor, steps):
    """The best weights after at most ``steps`` steps of FISTA from ``begin``.

    ``factor`` bounds the curvature of the losses by the scores. ``thresholds`` and ``ridges`` are
    the L1 and quadratic penalties of each feature's weights, 0 for the biases; ``direction`` is the
    start of the power method.

    Shapes: X ``[n, D]``, or sparse; y, counts ``[n]``; begin ``[D + 1, k]``; thresholds, ridges
    ``[D + 1]``; direction ``[D + 1, 1]``.
    """
    shape = begin.shape[1], len(y)
    curvature = FIRST * factor * steepest(X, places, starts, counts, direction)
    ahead, gradient = begin.copy(), np.empty_like(begin)
    room = np.empty((3, *begin.shape), np.float32)  # the best weights, those here, and new ones
    best = at = np.int64(0)
    for d in range(begin.shape[0]):  # an array for an array takes seconds more to compile
        for c in range(begin.shape[1]):
            room[0, d, c] = begin[d, c]
    scores, slopes = np.empty(shape, np.float32), np.empty(shape, np.float32)
    scores_of(X, places, starts, begin, scores)
    scores_ahead, scores_new = scores.copy(), scores.copy()
    speed, lowest = 1.0, np.empty(steps + 1, np.float64)
    lowest[0] = np.inf
    for step in range(1, steps + 1):
        other = 3 - best - at if best != at else (at + 1) % 3
        here, new = room[at], room[other]
        loss = losses_of(scores_ahead, y, counts, slopes)
        gradient_of(X, places, starts, slopes, gradient)
        while True:
            rise, penalty, uphill, length = proximal_step(
                here, ahead, gradient, curvature, thresholds, ridges, new
            )
            scores_of(X, places, starts, new, scores_new)
            found = losses_of(scores_new, y, counts, slopes)
            # With a loss near 0, rounding errors exceed the difference.
            slack = 1e-6 * (abs(loss) + 1.0)
            if found <= loss + rise + slack or not np.isfinite(rise) or curvature > STEEPEST:
                break
            curvature *= 2
        faster = 1.0 if uphill else (1 + (1 + 4 * speed**2) ** 0.5) / 2
        pace = np.float32(0 if uphill else (speed - 1) / faster)
        go_beyond(here, new, pace, ahead)
        go_beyond(scores, scores_new, pace, scores_ahead)
        scores, scores_new, speed = scores_new, scores, faster
        at = other
        if found + penalty < lowest[step - 1]:
            best = at
        lowest[step] = min(lowest[step - 1], found + penalty)
        spare = loss + rise - found  # by which the bound was too high
        met = curvature - 2 * spare / length if CLEAR * slack < spare < np.inf else curvature
        curvature = min(FALL * curvature, max(STEEP_FALL * curvature, AMPLE * met))
        if step >= PATIENCE and lowest[step] > lowest[step - PATIENCE] * (1 - TOLERANCE):
            break
    return room[best]
