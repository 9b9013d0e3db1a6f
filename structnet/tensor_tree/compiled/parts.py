"""Parts of a forest, swept by several threads at a time.

How a forest is cut depends on itself alone, and what the parts give is added in their order: so the
number of threads changes no bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TypeVar

import numpy as np
import torch

from structnet.trees.forest import Forest

T = TypeVar("T")

# Of a part. Each is cut and planned by itself, repeats what it shares with others and adds
# gradients of its own: at half as many nodes, a step on one thread takes up to a third longer.
_NODES = 2000
_MOST = 8
_REPEATED = 1.25  # times the nodes, where parts share subtrees, each of which sweeps its own


def cut(forest: Forest) -> list[Forest]:
    """Forests of the same roots, in their order: one or a few, of about equally many trees."""
    count = min(forest.num_nodes // _NODES, len(forest), _MOST)
    if count < 2:
        return [forest]
    chosen = np.array_split(np.arange(len(forest)), count)
    parts = in_parallel([partial(forest.__getitem__, roots) for roots in chosen])
    swept = sum(part.num_nodes for part in parts)
    return parts if swept <= _REPEATED * forest.num_nodes else [forest]


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
