"""Lets any number of threads take the pieces of one sweep in turn.

A free thread takes the next piece, in an order that does not depend on the number of threads, and
starts it once all pieces before its *stage* are done; the pieces of a stage are computed at the
same time. A thread that comes late, or never, delays no other. The caller of one that fails within
a piece has to fill ``turns`` with a large number, so that no other waits for it.

``turns`` counts the pieces that were taken and those that are done, in separate cache lines. It has
a row for each list of pieces, of zeros in the beginning.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from structnet.tensor_tree.compiled.kernels.gates import internal

WIDTH = 16  # columns of turns
_DONE = 8  # column of the second number: 64 bytes from the first
_PATIENCE = 2000  # reads of a number, a few microseconds, before a thread yields the processor
_give_way = types.ExternalFunction("sched_yield", types.int32())


def _pointer(context, builder, kind, array, row, column):
    struct = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, struct, [row, column])


@intrinsic
def _add_one(_, turns, row, column):
    """Adds one to a number and returns what it was before, as one atomic instruction."""

    def code(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        one = ir.Constant(ir.IntType(64), 1)
        return builder.atomic_rmw("add", pointer, one, "acq_rel")

    return types.int64(turns, types.int64, types.int64), code


@intrinsic
def _read(_, turns, row, column):
    """Reads a number; all that was written before it was set is visible afterwards."""

    def code(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(turns, types.int64, types.int64), code


@internal
def wait(turns, row, number):
    """Waits until so many pieces are done."""
    looks = 0
    while _read(turns, row, _DONE) < number:
        looks += 1
        if looks > _PATIENCE:
            _give_way()


@internal
def take(turns, row, total, last):
    """The number of the next piece; or -1, once all are done.

    ``last`` is the piece that this thread has just done, or -1.
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
    """The number of the next piece of a sweep up, once it can start; -1 once all are done."""
    number = take(turns, 0, len(pieces), last)
    if number >= 0:
        wait(turns, 0, pieces[number].first)
    return number


@internal
def take_down(turns, pieces, last):
    """The same for a sweep down, from the last piece to the first."""
    number = take(turns, 0, len(pieces), last)
    if number < 0:
        return number
    number = len(pieces) - 1 - number
    wait(turns, 0, len(pieces) - pieces[number].last)
    return number
