"""LLVM building blocks from which more than one family of models compiles vector instructions."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

I32, I64, F32 = ir.IntType(32), ir.IntType(64), ir.FloatType()
INT = types.int64
# e^r = 1 + r + r^2 (1/2 + r/6 + ...) for |r| <= log(2) / 2, as Cephes has it.
SERIES = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)
LOG_2 = (0.693359375, -2.12194440e-4)  # the first has so few digits that products are exact
ROUND = 1.5 * 2**23  # added, it leaves a whole number in the last digits


def vector(number, width):
    return ir.VectorType(number, width)


def all_of(b, value, width):
    """A vector of which all entries are one number."""
    kind = vector(value.type, width)
    first = b.insert_element(kind(ir.Undefined), value, I32(0))
    return b.shuffle_vector(first, kind(ir.Undefined), vector(I32, width)([0] * width))
