"""The loops of a compiled sweep over floats: gates, and what goes between messages and nodes.

One call does one step for all rows of a level, ``lo`` to ``hi``. Rows are those of an
:class:`~structnet.message_passing.scheduling.Arrangement`: ``source[m]`` is the state that message
m is computed from, ``inbox[offsets[v]:offsets[v + 1]]`` are the messages that state v receives,
and ``back_*`` are the transpose. Arrays in capitals hold one row a state (``H``, ``C``, ``Y``) or a
message (``Z``), those with a ``D`` before the name their gradients:

- ``Y``: the gates i, o, u side by side, first before, then after their sigmoid or tanh;
- ``Z``: what the aggregator makes of the child's h, then from column ``w`` the forget gate;
- ``T``: tanh(c); ``DC``: first the gradient from the parents, then all of it.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import types
from numba.extending import overload

from structnet.trees import _kernels

# Sums may be reordered, so that they run in vector registers; NaN stays NaN, and dividing by zero
# gives infinity as in torch.
compiled = partial(
    _kernels.compiled, fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy"
)


@compiled
def _tanh(x):
    """A few units in the last place off, in vector registers, where the C library's is not.

    Lambert's continued fraction, cut after its eighth term, is exact for |x| < 5/8; five times
    tanh(2x) = 2 n d / (d^2 + n^2), n / d being tanh(x), leads from there to |x| = 20.
    """
    real = type(x)
    top = real(20)
    x = top if x > top else (-top if x < -top else x)
    x *= real(1 / 32)
    s = x * x
    n = x * (real(2027025) + s * (real(270270) + s * (real(6930) + s * real(36))))
    d = real(2027025) + s * (real(945945) + s * (real(51975) + s * (real(630) + s)))
    n /= d
    d = real(1)
    for _ in range(5):
        n, d = real(2) * n * d, d * d + n * n
    y = n / d
    one = real(1)  # rounding may lead past it
    return one if y > one else (-one if y < -one else y)


def _power_of_two(n):
    """``2^n`` for a whole n <= 0 of a float type, of its own type; 0 where that is too small."""


@overload(_power_of_two)
def _power_of_two_of(n):  # the bits of the exponent, as a call would end the vector
    if n == types.float32:
        return lambda n: (
            np.float32(0)
            if n < -126
            else np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
        )
    return lambda n: (
        np.float64(0)
        if n < -1022
        else np.int64((np.int64(n) + np.int64(1023)) << np.int64(52)).view(np.float64)
    )


@partial(_kernels.compiled, fastmath={"contract"}, error_model="numpy")
def _sigmoid(x):
    """A few units in the last place off, also where it is small.

    With ``e^-|x| = 2^n p / q`` it is ``2^n p`` or q, over ``2^n p + q``. ``p / q = e^2r`` is
    Lambert's continued fraction of tanh(r), cut after its fifth term, for |2 r| < log(2) / 2.
    """
    real = type(x)
    y = -abs(x)
    y = y if y > real(-1000) else (real(-1000) if y <= real(-1000) else y)  # NaN stays
    n = np.floor(y * real(1.4426950408889634) + real(0.5))
    # log(2) in two parts, of which n times the first has no error; hence no reordering here.
    r = ((y - n * real(0.693145751953125)) - n * real(1.42860682030941723212e-6)) * real(0.5)
    s = r * r
    a = r * (real(945) + s * (real(105) + s))
    q = real(945) + s * (real(420) + s * real(15))
    p = _power_of_two(n) * (q + a)
    q -= a
    return (p if x < real(0) else q) / (p + q)


# ---- products with weights


@compiled
def multiply_runs(runs, begin, end, most, X, W, Y):
    """``y = x W`` for the rows of some runs, as ``message_passing._kernels.runs`` gives them.

    Runs of more than ``most`` rows are left to others. Four rows of W at a time: so each number of
    y is read and written a quarter as often, and W is read once a run.

    Shapes:
        X, Y: ``[rows, parts, i]`` and ``[.., o]``; W: ``[num_keys, parts, i, o]``.
    """
    _, parts, n, o = W.shape
    for run in runs[begin:end]:
        first, length, key = run.first, run.length, run.key
        if length > most:
            continue
        for g in range(parts):
            for row in range(first, first + length):
                y = Y[row, g]
                for j in range(o):
                    y[j] = 0
            for i in range(0, n - 3, 4):
                w0, w1, w2, w3 = W[key, g, i], W[key, g, i + 1], W[key, g, i + 2], W[key, g, i + 3]
                for row in range(first, first + length):
                    x, y = X[row, g, i : i + 4], Y[row, g]
                    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
                    for j in range(o):
                        y[j] += x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j]
            for i in range(n // 4 * 4, n):
                w = W[key, g, i]
                for row in range(first, first + length):
                    x0, y = X[row, g, i], Y[row, g]
                    for j in range(o):
                        y[j] += x0 * w[j]


# ---- messages


@compiled
def gather(index, lo, hi, X, out):
    """Rows of X: ``out[i] = X[index[lo + i]]``."""
    for i in range(hi - lo):
        x, y = X[index[lo + i]], out[i]
        for j in range(len(y)):
            y[j] = x[j]


@compiled
def scatter(index, lo, hi, X, out):
    """Its gradient: ``out[index[lo + i]] += X[i]``."""
    for i in range(hi - lo):
        x, y = X[i], out[index[lo + i]]
        for j in range(len(y)):
            y[j] += x[j]


@compiled
def add_by_key(keys, lo, hi, bias, X):
    """``X[row] += bias[keys[row]]``, in as many columns as there are."""
    for row in range(lo, hi):
        x, b = X[row], bias[keys[row]]
        for j in range(len(b)):
            x[j] += b[j]


@compiled
def sum_by_key(keys, w, X, out):
    """Its gradient: ``out[keys[row]] += X[row, w:]``, likewise."""
    for row in range(len(keys)):
        x, y = X[row, w:], out[keys[row]]
        for j in range(len(y)):
            y[j] += x[j]


@compiled
def open_forget_gates(keys, lo, hi, bias, w, Z):
    """``f = sigmoid(z_f + b)`` of each message."""
    for m in range(lo, hi):
        z, b = Z[m, w:], bias[keys[m]]
        for j in range(len(b)):
            z[j] = _sigmoid(z[j] + b[j])


@compiled
def forget_gates_backward(source, back_offsets, back_rows, lo, hi, w, Z, C, DC, DZ):
    """From the cell states of those who received a message to the gate and the child's."""
    for m in range(lo, hi):
        f, c, dc, dz = Z[m, w:], C[source[m]], DC[source[m]], DZ[m, w:]
        for j in range(len(dz)):
            dz[j] = 0
        for e in range(back_offsets[m], back_offsets[m + 1]):
            received = DC[back_rows[e]]
            for j in range(len(dz)):
                dz[j] += received[j]
        for j in range(len(dz)):
            kept = dz[j]
            dc[j] += kept * f[j]
            dz[j] = kept * c[j] * (f[j] - f[j] * f[j])


