"""Runs a sweep in pieces, which several threads take in turn.

The pieces depend on the plan alone, and every sum is computed within one piece or in the order of
the pieces, so that the number of threads changes no bit of the result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np

from structnet.tensor_tree.compiled.kernels.pieces import cut, shares_of
from structnet.tensor_tree.compiled.kernels.turns import WIDTH
from structnet.training.one_thread import ONE_THREAD
from structnet.training.threads import coarse_threads

T = TypeVar("T")

__all__ = ["at_once", "cut", "in_parallel", "shares_of", "side_by_side"]

# Multiplications that are worth one more thread, which starts after a tenth of a millisecond.
_WORTH_A_THREAD = 1 << 23  # in compiled loops
_WORTH_A_CALL = 1 << 25  # in several calls of the matrix library, which is faster
_STOPPED = 1.25  # ratio of the caller's time to its computing time if it was stopped or had to wait
_LONGEST = 255  # largest number of calls that are made alone
_GIVEN_UP = 1 << 62  # more than all pieces, so that none is left to take or to wait for


class Neighbours:
    """Estimates, from recent calls with helpers, whether other programs leave a core for them.

    A thread that the system stops within a piece delays all others. If a call took longer than the
    caller was computing, the next ones are therefore made alone, and twice as many after each such
    call.
    """

    def __init__(self) -> None:
        self.alone = self.pause = 0  # calls still to make alone; the last number of them

    def leave_a_core(self) -> bool:
        """Should the next call have helpers? If not, it is counted."""
        if self.alone <= 0:  # below 0 if several of the user's threads counted at once
            return True
        self.alone -= 1
        return False

    def saw(self, seconds: float, computed: float) -> None:
        """Records how long a call with helpers took, and how long of that the caller computed."""
        if seconds > _STOPPED * computed:
            self.pause = min(2 * self.pause + 1, _LONGEST)
            self.alone = self.pause
        else:
            self.pause //= 2


NEIGHBOURS = Neighbours()


def side_by_side(function: Callable, *arguments: Any, at_once: int, lists: int = 1) -> None:
    """Calls a compiled function in up to :func:`~.coarse_threads` threads.

    Its last argument is ``turns``, through which they share the work (:mod:`..kernels.turns`).
    Numpy's matrix library uses one thread in each.

    Args:
        function: compiled function that releases the interpreter's lock.
        arguments: arguments of the function except ``turns``.
        at_once: largest number of pieces that can be computed at the same time.
        lists: number of rows of ``turns``.
    """
    turns = np.zeros((lists, WIDTH), np.int64)
    held = [partial(_call, partial(function, *arguments), turns)]

    def help_out() -> None:
        for call in held.copy():  # empty if all is done
            call()

    with ONE_THREAD:
        helpers = _submit([help_out] * (min(coarse_threads(), at_once) - 1))
        began, computed = time.perf_counter(), time.thread_time()
        try:
            held[0]()
        finally:
            held.clear()  # so that a helper that has not started keeps no arrays
    if helpers:
        NEIGHBOURS.saw(time.perf_counter() - began, time.thread_time() - computed)
    for helper in helpers:
        if not helper.cancel() and turns[0, 0] >= _GIVEN_UP:
            helper.result()  # raises its error


def _call(function: Callable, turns: np.ndarray) -> None:
    """Calls the function; an error also ends the other threads, which would wait forever."""
    try:
        function(turns)
    except BaseException:
        turns[:] = _GIVEN_UP
        raise


def in_parallel(calls: Sequence[Callable[[], T]], work: int) -> list[T]:
    """The results of calls by up to :func:`~.coarse_threads` threads.

    Args:
        calls: functions to call, in any order.
        work: approximate number of multiplications in all of them.
    """
    with ONE_THREAD:
        waiting = _submit(calls[1:] if work >= _WORTH_A_CALL else [])
        found = {0: calls[0]()}
        for i in range(len(calls) - 1, 0, -1):  # other threads start with the first
            if i > len(waiting) or waiting[i - 1].cancel():  # not started
                found[i] = calls[i]()
        return [found[i] if i in found else waiting[i - 1].result() for i in range(len(calls))]


def _submit(calls: Sequence[Callable[[], T]]) -> list[Future[T]]:
    """Offers calls to other threads, if there are any and they have a core."""
    found: list[Future[T]] = []
    threads = coarse_threads()
    if calls and threads > 1 and NEIGHBOURS.leave_a_core():
        with suppress(RuntimeError):  # no more threads, or the interpreter ends
            found.extend(map(_pool(os.getpid(), threads - 1).submit, calls))
    return found


def at_once(pieces: np.ndarray, work: int) -> int:
    """The largest number of a sweep's pieces that are worth computing at the same time.

    Args:
        pieces: pieces from :func:`cut`.
        work: approximate number of multiplications in all of them.

    Shapes:
        pieces ``[n]``.
    """
    return int(min((pieces["last"] - pieces["first"]).max(initial=1), 1 + work // _WORTH_A_THREAD))


@lru_cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """The threads of a process; a forked process has none of those of its parent."""
    return ThreadPoolExecutor(threads, thread_name_prefix="structnet")
