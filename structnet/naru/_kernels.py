"""Compiled loops over the rows of a wave: everything in a step except the large products.

The rows are those of one wave in one capsule, and ``start`` is its first place. States are stored
place by place as they are written, and never copied: ``last[row, bundle]`` is the place where a
bundle was last active, or -1 before its first time. Sums may be reordered, but NaN stays NaN.

The matrix library is built for large products: it takes as long for a few rows as for ten. So
products of few rows are computed here, which also skips neighbours that were never active. The
weights of each bundle are a separate tensor, passed by its address.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from structnet.trees._kernels import compiled

summing = partial(compiled, fastmath={"reassoc", "contract", "nsz"})

# A product is large if it has more active neighbours than this many full rows.
LARGE = 4


@intrinsic
def at_address(typing, address):
    """A pointer from an integer."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


@summing
def active_neighbours(start, rows, places, num_reads):
    """The number of neighbours that have a state, over rows whose bundle has ``num_reads``."""
    count = 0
    for row in rows:
        for i in range(num_reads):
            count += places[start + row, i] >= 0
    return count


@summing
def add_product(x, weight, y, begin, dim):
    """``y += x[begin : begin + dim] W``, four rows of W at a time."""
    even = begin + dim - dim % 4
    for k in range(begin, even, 4):
        x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        for j in range(len(y)):
            y[j] += (
                x0 * weight[k, j]
                + x1 * weight[k + 1, j]
                + x2 * weight[k + 2, j]
                + x3 * weight[k + 3, j]
            )
    for k in range(even, begin + dim):
        for j in range(len(y)):
            y[j] += x[k] * weight[k, j]


@summing
def add_two_products(x, z, weight, y, u, begin, dim):
    """Does the same for two rows, reading each entry of W once for both."""
    even = begin + dim - dim % 4
    for k in range(begin, even, 4):
        x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        z0, z1, z2, z3 = z[k], z[k + 1], z[k + 2], z[k + 3]
        for j in range(len(y)):
            w0, w1, w2, w3 = weight[k, j], weight[k + 1, j], weight[k + 2, j], weight[k + 3, j]
            y[j] += x0 * w0 + x1 * w1 + x2 * w2 + x3 * w3
            u[j] += z0 * w0 + z1 * w1 + z2 * w2 + z3 * w3
    for k in range(even, begin + dim):
        for j in range(len(y)):
            y[j] += x[k] * weight[k, j]
            u[j] += z[k] * weight[k, j]


@summing
def back_product(y, weight, x, begin, dim):
    """``x[begin : begin + dim] = y W^T``, for these rows of W."""
    even = begin + dim - dim % 4
    for k in range(begin, even, 4):
        s0 = s1 = s2 = s3 = y.dtype.type(0)
        for j in range(len(y)):
            s0 += y[j] * weight[k, j]
            s1 += y[j] * weight[k + 1, j]
            s2 += y[j] * weight[k + 2, j]
            s3 += y[j] * weight[k + 3, j]
        x[k], x[k + 1], x[k + 2], x[k + 3] = s0, s1, s2, s3
    for k in range(even, begin + dim):
        s0 = y.dtype.type(0)
        for j in range(len(y)):
            s0 += y[j] * weight[k, j]
        x[k] = s0


@compiled
def of_connection(i, num_routes, num_foreign, ahead, behind, own):
    """What belongs to connection i of a bundle: a target's, a source's, or the bundle's own."""
    if i < num_routes:
        return ahead
    return behind if i < num_foreign else own


@summing
def own_logit(state, place, gate):
    """``h . w_gh`` of the bundle that was last written at a place; 0 if there is none."""
    total = state.dtype.type(0)
    if place >= 0:
        for j in range(state.shape[1]):
            total += state[place, j] * gate[j]
    return total


@summing
def small_products(
    start, rows, starts, places, num_routes, num_foreign, num_reads, dim_ahead, dim_behind,
    addresses, weighed, product, back,
):  # fmt: skip
    """Computes the small products of a wave, or their gradients; returns a mask of the others."""
    left = np.zeros(len(addresses), np.bool_)
    for a in range(len(addresses)):
        own_rows = rows[starts[a] : starts[a + 1]]
        n = num_reads[a]
        if len(own_rows) == 0:
            continue
        if active_neighbours(start, own_rows, places, n) > LARGE * n:
            left[a] = True
            continue
        sources = num_foreign[a] - num_routes[a]
        dim_own = product.shape[1]
        width = num_routes[a] * dim_ahead + sources * dim_behind + (n - num_foreign[a]) * dim_own
        shape = (width, dim_own)
        weight = carray(at_address(addresses[a]), shape, weighed.dtype)  # type: ignore[call-arg]  # numba's
        if not back:
            product[starts[a] : starts[a + 1]] = 0
        begin = 0
        for i in range(n):
            dim = of_connection(i, num_routes[a], num_foreign[a], dim_ahead, dim_behind, dim_own)
            waiting = -1
            for at in range(starts[a], starts[a + 1]):
                if places[start + rows[at], i] < 0:
                    continue
                if back:
                    back_product(product[at], weight, weighed[at], begin, dim)
                elif waiting < 0:
                    waiting = at
                else:
                    x, z = weighed[waiting], weighed[at]
                    add_two_products(x, z, weight, product[waiting], product[at], begin, dim)
                    waiting = -1
            if waiting >= 0:
                add_product(weighed[waiting], weight, product[waiting], begin, dim)
            begin += dim
    return left


