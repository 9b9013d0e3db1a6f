"""Parts of a forest, swept by several threads at a time.

How a forest is cut depends on itself alone, and what the parts give is added in their order: so the
number of threads changes no bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from structnet.training.one_thread import ONE_THREAD
from structnet.training.threads import coarse_threads
from structnet.trees import _kernels
from structnet.trees.forest import Forest

T = TypeVar("T")

# Forests of this times the square of a number of parts are cut into so many. Each has its own copy
# of what several share, and of typed models reads all weights for its rows alone: in two parts, a
# step on one thread takes a tenth longer, and on two threads at best 1.5 times less; in four parts,
# a fifth longer and 1.3 times less.
_NODES = 1000
_MOST = 8
_REPEATED = 1.25  # times the nodes, where parts share subtrees, each of which sweeps its own


class Parts(NamedTuple):
    """A forest in parts, each at and below some of the roots.

    Attributes:
        nodes: numbers of each part's nodes, ascending.
        rows: place of each node among those of all parts, one part after the other; of a node that
            several have, the last.

    Shapes:
        nodes ``[n]`` a part; rows ``[num_nodes]``.
    """

    nodes: list[np.ndarray]
    rows: np.ndarray

    def forest(self, whole: Forest) -> Forest:
        """The parts side by side."""
        if len(self.nodes) == 1:
            return whole
        return whole.copied(np.concatenate(self.nodes))


def split(forest: Forest) -> Parts:
    """A forest in parts, or whole where it is small or they would share too much."""
    roots = cut(forest)
    if len(roots) > 1:
        tree = forest.offsets, forest.children
        nodes = [_kernels.below(forest.roots[own], *tree) for own in roots]
        numbers = np.concatenate(nodes)
        if len(numbers) <= _REPEATED * forest.num_nodes:
            rows = np.empty(forest.num_nodes, np.int64)
            rows[numbers] = np.arange(len(numbers))
            return Parts(nodes, rows)
    whole = np.arange(forest.num_nodes)
    return Parts([whole], whole)


def cut(forest: Forest) -> list[np.ndarray]:
    """Roots of each part, in their order, so that parts have about equally many nodes.

    Shapes:
        ``[n]`` a part, int64.
    """
    roots, count = np.arange(len(forest)), 1
    while count < _MOST and (2 * count) ** 2 * _NODES <= forest.num_nodes:
        count *= 2  # an even number, which two threads share equally
    if count < 2:
        return [roots]
    found, ends = _kernels.reached(forest.roots, forest.offsets, forest.children)
    if len(found) < forest.num_nodes:  # some are below no root, and would be in no part
        return [roots]
    ideal = np.arange(1, count) * forest.num_nodes / count
    parts = np.split(roots, np.searchsorted(ends, ideal) + 1)
    return [part for part in parts if len(part)]


def in_parallel(calls: Sequence[Callable[[], T]]) -> list[T]:
    """What the calls give, made by up to :func:`~.coarse_threads` threads.

    Each has numpy's matrix library on one thread.
    """
    threads = min(coarse_threads(), len(calls))
    with ONE_THREAD:
        if threads < 2:
            return [call() for call in calls]
        waiting = [_pool(os.getpid(), threads - 1).submit(call) for call in calls[1:]]
        found = {0: calls[0]()}
        for i in range(len(calls) - 1, 0, -1):  # the others begin with the first
            if waiting[i - 1].cancel():  # not begun: no need to wait for another thread
                found[i] = calls[i]()
        return [found[i] if i in found else waiting[i - 1].result() for i in range(len(calls))]


@lru_cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """A process that was forked has none of the threads of its parent, hence one for each."""
    return ThreadPoolExecutor(threads, thread_name_prefix="structnet")
