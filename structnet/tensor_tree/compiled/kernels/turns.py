"""Pieces of one sweep, taken in turn by as many threads as have come.

Whoever is free takes the next piece, in an order that is the same whatever the number of threads,
and begins it once all that stands before its *stage* is done; the pieces of one stage are
computed side by side. A thread that comes late, or never, holds up nobody; one that fails within a
piece has to fill ``turns`` with a large number, so that no other one waits for it.

``turns`` counts, on lines of the cache of their own, the pieces that were taken and those that are
done: a row for each list of pieces, which begins with zeros.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from structnet.tensor_tree.compiled.kernels.gates import internal

WIDTH = 16  # columns of turns
_DONE = 8  # column of the second number: 64 bytes from the first
_PATIENCE = 2000  # looks at a number, some microseconds, before others may have the processor
_give_way = types.ExternalFunction("sched_yield", types.int32())


def _pointer(context, builder, kind, array, row, column):
    struct = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, struct, [row, column])


@intrinsic
def _add_one(_, turns, row, column):
    """Adds one to a number and gives what it was before, as one instruction."""

    def code(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", pointer, one, "acq_rel")

    return types.int64(turns, types.int64, types.int64), code


@intrinsic
def _read(_, turns, row, column):
    """A number, and all that was written before it was set."""

    def code(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(turns, types.int64, types.int64), code


@internal
def wait(turns, row, number):
    """Until so many pieces are done."""
    looks = 0
    while _read(turns, row, _DONE) < number:
        looks += 1
        if looks > _PATIENCE:
            _give_way()


@internal
def take(turns, row, total, last):
    """The number of the next piece; or -1, once all are done.

    ``last`` is the one that this thread has done, or -1.
    """
    if last >= 0:
        _add_one(turns, row, _DONE)
    number = _add_one(turns, row, 0)
    if number < total:
        return number
    wait(turns, row, total)
    return -1


@internal
def take_up(turns, pieces, last):
    """The number of the next piece of a sweep up, once it can be begun; -1 once all are done."""
    number = take(turns, 0, len(pieces), last)
    if number >= 0:
        wait(turns, 0, pieces[number].first)
    return number


@internal
def take_down(turns, pieces, last):
    """The same of a sweep down, from the last piece to the first."""
    number = take(turns, 0, len(pieces), last)
    if number < 0:
        return number
    number = len(pieces) - 1 - number
    wait(turns, 0, len(pieces) - pieces[number].last)
    return number
