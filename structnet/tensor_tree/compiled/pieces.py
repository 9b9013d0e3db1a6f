"""A sweep cut into pieces, which several threads take in turn.

The pieces depend on the plan alone, and whatever is added up is added up within one piece, or in
the order of the pieces: so the number of threads changes no bit.
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

# Multiplications for which one more thread is asked, which comes after a tenth of a millisecond.
_WORTH_A_THREAD = 1 << 23  # in compiled loops
_WORTH_A_CALL = 1 << 25  # in several calls of the matrix library, which is faster
_STOPPED = 1.25  # times as long as it computed: the caller was stopped, or had to wait for others
_LONGEST = 255  # calls made alone
_GIVEN_UP = 1 << 62  # more than all pieces: none is left to take, and none to wait for


class Neighbours:
    """Whether other programs leave a core to helpers, by how the last calls with them went.

    A thread that the system has stopped within a piece holds up all others. So where a call took
    longer than the caller was computing, the next ones are made alone, after each such call twice
    as many.
    """

    def __init__(self) -> None:
        self.alone = self.pause = 0  # calls to make alone from now on, and after the next such one

    def leave_a_core(self) -> bool:
        """Is it time for a call with helpers?"""
        if self.alone <= 0:  # below, where threads of the user's took the last one at once
            return True
        self.alone -= 1
        return False

    def saw(self, seconds: float, computed: float) -> None:
        """Of a call with helpers, how long it took, and how long of that the caller computed."""
        if seconds > _STOPPED * computed:
            self.pause = min(2 * self.pause + 1, _LONGEST)
            self.alone = self.pause
        else:
            self.pause //= 2


NEIGHBOURS = Neighbours()


def side_by_side(function: Callable, *arguments: Any, at_once: int, lists: int = 1) -> None:
    """Calls a compiled function in up to :func:`~.coarse_threads` threads.

    Its last argument is ``turns``, by which they share the work (:mod:`..kernels.turns`). Numpy's
    matrix library has one thread in each.

    Args:
        function: compiled, without the interpreter's lock.
        arguments: all but the last one.
        at_once: pieces that can be computed side by side, at most.
        lists: rows of ``turns``.
    """
    turns = np.zeros((lists, WIDTH), np.int64)
    held = [partial(_call, partial(function, *arguments), turns)]

    def help_out() -> None:
        for call in held.copy():  # none, if it comes when all is done
            call()

    with ONE_THREAD:
        helpers = _asked([help_out] * (min(coarse_threads(), at_once) - 1))
        began, computed = time.perf_counter(), time.thread_time()
        try:
            held[0]()
        finally:
            held.clear()  # whoever has not begun keeps no arrays
    if helpers:
        NEIGHBOURS.saw(time.perf_counter() - began, time.thread_time() - computed)
    for helper in helpers:
        if not helper.cancel() and turns[0, 0] >= _GIVEN_UP:
            helper.result()  # raises what it ended by


def _call(function: Callable, turns: np.ndarray) -> None:
    """An error ends the others, too, which would wait for what is not done."""
    try:
        function(turns)
    except BaseException:
        turns[:] = _GIVEN_UP
        raise


def in_parallel(calls: Sequence[Callable[[], T]], work: int) -> list[T]:
    """What the calls give, made by up to :func:`~.coarse_threads` threads.

    Args:
        calls: whose order does not matter.
        work: about how many multiplications they are.
    """
    with ONE_THREAD:
        waiting = _asked(calls[1:] if work >= _WORTH_A_CALL else [])
        found = {0: calls[0]()}
        for i in range(len(calls) - 1, 0, -1):  # the others begin with the first
            if i > len(waiting) or waiting[i - 1].cancel():  # begun by nobody
                found[i] = calls[i]()
        return [found[i] if i in found else waiting[i - 1].result() for i in range(len(calls))]


def _asked(calls: Sequence[Callable[[], T]]) -> list[Future[T]]:
    """Calls that other threads may make, as far as there are any."""
    found: list[Future[T]] = []
    threads = coarse_threads()
    if calls and threads > 1 and NEIGHBOURS.leave_a_core():
        with suppress(RuntimeError):  # no more threads, or the interpreter ends
            found.extend(map(_pool(os.getpid(), threads - 1).submit, calls))
    return found


def at_once(pieces: np.ndarray, work: int) -> int:
    """How many of a sweep's pieces are worth computing side by side, at most.

    Args:
        pieces: those that :func:`cut` gave.
        work: about how many multiplications they are.

    Shapes:
        pieces ``[n]``.
    """
    return int(min((pieces["last"] - pieces["first"]).max(initial=1), 1 + work // _WORTH_A_THREAD))


@lru_cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """A process that was forked has none of the threads of its parent, hence one for each."""
    return ThreadPoolExecutor(threads, thread_name_prefix="structnet")
