"""LLVM building blocks from which more than one family of models compiles vector instructions."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types

I32, I64, F32 = ir.IntType(32), ir.IntType(64), ir.FloatType()
INT = types.int64
# e^r = 1 + r + r^2 (1/2 + r/6 + ...) for |r| <= log(2) / 2, as Cephes has it.
SERIES = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)
LOG_2 = (0.693359375, -2.12194440e-4)  # the first has so few digits that products are exact
ROUND = 1.5 * 2**23  # added, it leaves a whole number in the last digits
FAST = ("contract", "reassoc", "nsz", "arcp")  # sums may be reordered


def vector(number, width):
    return ir.VectorType(number, width)


def all_of(b, value, width):
    """A vector of which all entries are one number."""
    kind = vector(value.type, width)
    first = b.insert_element(kind(ir.Undefined), value, I32(0))
    return b.shuffle_vector(first, kind(ir.Undefined), vector(I32, width)([0] * width))


def multiply_add(b, x, y, z):
    """``x y + z``, rounded once if the processor can."""
    return b.fadd(b.fmul(x, y, flags=FAST), z, flags=FAST)


def pointer(context, b, kind, value):
    return context.make_array(kind)(context, b, value).data


def below(b, end, width):
    """A mask of the places of a vector that are below an end."""
    places = vector(I64, width)(list(range(width)))
    return b.icmp_signed("<", places, all_of(b, end, width))


class Window:
    """A vector of numbers in an array; a mask leaves out those beyond its end."""

    def __init__(self, b, data, width, mask=None):
        self.b, self.data, self.mask = b, data, mask
        self.kind = vector(data.type.pointee, width)
        self.align = 8 if data.type.pointee == ir.DoubleType() else 4

    def load(self, place):
        b = self.b
        at = b.bitcast(b.gep(self.data, [place]), self.kind.as_pointer())
        if self.mask is None:
            return b.load(at, align=self.align)
        args = [at.type, I32, self.mask.type, self.kind]
        function = self._masked("load", self.kind, args)
        return b.call(function, [at, I32(self.align), self.mask, self.kind(None)])

    def store(self, value, place):
        b = self.b
        at = b.bitcast(b.gep(self.data, [place]), self.kind.as_pointer())
        if self.mask is None:
            b.store(value, at, align=self.align)
            return
        args = [self.kind, at.type, I32, self.mask.type]
        function = self._masked("store", ir.VoidType(), args)
        b.call(function, [value, at, I32(self.align), self.mask])

    def _masked(self, what, result, args):
        number = "f64" if self.align == 8 else "f32"
        name = f"v{self.kind.count}{number}"
        name = f"llvm.masked.{what}.{name}.p0{name}"
        return cgutils.get_or_insert_function(self.b.module, ir.FunctionType(result, args), name)
