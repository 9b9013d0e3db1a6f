"""The vector operations of a training step, as LLVM instructions on 16 numbers, through numba.

In a loop over 50 numbers that numba compiles itself, most of the time goes into checks whether
arrays overlap, and into the numbers after the last whole vector. Here whole vectors are followed by
a half, a quarter, ... of one; no number outside of a row is read or written.

============  ====================================================================================
``add``       ``a[at:] += scale * b[start:]``
``logits``    ``p[at + j] = weight[row + j] . r[start:] + bias[row + j]``; -inf up to a whole vector
``softmax``   ``p[at:] = exp(p[at:]) / sum(exp(p[at:]))``
``error``     ``p[at + j] = rate * (p[at + j] - [j = slot])``
``step``      ``back += sum_j g[at + j] weight[row + j]``; ``weight[row + j] -= g[at + j] r``
``prefetch``  fetches numbers that are needed soon into the cache
============  ====================================================================================

Arrays are float32 and contiguous, places and sizes int64; a row has ``size`` numbers, a node
``arity`` rows. ``p`` and ``g`` have room for whole vectors from each place on. A function that
calls ``softmax`` must not be compiled with ``fastmath``, which would undo the rounding in ``exp``.
"""

from __future__ import annotations

import math
from functools import partial

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from structnet.trees import _llvm
from structnet.trees._llvm import F32, FAST, I32, I64, INT, LOG_2, ROUND, SERIES, multiply_add

WIDTH = 16
START = I64(0)
LEAST = -87.0  # below, e^x counts as 0


def vector(number=F32, width=WIDTH):
    return _llvm.vector(number, width)


def all_of(b, value, width=WIDTH):
    """A vector with one number in all places."""
    if isinstance(value, float):
        return vector(width=width)([value] * width)
    return _llvm.all_of(b, value, width)


def lengthened(b, value):
    """A shorter vector, extended by zeros to a whole one."""
    width = value.type.count
    if width == WIDTH:
        return value
    order = [min(i, width) for i in range(WIDTH)]
    return b.shuffle_vector(value, all_of(b, 0.0, width), vector(I32)(order))


def larger(b, x, y):
    return b.select(b.fcmp_ordered(">", x, y), x, y)


def folded(b, value, together):
    """A vector that has the sum (or another reduction) of a vector's numbers in all places."""
    for distance in (8, 4, 2, 1):
        order = vector(I32)([i ^ distance for i in range(WIDTH)])
        value = together(value, b.shuffle_vector(value, value.type(ir.Undefined), order))
    return value


def summed(b, value):
    return folded(b, value, partial(b.fadd, flags=FAST))


def is_place(b, place, first):
    """A mask of one place in a vector that begins at ``first``."""
    places = vector(I32)(list(range(WIDTH)))
    return b.icmp_signed("==", places, all_of(b, b.trunc(b.sub(place, first), I32)))


class Part:
    """The numbers of an array from a place on."""

    def __init__(self, context, b, kind, value, start=START):
        self.b = b
        self.pointer = b.gep(context.make_array(kind)(context, b, value).data, [start])

    def at(self, place):
        return self.b.gep(self.pointer, [place])

    def number(self, place):
        return self.b.load(self.at(place))

    def load(self, place, width=WIDTH):
        return self.b.load(
            self.b.bitcast(self.at(place), vector(width=width).as_pointer()), align=4
        )

    def store(self, value, place):
        self.b.store(value, self.b.bitcast(self.at(place), value.type.as_pointer()), align=4)


def each(b, end, step=WIDTH, start=START):
    """``for place in range(start, end, step)``."""
    return cgutils.for_range_slice(b, start, end, I64(step), I64)


def pieces(b, size, body):
    """Calls ``body(place, width)`` for the whole vectors of a row, then for the remainder."""
    place, width = b.and_(size, I64(-WIDTH)), WIDTH // 2
    with each(b, place) as (whole, _):
        body(whole, WIDTH)
    while width:
        part = b.and_(size, I64(width))
        with b.if_then(b.icmp_signed("!=", part, I64(0))):
            body(place, width)
        place, width = b.add(place, part), width // 2


def exp(b, x):
    """``e^x`` of a vector with x <= 0, right up to the last digit but one."""
    rounded = b.fadd(b.fmul(x, all_of(b, math.log2(math.e))), all_of(b, ROUND))
    power = b.fsub(rounded, all_of(b, ROUND))
    rest = x
    for part in LOG_2:
        rest = b.fsub(rest, b.fmul(power, all_of(b, part)))
    series = all_of(b, SERIES[0])
    for coefficient in SERIES[1:]:
        series = multiply_add(b, series, rest, all_of(b, coefficient))
    value = b.fadd(b.fadd(b.fmul(series, b.fmul(rest, rest)), rest), all_of(b, 1.0))
    # 2^power: shifts the exponent to the exponent bits of a float.
    exponent = b.add(b.bitcast(rounded, vector(I32)), all_of(b, I32(127)))
    scale = b.bitcast(b.shl(exponent, all_of(b, I32(23))), vector())
    return b.select(b.fcmp_ordered("<", x, all_of(b, LEAST)), all_of(b, 0.0), b.fmul(value, scale))


