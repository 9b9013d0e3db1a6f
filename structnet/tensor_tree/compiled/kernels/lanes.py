"""Rows of numbers multiplied in vector registers, as LLVM instructions through numba.

In loops over some tens of numbers that numba compiles itself, most of the time goes into checks
whether arrays overlap and whether places are negative, and into what is left after the last whole
vector.

The arrays are contiguous and of one type, W with three axes and all others with two. Places are
int64 and not checked. Rows of lanes have the same length, a multiple of :data:`LANES`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from structnet.tensor_tree.compiled.kernels.gates import bare
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


def _times(rows: int) -> Callable:
    """``out[o + r] += v_r W[key]`` for some rows, which read W together.

    Entry n of v_r is entry ``starts[r] + step n`` of x, as in memory.
    """

    @intrinsic
    def times(typing, x, starts, step, W, key, out, o):
        def code(context, b, signature, values):
            arrays, (starts, step, key, o) = _arrays(context, b, signature, values)
            x, weight, out = arrays
            n, k = weight.shape[1:]
            first = [out.place(b.add(o, I64(row)), I64(0)) for row in range(rows)]
            begin, starts = weight.place(key, I64(0), I64(0)), cgutils.unpack_tuple(b, starts, rows)

            def strip(low, width, mask):
                to, ours = (Window(b, each.data, width, mask) for each in (out, weight))
                places = [b.add(place, low) for place in first]
                totals = [cgutils.alloca_once_value(b, to.load(place)) for place in places]
                with cgutils.for_range(b, n) as loop:
                    row = ours.load(b.add(b.add(begin, b.mul(loop.index, k)), low))
                    for start, total in zip(starts, totals, strict=True):
                        number = b.load(x.at(b.add(start, b.mul(step, loop.index))))
                        found = multiply_add(b, all_of(b, number, width), row, b.load(total))
                        b.store(found, total)
                for place, total in zip(places, totals, strict=True):
                    to.store(b.load(total), place)

            whole = b.and_(k, I64(-2 * _WIDTH))
            with _each(b, whole, 2 * _WIDTH) as (low, _):
                strip(low, 2 * _WIDTH, None)
            with cgutils.for_range_slice(b, whole, k, I64(_WIDTH), I64) as (low, _):
                strip(low, _WIDTH, below(b, b.sub(k, low), _WIDTH))
            return context.get_dummy_value()

        found = _signature(x, W, out)
        starts = types.UniTuple(INT, rows)
        return found.return_type(x, starts, INT, W, INT, out, INT), code

    return times


def _times_transposed(rows: int, width: int) -> Callable:
    """``out[o + r] += W[key] x[i + r]``, for as many entries as W[key] has rows."""

    @intrinsic
    def times(typing, x, i, W, key, out, o):
        def code(context, b, signature, values):
            (x, weight, out), (i, key, o) = _arrays(context, b, signature, values)
            n, k = weight.shape[1:]
            first = [x.place(b.add(i, I64(row)), I64(0)) for row in range(rows)]
            to = [out.place(b.add(o, I64(row)), I64(0)) for row in range(rows)]
            last, zeros = b.sub(n, I64(1)), vector(x.data.type.pointee, width)(None)
            totals = [
                [cgutils.alloca_once_value(b, zeros) for _ in range(_TOGETHER)] for _ in first
            ]
            with _each(b, n, _TOGETHER) as (begin, _):
                ends = [b.add(begin, I64(j)) for j in range(_TOGETHER)]
                ends = [b.select(b.icmp_signed("<", end, last), end, last) for end in ends]
                places = [weight.place(key, end, I64(0)) for end in ends]
                for total in itertools.chain(*totals):
                    b.store(zeros, total)

                def strip(low, mask):
                    ours, theirs = (Window(b, each.data, width, mask) for each in (x, weight))
                    vectors = [ours.load(b.add(place, low)) for place in first]
                    for j, place in enumerate(places):
                        w = theirs.load(b.add(place, low))
                        for own, found in zip(vectors, totals, strict=True):
                            b.store(multiply_add(b, own, w, b.load(found[j])), found[j])

                whole = b.and_(k, I64(-width))
                with _each(b, whole, width) as (low, _):
                    strip(low, None)
                with b.if_then(b.icmp_signed("!=", whole, k)):
                    strip(whole, below(b, b.sub(k, whole), width))
                sums = Window(b, out.data, _TOGETHER, below(b, b.sub(n, begin), _TOGETHER))
                for place, found in zip(to, totals, strict=True):
                    at, total = b.add(place, begin), _sums(b, [b.load(each) for each in found])
                    sums.store(b.fadd(sums.load(at), total), at)
            return context.get_dummy_value()

        return _signature(x, i, W, key, out, o), code

    return times


_one, _two = _times(1), _times(2)
_one_transposed, _two_transposed = _times_transposed(1, _WIDTH), _times_transposed(2, _WIDTH // 2)


@bare
def add_times(x, start, step, W, key, out, o):
    """``out[o] += v W[key]``; entry n of v is entry ``start + step n`` of x, as in memory."""
    _one(x, (start,), step, W, key, out, o)


@bare
def add_rows_times(x, rows, W, key, out, lo, hi):
    """``out[m] += x[rows[m]] W[key]`` for m from ``lo`` to ``hi``."""
    n = x.shape[1]
    for m in range(lo, hi - 1, 2):
        _two(x, (rows[m] * n, rows[m + 1] * n), 1, W, key, out, m)
    if (hi - lo) % 2:
        _one(x, (rows[hi - 1] * n,), 1, W, key, out, hi - 1)


@bare
def add_times_transposed(x, W, key, out, lo, hi):
    """``out[m] += W[key] x[m]`` for m from ``lo`` to ``hi``, in W[key]'s number of rows."""
    for m in range(lo, hi - 1, 2):
        _two_transposed(x, m, W, key, out, m)
    if (hi - lo) % 2:
        _one_transposed(x, hi - 1, W, key, out, hi - 1)


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
