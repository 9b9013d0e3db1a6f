"""The loops over the rows of a wave, compiled: everything of a step but the matrix products.

Rows are those of a wave of one capsule, ``start`` its first place. States are kept as they were
written, place by place; ``last[row, bundle]`` is the place where a bundle was last active, -1
before its first time, so that nothing is ever copied. Sums may be taken in any order, but what is
not a number stays none.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from structnet.trees._kernels import compiled

summing = partial(compiled, fastmath={"reassoc", "contract", "nsz"})


@compiled
def by_bundle(active, num_bundles):
    """The rows in the order of their bundles, and where each bundle's begin: a counting sort."""
    starts = np.zeros(num_bundles + 1, np.int64)
    for bundle in active:
        starts[bundle + 1] += 1
    for bundle in range(num_bundles):
        starts[bundle + 1] += starts[bundle]
    fill = starts[:-1].copy()
    rows = np.empty(len(active), np.int64)
    for row in range(len(active)):
        rows[fill[active[row]]] = row
        fill[active[row]] += 1
    return rows, starts


@summing
def read(
    start, rows, active, last, last_ahead, last_behind, state, ahead, behind,
    others, num_routes, num_reads, read_gate, own_gate, bonus,
    places, own_places, gates, weighed, elected,
):  # fmt: skip
    """Gates of a wave, its neighbours' states times their gates, and whom it elects (Eq. 1-4)."""
    half = weighed.dtype.type(0.5)
    one = weighed.dtype.type(1)
    nothing = weighed.dtype.type(0)
    for at in range(len(rows)):
        row = rows[at]
        e = start + row
        a = active[row]
        own = last[row, a]
        own_places[e] = own
        begin = 0
        best = nothing
        choice = -1
        for i in range(num_reads[a]):
            route = i < num_routes[a]
            place = last_ahead[row, others[a, i]] if route else last_behind[row, others[a, i]]
            places[e, i] = place
            dim = ahead.shape[1] if route else behind.shape[1]
            logit = nothing
            if own >= 0:
                for j in range(state.shape[1]):
                    logit += state[own, j] * own_gate[a, i, j]
            if place >= 0:
                b = ahead[place] if route else behind[place]
                for j in range(dim):
                    logit += b[j] * read_gate[a, begin + j]
                g = one / (one + np.exp(-half * logit))
                for j in range(dim):
                    weighed[at, begin + j] = g * b[j]
            else:
                g = one / (one + np.exp(-half * logit))
                for j in range(dim):
                    weighed[at, begin + j] = nothing
            gates[e, i] = g
            if route and row < len(elected):
                wish = g + bonus[e, i] if len(bonus) else g
                if choice < 0 or wish > best:
                    choice = i
                    best = wish
            begin += dim
        if choice >= 0:
            elected[row] = others[a, choice]


@compiled
def write(start, rows, active, num_reads, product, x, curved, last, mean, state):
    """Means, their curve, and the states from now on (Eq. 5, 8)."""
    one = mean.dtype.type(1)
    two = mean.dtype.type(2)
    for at in range(len(rows)):
        row = rows[at]
        e = start + row
        a = active[row]
        share = one / mean.dtype.type(num_reads[a])
        for j in range(state.shape[1]):
            total = product[at, j] + x[e, j] if len(x) else product[at, j]
            mean[e, j] = total * share
        if curved:
            for j in range(state.shape[1]):
                z = mean[e, j]
                # tanh(log(1 + u)) = (u^2 + 2 u) / (u^2 + 2 u + 2); from 20 on it is 1
                u = np.exp(min(z, mean.dtype.type(20)))
                u = u * (u + two)
                state[e, j] = z * (u / (u + two))
        last[row, a] = e


@compiled
def arrive(start, rows, active, num_reads, curved, mean, grad, arrived):
    """What comes to the states of a wave, taken back to the products."""
    one = mean.dtype.type(1)
    two = mean.dtype.type(2)
    for at in range(len(rows)):
        e = start + rows[at]
        share = one / mean.dtype.type(num_reads[active[rows[at]]])
        for j in range(mean.shape[1]):
            slope = one
            if curved:
                z = mean[e, j]
                u = np.exp(min(z, mean.dtype.type(20)))
                curve = u * (u + two) / (u * (u + two) + two)
                slope = curve + z * (u / (one + u)) * (one - curve * curve)
            grad[e, j] *= slope * share
            arrived[at, j] = grad[e, j]


@summing
def spread(
    start, rows, active, state, ahead, behind, num_routes, num_reads, read_gate, own_gate,
    places, own_places, gates, grad_gates, grad_weighed,
    grad, grad_ahead, grad_behind, grad_read_gate, grad_own_gate,
):  # fmt: skip
    """From the weighed states of a wave back to the states that were read, and to the gates."""
    half = gates.dtype.type(0.5)
    one = gates.dtype.type(1)
    nothing = gates.dtype.type(0)
    for at in range(len(rows)):
        e = start + rows[at]
        a = active[rows[at]]
        own = own_places[e]
        begin = 0
        for i in range(num_reads[a]):
            route = i < num_routes[a]
            place = places[e, i]
            dim = ahead.shape[1] if route else behind.shape[1]
            g = gates[e, i]
            total = grad_gates[e, i] if len(grad_gates) else nothing
            if place >= 0:
                b = ahead[place] if route else behind[place]
                for j in range(dim):
                    total += grad_weighed[at, begin + j] * b[j]
            slope = total * g * (one - g) * half
            if place >= 0:
                b = ahead[place] if route else behind[place]
                back = grad_ahead[place] if route else grad_behind[place]
                for j in range(dim):
                    back[j] += g * grad_weighed[at, begin + j] + slope * read_gate[a, begin + j]
                    grad_read_gate[a, begin + j] += slope * b[j]
            if own >= 0:
                for j in range(state.shape[1]):
                    grad[own, j] += slope * own_gate[a, i, j]
                    grad_own_gate[a, i, j] += slope * state[own, j]
            begin += dim


@compiled
def gather(chosen, active, num_routes, num_reads, ahead, behind, places, gates, weighed):
    """The weighed states that some places of a capsule have read, once more."""
    for at in range(len(chosen)):
        e = chosen[at]
        a = active[e]
        begin = 0
        for i in range(num_reads[a]):
            route = i < num_routes[a]
            dim = ahead.shape[1] if route else behind.shape[1]
            place = places[e, i]
            if place >= 0:
                b = ahead[place] if route else behind[place]
                for j in range(dim):
                    weighed[at, begin + j] = gates[e, i] * b[j]
            else:
                weighed[at, begin : begin + dim] = 0
            begin += dim
