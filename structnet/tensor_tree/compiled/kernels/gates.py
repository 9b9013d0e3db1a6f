"""The nonlinearities of gates, in vector registers, and cells, one row at a time."""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import types
from numba.extending import overload

from structnet.trees import _kernels

# Sums may be reordered, so that they run in vector registers; NaN stays NaN, and dividing by zero
# gives infinity as in torch.
compiled = partial(
    _kernels.compiled,
    fastmath={"reassoc", "contract", "nsz", "arcp"},
    error_model="numpy",
)
# For functions that only compiled ones call: to unpack Python's tuples of arrays takes longer to
# compile than the loops over them.
internal = partial(compiled, no_cpython_wrapper=True)
# For those of them that make no array, nor a view of one: they count no references, by an
# instruction that locks the memory of each array they are given.
bare = partial(internal, _nrt=False)
# For functions that a sweep calls once, or with tuples of arrays: compiled only as part of the
# sweep, not also by themselves.
inlined = partial(internal, inline="always")


@compiled
def _tanh(x):
    """tanh in vector registers, unlike the C library's, a few units in the last place off.

    Lambert's continued fraction, cut after its eighth term, is exact for |x| < 5/8. From there,
    five times ``tanh(2x) = 2 n d / (d^2 + n^2)``, where n / d is tanh(x), leads to |x| = 20.
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
    one = real(1)  # rounding may exceed it
    return one if y > one else (-one if y < -one else y)


def _power_of_two(n):
    """``2^n`` for a whole number n <= 0 of a float type, in this type; 0 if that is too small."""


@overload(_power_of_two)
def _power_of_two_of(n):  # sets exponent bits, as a call would not vectorise
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
    """sigmoid, a few units in the last place off, also if it is small.

    With ``e^-|x| = 2^n p / q``, it is ``2^n p`` or q, over ``2^n p + q``. ``p / q = e^2r`` comes
    from Lambert's continued fraction of tanh(r), cut after its fifth term, for
    |2 r| < log(2) / 2.
    """
    real = type(x)
    y = -abs(x)
    y = y if y > real(-1000) else (real(-1000) if y <= real(-1000) else y)  # NaN stays
    n = np.floor(y * real(1.4426950408889634) + real(0.5))
    # log(2) in two parts: n times the first one is exact, so operations must not be reordered.
    r = ((y - n * real(0.693145751953125)) - n * real(1.42860682030941723212e-6)) * real(0.5)
    s = r * r
    a = r * (real(945) + s * (real(105) + s))
    q = real(945) + s * (real(420) + s * real(15))
    p = _power_of_two(n) * (q + a)
    q -= a
    return (p if x < real(0) else q) / (p + q)


@internal
def by_gate(gates, n):
    """A view of gates that are side by side, ``[rows, G n]``, as ``[rows, G, n]``."""
    return gates.reshape(len(gates), gates.shape[1] // n, n)


@inlined
def open_gates(Y, C, v):
    """Computes the gates i, o, u of node v in Y, and ``c = i * u`` without the children's part."""
    n = C.shape[1]
    for j in range(2 * n):
        Y[v, j] = _sigmoid(Y[v, j])
    for j in range(n):
        Y[v, 2 * n + j] = _tanh(Y[v, 2 * n + j])
        C[v, j] = Y[v, j] * Y[v, 2 * n + j]


@inlined
def close_cell(Y, C, T, H, v):
    """``h = o * tanh(c)``; T keeps the tanh."""
    n = C.shape[1]
    for j in range(n):
        T[v, j] = _tanh(C[v, j])
        H[v, j] = Y[v, n + j] * T[v, j]


@inlined
def cell_backward(Y, T, DH, DC, DY, v):
    """The gradient of :func:`open_gates` and :func:`close_cell`; DY is that of gates' arguments.

    DC initially has the parents' part, and is completed. Each gate has a loop of its own, which
    reads before it writes, so that it runs in vector registers.
    """
    n = T.shape[1]
    for j in range(n):
        i, o, u, t = Y[v, j], Y[v, n + j], Y[v, 2 * n + j], T[v, j]
        dh, dc = DH[v, j], DC[v, j]
        dc += dh * (o - o * t * t)
        DC[v, j] = dc
        DY[v, j] = dc * u * (i - i * i)
    for j in range(n):
        o, t, dh = Y[v, n + j], T[v, j], DH[v, j]
        DY[v, n + j] = dh * t * (o - o * o)
    for j in range(n):
        i, u, dc = Y[v, j], Y[v, 2 * n + j], DC[v, j]
        DY[v, 2 * n + j] = dc * (i - i * u * u)
