"""A sweep cut into pieces, which several threads take in turn.

The pieces depend on the plan alone, and whatever is added up is added up within one piece, or in
the order of the pieces: so the number of threads changes no bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from structnet.tensor_tree.compiled.kernels.pieces import cut, shares_of
from structnet.tensor_tree.compiled.kernels.turns import WIDTH
from structnet.training.one_thread import ONE_THREAD
from structnet.training.threads import coarse_threads

T = TypeVar("T")

__all__ = ["at_once", "cut", "in_parallel", "shares_of", "side_by_side"]

# Multiplications below which no other thread is asked: it comes after a tenth of a millisecond.
_WORTH_A_THREAD = 1 << 23  # in compiled loops
_WORTH_A_CALL = 1 << 25  # in several calls of the matrix library, which is faster


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
    threads = min(coarse_threads(), at_once)
    with ONE_THREAD:
        late = [
            _pool(os.getpid(), threads - 1).submit(function, *arguments, turns)
            for _ in range(threads - 1)
        ]
        function(*arguments, turns)
    for other in late:
        other.cancel()  # not begun: nothing is left to do


def in_parallel(calls: Sequence[Callable[[], T]], work: int) -> list[T]:
    """What the calls give, made by up to :func:`~.coarse_threads` threads.

    Args:
        calls: whose order does not matter.
        work: about how many multiplications they are.
    """
    threads = min(coarse_threads(), len(calls)) if work >= _WORTH_A_CALL else 1
    with ONE_THREAD:
        if threads < 2:
            return [call() for call in calls]
        waiting = [_pool(os.getpid(), threads - 1).submit(call) for call in calls[1:]]
        found = {0: calls[0]()}
        for i in range(len(calls) - 1, 0, -1):  # the others begin with the first
            if waiting[i - 1].cancel():  # not begun: no need to wait for another thread
                found[i] = calls[i]()
        return [found[i] if i in found else waiting[i - 1].result() for i in range(len(calls))]


def at_once(pieces: np.ndarray, work: int) -> int:
    """How many of a sweep's pieces are worth computing side by side, at most.

    Args:
        pieces: those that :func:`cut` gave.
        work: about how many multiplications they are.

    Shapes:
        pieces ``[n]``.
    """
    if work < _WORTH_A_THREAD:
        return 1
    return int((pieces["last"] - pieces["first"]).max(initial=1))


@lru_cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """A process that was forked has none of the threads of its parent, hence one for each."""
    return ThreadPoolExecutor(threads, thread_name_prefix="structnet")
