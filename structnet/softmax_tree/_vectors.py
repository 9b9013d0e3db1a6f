"""Products with dense rows in vector instructions, written in LLVM through numba.

LLVM by itself does not vectorise a product with sixteen sums, and stores a leaf's scores after
every few features. Every step is ``fused``, a product and a sum that are rounded once, in the order
that ``_kernels.py`` describes, so that the results equal those of its loops over sparse rows.

=============  ===================================================================================
``fused``      ``x y + z``
``folded``     the sum of sixteen numbers
``full_dot``   ``sum_d x[at + d] w[start + d]`` of ``number`` numbers
``one_row``    adds ``x W`` to the scores of k classes: x is at ``flat[starts[0]:]``, and W
               ``[features, k]`` at ``w[at:]``
``four_rows``  does the same for four rows, which read the weights together
=============  ===================================================================================
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from structnet.trees._llvm import I32, I64, INT, Window, all_of, below, pointer, vector

SUMS = 16
AHEAD = 24  # features whose weights are fetched before they are needed, as memory takes that long


def fma(b, x, y, z):
    """``x y + z`` for numbers or vectors."""
    kind = x.type
    if isinstance(kind, ir.VectorType):
        name = f"llvm.fma.v{kind.count}{'f64' if kind.element == ir.DoubleType() else 'f32'}"
    else:
        name = f"llvm.fma.{'f64' if kind == ir.DoubleType() else 'f32'}"
    function = cgutils.get_or_insert_function(b.module, ir.FunctionType(kind, [kind] * 3), name)
    return b.call(function, [x, y, z])


def check_same(*kinds):
    """Refuses mixed precisions and arrays with strides, which the instructions cannot handle."""
    if any(getattr(kind, "layout", "C") != "C" for kind in kinds):
        raise TypingError("rows and weights must be contiguous")
    kinds = {getattr(kind, "dtype", kind) for kind in kinds}
    if len(kinds) > 1:
        raise TypingError(f"rows and weights must have the same precision; got {kinds}")


def fetch(b, data, place, number):
    """Has so many numbers brought from memory, for later; a place beyond the end does no harm."""
    of_line = 64 // (8 if data.type.pointee == ir.DoubleType() else 4)
    byte = ir.IntType(8).as_pointer()
    signature = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
    function = cgutils.get_or_insert_function(b.module, signature, "llvm.prefetch.p0i8")
    for first in range(0, number, of_line):
        at = b.bitcast(b.gep(data, [b.add(place, I64(first))]), byte)
        b.call(function, [at, I32(0), I32(3), I32(1)])  # to read, and to keep, data


@intrinsic
def fused(typing, x, y, z):
    def code(context, b, signature, values):
        return fma(b, *values)

    check_same(x, y, z)
    return x(x, y, z), code


@intrinsic
def full_dot(typing, x, at, w, start, number):
    def code(context, b, signature, values):
        args, number = signature.args, values[4]
        parts = [b.gep(pointer(context, b, args[i], values[i]), [values[i + 1]]) for i in (0, 2)]
        total = cgutils.alloca_once_value(b, vector(parts[0].type.pointee, SUMS)(None))

        def add(place, mask):
            ours, theirs = (Window(b, part, SUMS, mask).load(place) for part in parts)
            b.store(fma(b, ours, theirs, b.load(total)), total)

        whole = b.and_(number, I64(-SUMS))
        with cgutils.for_range_slice(b, I64(0), whole, I64(SUMS), I64) as (place, _):
            add(place, None)
        with b.if_then(b.icmp_signed("!=", whole, number)):
            add(whole, below(b, b.sub(number, whole), SUMS))
        return sum_of(b, b.load(total))

    check_same(x, w)
    return w.dtype(x, INT, w, INT, INT), code


@intrinsic
def folded(typing, sums):
    def code(context, b, signature, values):
        data = pointer(context, b, signature.args[0], values[0])
        return sum_of(b, Window(b, data, SUMS).load(I64(0)))

    check_same(sums)
    return sums.dtype(sums), code


def sum_of(b, sums):
    """The sum of a vector: its second half is added to its first, and so on."""
    width = SUMS
    while width > 1:
        width //= 2
        halves = (vector(I32, width)(list(range(i, i + width))) for i in (0, width))
        sums = b.fadd(*(b.shuffle_vector(sums, sums.type(None), half) for half in halves))
    return b.extract_element(sums, I32(0))


def _scores(rows: int, width: int) -> Callable:
    """An intrinsic for the scores of a number of rows, ``width`` classes at a time."""

    @intrinsic
    def scores(typing, flat, starts, w, at, features, k, out):
        def code(context, b, signature, values):
            args = signature.args
            flat, w, out = (pointer(context, b, args[i], values[i]) for i in (0, 2, 6))
            starts = cgutils.unpack_tuple(b, values[1], rows)
            at, features, k = values[3:6]
            mine = [b.gep(flat, [start]) for start in starts]
            weights = b.gep(w, [at])

            def block(low, mask):
                own, theirs = (Window(b, part, width, mask) for part in (out, weights))
                places = [b.add(b.mul(I64(r), k), low) for r in range(rows)]
                sums = [cgutils.alloca_once_value(b, own.load(place)) for place in places]
                with cgutils.for_range(b, features) as loop:
                    if rows == 1:  # several read what the ones before them have read
                        later = b.add(loop.index, I64(AHEAD))
                        fetch(b, weights, b.add(b.mul(later, k), low), width)
                    row = theirs.load(b.add(b.mul(loop.index, k), low))
                    for x, total in zip(mine, sums, strict=True):
                        number = all_of(b, b.load(b.gep(x, [loop.index])), width)
                        b.store(fma(b, number, row, b.load(total)), total)
                for place, total in zip(places, sums, strict=True):
                    own.store(b.load(total), place)

            with cgutils.for_range_slice(b, I64(0), k, I64(width), I64) as (low, _):
                left = b.sub(k, low)
                with b.if_else(b.icmp_signed("<", left, I64(width))) as (some, all_there):
                    with some:
                        block(low, below(b, left, width))
                    with all_there:
                        block(low, None)
            return context.get_dummy_value()

        check_same(flat, w, out)
        starts = types.UniTuple(INT, rows)
        return types.void(flat, starts, w, INT, INT, INT, out), code

    return scores


one_row = _scores(1, 64)
four_rows = _scores(4, 16)
