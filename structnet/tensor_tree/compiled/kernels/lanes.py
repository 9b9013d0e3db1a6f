"""Rows of numbers multiplied in vector registers, as LLVM instructions through numba.

In loops over some tens of numbers that numba compiles itself, most of the time goes into checks
whether arrays overlap and whether places are negative, and into what is left after the last whole
vector.

The arrays are contiguous and of one type, W with three axes and all others with two. Places are
int64 and not checked. Rows of lanes have the same length, a multiple of :data:`LANES`.
"""

from __future__ import annotations

from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from structnet.trees._llvm import I32, I64, INT, Window, all_of, below, multiply_add, vector

LANES = 8
_WIDTH = 16  # numbers of a row of W at once
_TOGETHER = 4  # rows of W at once


class _Array:
    """An array in compiled code: where its data are, and its last sizes."""

    def __init__(self, context, b, kind, value):
        array = context.make_array(kind)(context, b, value)
        self.b, self.data = b, array.data
        self.shape = cgutils.unpack_tuple(b, array.shape)

    def place(self, *indices):
        """The number of an entry in memory."""
        b, found = self.b, indices[0]
        for index, size in zip(indices[1:], self.shape[1:], strict=True):
            found = b.add(b.mul(found, size), index)
        return found

    def at(self, place):
        return self.b.gep(self.data, [place])


def _arrays(context, b, signature, values):
    """The arrays among the arguments, and the numbers."""
    pairs = [*zip(signature.args, values, strict=True)]
    arrays = [_Array(context, b, *pair) for pair in pairs if isinstance(pair[0], types.Array)]
    return arrays, [value for kind, value in pairs if not isinstance(kind, types.Array)]


def _signature(*kinds):
    arrays = [kind for kind in kinds if isinstance(kind, types.Array)]
    if {(kind.dtype, kind.layout) for kind in arrays} != {(arrays[0].dtype, "C")}:
        raise TypingError(f"arrays must be contiguous and of one type; got {arrays}")
    return types.void(*(kind if isinstance(kind, types.Array) else INT for kind in kinds))


def _each(b, end, step):
    return cgutils.for_range_slice(b, I64(0), end, I64(step), I64)


@intrinsic
def multiply(typing, out, i, x, j, y, k):
    """``out[i] = x[j] * y[k]``, for rows of lanes."""

    def code(context, b, signature, values):
        arrays, numbers = _arrays(context, b, signature, values)
        first = [array.place(row, I64(0)) for array, row in zip(arrays, numbers, strict=True)]
        to, ours, theirs = (Window(b, array.data, LANES) for array in arrays)
        with _each(b, arrays[0].shape[1], LANES) as (lane, _):
            at, *others = (b.add(place, lane) for place in first)
            x, y = ours.load(others[0]), theirs.load(others[1])
            to.store(b.fmul(x, y), at)
        return context.get_dummy_value()

    return _signature(out, i, x, j, y, k), code


@intrinsic
def add_products(typing, out, i, x, j, step, y, k, number):
    """``out[i] += sum_n x[j + step n] * y[k + n]``, n below ``number``, for rows of lanes."""

    def code(context, b, signature, values):
        arrays, (i, j, step, k, number) = _arrays(context, b, signature, values)
        out, x, y = arrays
        to, ours, theirs = (Window(b, array.data, LANES) for array in arrays)
        with _each(b, out.shape[1], LANES) as (lane, _):
            at = out.place(i, lane)
            total = cgutils.alloca_once_value(b, to.load(at))
            with cgutils.for_range(b, number) as loop:
                here = x.place(b.add(j, b.mul(step, loop.index)), lane)
                there = y.place(b.add(k, loop.index), lane)
                found = multiply_add(b, ours.load(here), theirs.load(there), b.load(total))
                b.store(found, total)
            to.store(b.load(total), at)
        return context.get_dummy_value()

    return _signature(out, i, x, j, step, y, k, number), code


def _copied(back):
    def code(context, b, signature, values):
        (x, rows), (i, lane, row, column, number) = _arrays(context, b, signature, values)
        with cgutils.for_range(b, number) as loop:
            here = x.at(x.place(b.add(i, loop.index), lane))
            there = rows.at(rows.place(row, b.add(column, loop.index)))
            source, to = (here, there) if back else (there, here)
            b.store(b.load(source), to)
        return context.get_dummy_value()

    return code