def signature_of(*kinds):
    for kind in kinds:
        if isinstance(kind, types.Array) and (kind.dtype != types.float32 or kind.layout != "C"):
            raise TypingError(f"arrays must be float32 and contiguous; got {kind}")
    return types.void(*kinds)


@intrinsic
def add(typing, a, at, scale, other, start, size):
    def code(context, b, signature, values):
        to = Part(context, b, signature.args[0], *values[:2])
        source = Part(context, b, signature.args[3], *values[3:5])

        def body(place, width):
            scale = all_of(b, values[2], width)
            result = multiply_add(b, scale, source.load(place, width), to.load(place, width))
            to.store(result, place)

        pieces(b, values[5], body)
        return context.get_dummy_value()

    return signature_of(a, INT, types.float32, other, INT, INT), code


@intrinsic
def logits(typing, weight, bias, row, arity, size, r, start, p, at):
    def code(context, b, signature, values):
        row, arity, size = values[2:5]
        weight = Part(context, b, signature.args[0], values[0], b.mul(row, size))
        bias = Part(context, b, signature.args[1], values[1], row)
        r = Part(context, b, signature.args[5], *values[5:7])
        p = Part(context, b, signature.args[7], *values[7:])
        total, picked = (cgutils.alloca_once(b, vector()) for _ in range(2))

        def product(j):
            def body(place, width):
                x, y = weight.load(b.add(b.mul(j, size), place), width), r.load(place, width)
                whole = multiply_add(b, lengthened(b, x), lengthened(b, y), b.load(total))
                b.store(whole, total)

            b.store(all_of(b, 0.0), total)
            pieces(b, size, body)
            return summed(b, b.load(total))

        with each(b, arity) as (first, _):
            b.store(all_of(b, -math.inf), picked)
            end = b.add(first, I64(WIDTH))
            end = b.select(b.icmp_signed("<", end, arity), end, arity)
            with each(b, end, 1, first) as (j, _):
                logit = b.fadd(product(j), all_of(b, bias.number(j)))
                b.store(b.select(is_place(b, j, first), logit, b.load(picked)), picked)
            p.store(b.load(picked), first)
        return context.get_dummy_value()

    return signature_of(weight, bias, INT, INT, INT, r, INT, p, INT), code


@intrinsic
def softmax(typing, p, at, arity):
    def code(context, b, signature, values):
        p, arity = Part(context, b, signature.args[0], *values[:2]), values[2]
        highest = cgutils.alloca_once_value(b, all_of(b, -math.inf))
        total = cgutils.alloca_once_value(b, all_of(b, 0.0))
        with each(b, arity) as (place, _):
            b.store(larger(b, p.load(place), b.load(highest)), highest)
        top = folded(b, b.load(highest), partial(larger, b))
        with each(b, arity) as (place, _):
            power = exp(b, b.fsub(p.load(place), top))
            p.store(power, place)
            b.store(b.fadd(power, b.load(total)), total)
        share = b.fdiv(all_of(b, 1.0), summed(b, b.load(total)))
        with each(b, arity) as (place, _):
            p.store(b.fmul(p.load(place), share), place)
        return context.get_dummy_value()

    return signature_of(p, INT, INT), code


@intrinsic
def error(typing, p, at, arity, slot, rate):
    def code(context, b, signature, values):
        p, (arity, slot, rate) = Part(context, b, signature.args[0], *values[:2]), values[2:]
        with each(b, arity) as (place, _):
            target = b.select(is_place(b, slot, place), all_of(b, 1.0), all_of(b, 0.0))
            p.store(b.fmul(b.fsub(p.load(place), target), all_of(b, rate)), place)
        return context.get_dummy_value()

    return signature_of(p, INT, INT, INT, types.float32), code


@intrinsic
def step(typing, weight, row, arity, size, r, g, at, back):
    def code(context, b, signature, values):
        row, arity, size = values[1:4]
        weight = Part(context, b, signature.args[0], values[0], b.mul(row, size))
        r = Part(context, b, signature.args[4], values[4])
        g = Part(context, b, signature.args[5], *values[5:7])
        back = Part(context, b, signature.args[7], values[7])

        def body(place, width):
            # Rows in the inner loop, so that no load waits for a store to a nearby place.
            x = r.load(place, width)
            total = cgutils.alloca_once(b, vector(width=width))
            b.store(back.load(place, width), total)
            with each(b, arity, 1) as (j, _):
                here, scale = b.add(b.mul(j, size), place), all_of(b, g.number(j), width)
                old = weight.load(here, width)
                b.store(multiply_add(b, scale, old, b.load(total)), total)
                weight.store(b.fsub(old, b.fmul(scale, x, flags=FAST), flags=FAST), here)
            back.store(b.load(total), place)

        pieces(b, size, body)
        return context.get_dummy_value()

    return signature_of(weight, INT, INT, INT, r, g, INT, back), code


@intrinsic
def prefetch(typing, a, at, size):
    def code(context, b, signature, values):
        part = Part(context, b, signature.args[0], *values[:2])
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
        name = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0i8")
        with each(b, values[2]) as (place, _):
            # For reading, into the nearest cache, as data.
            b.call(name, [b.bitcast(part.at(place), byte), I32(0), I32(3), I32(1)])
        return context.get_dummy_value()

    return signature_of(a, INT, INT), code