@summing
def read(
    start, rows, active, last, last_ahead, last_behind, state, ahead, behind,
    fresh, others, num_routes, num_foreign, num_reads, read_gate, own_gate, bonus,
    places, own_places, gates, weighed, elected,
):  # fmt: skip
    """Computes gates, gated states of the neighbours, and the elected bundles (Eq. 1-4).

    Of the previous capsule, only states at the place ``fresh`` and after it are read.
    """
    half = weighed.dtype.type(0.5)
    one = weighed.dtype.type(1)
    nothing = weighed.dtype.type(0)
    for at in range(len(rows)):
        row = rows[at]
        e = start + row
        a = active[row]
        own_place = last[row, a]
        own_places[e] = own_place
        begin = 0
        best = nothing
        choice = -1
        for i in range(num_reads[a]):
            route = i < num_routes[a]
            place = own_place
            if route:
                place = last_ahead[row, others[a, i]]
            elif i < num_foreign[a]:
                place = last_behind[row, others[a, i]]
                if place < fresh:
                    place = -1
            places[e, i] = place
            states = of_connection(i, num_routes[a], num_foreign[a], ahead, behind, state)
            dim = states.shape[1]
            logit = own_logit(state, own_place, own_gate[a, i])
            if place >= 0:
                b = states[place]
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


@summing
def elect(
    place, electors, state_of, last, state, targets, num_targets, read_gate, own_gate, bonus,
    elected,
):  # fmt: skip
    """Elects the bundles whose gates to the electors, from ``place`` on, are the largest."""
    half = state.dtype.type(0.5)
    one = state.dtype.type(1)
    nothing = state.dtype.type(0)
    for row in range(len(elected)):
        a = electors[row]
        best = nothing
        choice = -1
        for i in range(num_targets[a]):
            logit = own_logit(state, last[row, targets[a, i]], own_gate[a, i])
            for j in range(state_of.shape[1]):
                logit += state_of[place + row, j] * read_gate[a, i, j]
            g = one / (one + np.exp(-half * logit))
            wish = g + bonus[place + row, i] if len(bonus) else g
            if choice < 0 or wish > best:
                choice = i
                best = wish
        elected[row] = targets[a, choice]


@compiled
def write(start, rows, active, num_reads, product, x, curved, last, mean, state):
    """Writes the means over connections and, from them, the new states (Eq. 5, 8)."""
    one = mean.dtype.type(1)
    two = mean.dtype.type(2)
    for at in range(len(rows)):
        row = rows[at]
        e = start + row
        a = active[row]
        share = one / mean.dtype.type(max(num_reads[a], 1))
        for j in range(state.shape[1]):
            total = product[at, j] + x[e, j] if len(x) else product[at, j]
            mean[e, j] = total * share
        if curved:
            for j in range(state.shape[1]):
                z = mean[e, j]
                # tanh(log(1 + u)) = (u^2 + 2 u) / (u^2 + 2 u + 2), which rounds to 1 from z = 20 on
                u = np.exp(min(z, mean.dtype.type(20)))
                u = u * (u + two)
                state[e, j] = z * (u / (u + two))
        last[row, a] = e


@compiled
def arrive(start, rows, active, num_reads, curved, mean, grad, arrived):
    """Takes the gradients of a wave's states back to its products."""
    one = mean.dtype.type(1)
    two = mean.dtype.type(2)
    for at in range(len(rows)):
        e = start + rows[at]
        share = one / mean.dtype.type(max(num_reads[active[rows[at]]], 1))
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
    start, rows, active, state, ahead, behind, num_routes, num_foreign, num_reads,
    read_gate, own_gate, places, own_places, gates, grad_gates, grad_weighed,
    grad, grad_ahead, grad_behind, grad_read_gate, grad_own_gate,
):  # fmt: skip
    """Takes the gradients of a wave's gated states back to the states read, and to the gates."""
    half = gates.dtype.type(0.5)
    one = gates.dtype.type(1)
    nothing = gates.dtype.type(0)
    for at in range(len(rows)):
        e = start + rows[at]
        a = active[rows[at]]
        own_place = own_places[e]
        begin = 0
        for i in range(num_reads[a]):
            place = places[e, i]
            states = of_connection(i, num_routes[a], num_foreign[a], ahead, behind, state)
            dim = states.shape[1]
            g = gates[e, i]
            total = grad_gates[e, i] if len(grad_gates) else nothing
            if place >= 0:
                b = states[place]
                for j in range(dim):
                    total += grad_weighed[at, begin + j] * b[j]
            slope = total * g * (one - g) * half
            if place >= 0:
                b = states[place]
                back = of_connection(
                    i, num_routes[a], num_foreign[a], grad_ahead, grad_behind, grad
                )[place]
                for j in range(dim):
                    back[j] += g * grad_weighed[at, begin + j] + slope * read_gate[a, begin + j]
                    grad_read_gate[a, begin + j] += slope * b[j]
            if own_place >= 0:
                for j in range(state.shape[1]):
                    grad[own_place, j] += slope * own_gate[a, i, j]
                    grad_own_gate[a, i, j] += slope * state[own_place, j]
            begin += dim


@compiled
def gather(
    chosen, active, num_routes, num_foreign, num_reads, state, ahead, behind, places, gates,
    weighed,
):  # fmt: skip
    """Recomputes the gated states that some places of a capsule have read."""
    for at in range(len(chosen)):
        e = chosen[at]
        a = active[e]
        begin = 0
        for i in range(num_reads[a]):
            states = of_connection(i, num_routes[a], num_foreign[a], ahead, behind, state)
            dim = states.shape[1]
            place = places[e, i]
            if place >= 0:
                b = states[place]
                for j in range(dim):
                    weighed[at, begin + j] = gates[e, i] * b[j]
            else:
                weighed[at, begin : begin + dim] = 0
            begin += dim