@intrinsic
def spread(typing, x, i, lane, X, row, column, number):
    """``x[i + n, lane] = X[row, column + n]``, n below ``number``."""

    return _signature(x, i, lane, X, row, column, number), _copied(back=False)


@intrinsic
def gather(typing, x, i, lane, X, row, column, number):
    """``X[row, column + n] = x[i + n, lane]``, n below ``number``."""

    return _signature(x, i, lane, X, row, column, number), _copied(back=True)


@intrinsic
def add_times(typing, x, start, step, W, key, out, o):
    """``out[o] += v W[key]``; entry n of v is entry ``start + step n`` of x, as in memory."""

    def code(context, b, signature, values):
        (x, weight, out), (start, step, key, o) = _arrays(context, b, signature, values)
        n, k = weight.shape[1:]
        first, place = out.place(o, I64(0)), weight.place(key, I64(0), I64(0))
        with _each(b, k, _WIDTH) as (low, _):
            mask = below(b, b.sub(k, low), _WIDTH)
            to, row = (Window(b, array.data, _WIDTH, mask) for array in (out, weight))
            total = cgutils.alloca_once_value(b, to.load(b.add(first, low)))
            with cgutils.for_range(b, n) as loop:
                number = b.load(x.at(b.add(start, b.mul(step, loop.index))))
                here = b.add(b.add(place, b.mul(loop.index, k)), low)
                found = multiply_add(b, all_of(b, number, _WIDTH), row.load(here), b.load(total))
                b.store(found, total)
            to.store(b.load(total), b.add(first, low))
        return context.get_dummy_value()

    return _signature(x, start, step, W, key, out, o), code


@intrinsic
def add_times_transposed(typing, x, i, W, key, out, o):
    """``out[o] += W[key] x[i]``, for as many entries as W[key] has rows."""

    def code(context, b, signature, values):
        (x, weight, out), (i, key, o) = _arrays(context, b, signature, values)
        n, k = weight.shape[1:]
        first, to, last = x.place(i, I64(0)), out.place(o, I64(0)), b.sub(n, I64(1))
        zeros = vector(x.data.type.pointee, _WIDTH)(None)
        totals = [cgutils.alloca_once_value(b, zeros) for _ in range(_TOGETHER)]
        with _each(b, n, _TOGETHER) as (row, _):
            for total in totals:
                b.store(zeros, total)
            ends = [b.add(row, I64(j)) for j in range(_TOGETHER)]
            ends = [b.select(b.icmp_signed("<", end, last), end, last) for end in ends]
            places = [weight.place(key, end, I64(0)) for end in ends]
            with _each(b, k, _WIDTH) as (low, _):
                mask = below(b, b.sub(k, low), _WIDTH)
                ours, theirs = (Window(b, array.data, _WIDTH, mask) for array in (x, weight))
                vector_of_x = ours.load(b.add(first, low))
                for total, place in zip(totals, places, strict=True):
                    w = theirs.load(b.add(place, low))
                    b.store(multiply_add(b, vector_of_x, w, b.load(total)), total)
            mask = below(b, b.sub(n, row), _TOGETHER)
            sums = Window(b, out.data, _TOGETHER, mask)
            at = b.add(to, row)
            found = _sums(b, [b.load(total) for total in totals])
            sums.store(b.fadd(sums.load(at), found), at)
        return context.get_dummy_value()

    return _signature(x, i, W, key, out, o), code


def _sums(b, vectors):
    """The sum of each vector, all in one.

    In every vector, the halves of each part are added. That halves two vectors into one of the
    same width, in which each has its parts; the last one, in which all have theirs, into one of
    half the width.
    """
    size = vectors[0].type.count
    while size > 1:
        size //= 2
        pairs = [vectors[i : i + 2] for i in range(0, len(vectors), 2)]
        vectors = [_halved(b, pair, size) for pair in pairs]
    return vectors[0]


def _halved(b, pair, size):
    entries = sum(x.type.count for x in pair)
    first = [at + i for at in range(0, entries, 2 * size) for i in range(size)]
    orders = (vector(I32, len(first))([i + half for i in first]) for half in (0, size))
    return b.fadd(*(b.shuffle_vector(pair[0], pair[-1], order) for order in orders))
