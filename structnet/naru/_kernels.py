"""The loops over the rows of a wave, compiled: everything of a step but the large products.

Rows are those of a wave of one capsule, ``start`` its first place. States are kept as they were
written, place by place; ``last[row, bundle]`` is the place where a bundle was last active, -1
before its first time, so that nothing is ever copied. Sums may be taken in any order, but what is
not a number stays none.

The matrix library is made for large products: with a few rows, it takes as long as with ten. So a
product of few rows is taken here, which also leaves out the neighbours that were never active. The
weights of a bundle are a tensor of their own; they are known by their addresses.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from structnet.trees._kernels import compiled

summing = partial(compiled, fastmath={"reassoc", "contract", "nsz"})

# So many rows' worth of active neighbours and more make a product large.
LARGE = 4


@intrinsic
def at_address(typing, address):
    """A pointer from an integer."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


@summing
def active_neighbours(start, rows, places, num_reads):
    """How many neighbours of some rows, all at bundles of so many connections, carry something."""
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
    """The same for two rows: each number of W is read once for both."""
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
    """``x[begin : begin + dim] = y W^T`` of the rows of W that stand there."""
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


@summing
def small_products(
    start, rows, starts, places, num_routes, num_reads, dim_ahead, dim_behind,
    addresses, weighed, product, back,
):  # fmt: skip
    """The products of a wave that are small, or their way back; which bundles' are left over."""
    left = np.zeros(len(addresses), np.bool_)
    for a in range(len(addresses)):
        own = rows[starts[a] : starts[a + 1]]
        n = num_reads[a]
        if len(own) == 0:
            continue
        if active_neighbours(start, own, places, n) > LARGE * n:
            left[a] = True
            continue
        width = num_routes[a] * dim_ahead + (n - num_routes[a]) * dim_behind
        shape = (width, product.shape[1])
        weight = carray(at_address(addresses[a]), shape, weighed.dtype)  # type: ignore[call-arg]  # numba's
        if not back:
            product[starts[a] : starts[a + 1]] = 0
        begin = 0
        for i in range(n):
            dim = dim_ahead if i < num_routes[a] else dim_behind
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
