"""Parts of a forest, swept by several threads at a time.

How a forest is cut depends on itself alone, and what the parts give is added in their order: so the
number of threads changes no bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

import numpy as np
import torch

from structnet.trees import _kernels
from structnet.trees.forest import Forest

T = TypeVar("T")

# Of a part. Each is cut and planned by itself, and reads all weights for its rows alone: of half as
# many nodes, a step on one thread takes a seventh longer, and two threads at best gain 1.3 times.
_NODES = 2000
_MOST = 8
REPEATED = 1.25  # times the nodes, where parts share subtrees, each of which sweeps its own


def cut(forest: Forest) -> list[np.ndarray]:
    """Roots of each part, in their order, so that parts have about equally many nodes.

    Shapes:
        ``[n]`` a part, int64.
    """
    roots, count = np.arange(len(forest)), min(forest.num_nodes // _NODES, _MOST)
    if count < 2:
        return [roots]
    _, ends = _kernels.reached(forest.roots, forest.offsets, forest.children)
    ideal = np.arange(1, count) * forest.num_nodes / count
    parts = np.split(roots, np.searchsorted(ends, ideal) + 1)
    return [part for part in parts if len(part)]


def in_parallel(calls: Sequence[Callable[[], T]]) -> list[T]:
    """What the calls give, made by up to ``torch.get_num_threads()`` threads."""
    threads = min(torch.get_num_threads(), len(calls))
    if threads < 2:
        return [call() for call in calls]
    waiting = [_pool(os.getpid(), threads - 1).submit(call) for call in calls[1:]]
    found = [calls[0]()]
    for call, future in zip(calls[1:], waiting, strict=True):
        # Not begun, as on a busy machine: no need to wait for another thread.
        found.append(call() if future.cancel() else future.result())
    return found


@lru_cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """A process that was forked has none of the threads of its parent, hence one for each."""
    return ThreadPoolExecutor(threads, thread_name_prefix="structnet")