@compiled
def pull(back_offsets, back, lo, hi, w, X, out):
    """The gradients of those who received a message: ``out[m, :w] = sum of X[back]``."""
    for m in range(lo, hi):
        y = out[m, :w]
        for j in range(w):
            y[j] = 0
        for e in range(back_offsets[m], back_offsets[m + 1]):
            x = X[back[e]]
            for j in range(len(y)):
                y[j] += x[j]


@compiled
def pull_into(source, back_offsets, back, lo, hi, X, out):
    """The same where what was sent is the child's state itself: ``out[source[m]] += ..``."""
    for m in range(lo, hi):
        y = out[source[m]]
        for e in range(back_offsets[m], back_offsets[m + 1]):
            x = X[back[e]]
            for j in range(len(y)):
                y[j] += x[j]


# ---- nodes


@compiled
def close_cells(offsets, inbox, source, lo, hi, w, Z, Y, H, C, T):
    """Eq. (11), from the pre-activations in Y and the messages received."""
    n = H.shape[1]
    for v in range(lo, hi):
        y, c, t, h = Y[v], C[v], T[v], H[v]
        for j in range(2 * n):
            y[j] = _sigmoid(y[j])
        for j in range(2 * n, 3 * n):
            y[j] = _tanh(y[j])
        i, o, u = y[:n], y[n : 2 * n], y[2 * n :]
        for j in range(n):
            c[j] = i[j] * u[j]
        for e in range(offsets[v], offsets[v + 1]):
            f, child = Z[inbox[e], w:], C[source[inbox[e]]]
            for j in range(n):
                c[j] += f[j] * child[j]
        for j in range(n):
            t[j] = _tanh(c[j])
            h[j] = o[j] * t[j]


@compiled
def cells_backward(lo, hi, Y, T, DH, DC, DY):
    """Their gradient; what the children's share of it is, each message finds out for itself."""
    n = T.shape[1]
    for v in range(lo, hi):
        y, t, dh, dc, dy = Y[v], T[v], DH[v], DC[v], DY[v]
        i, o, u = y[:n], y[n : 2 * n], y[2 * n :]
        di, do, du = dy[:n], dy[n : 2 * n], dy[2 * n :]
        for j in range(n):
            dc[j] += dh[j] * (o[j] - o[j] * t[j] * t[j])
            di[j] = dc[j] * u[j] * (i[j] - i[j] * i[j])
            do[j] = dh[j] * t[j] * (o[j] - o[j] * o[j])
            du[j] = dc[j] * (i[j] - i[j] * u[j] * u[j])
