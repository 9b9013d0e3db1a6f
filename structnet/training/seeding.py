"""Seeds the global random generators of Python, numpy and torch, and restores them.

All threads of a process share these, so they take turns where the library uses them.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def epoch_order(size: int, seed: int, epoch: int) -> np.ndarray:
    """The order in which an epoch visits the examples, which depends on the arguments only.

    Shapes:
        output: ``[size]``, int64.
    """
    return np.random.default_rng([seed, epoch]).permutation(size)


def seed_epoch(seed: int, epoch: int, rank: int = 0) -> None:
    """Seeds the global generators, differently in every process of a run."""
    # One more than the rank: with a trailing zero it would be the stream that orders the examples.
    words = np.random.SeedSequence([seed, epoch, rank + 1]).generate_state(3).tolist()
    random.seed(words[0])
    np.random.seed(words[1])
    if torch.cuda.is_initialized() or torch.backends.mps.is_available():
        torch.manual_seed(words[2])
    else:  # torch would note each call, with its traceback, for a GPU that may never be used
        torch.default_generator.manual_seed(words[2])


_turns: dict[int, threading.RLock] = {}  # by process: a fork may copy one that nobody will release


@contextmanager
def random_states_kept(device: torch.device) -> Iterator[None]:
    """A context that restores the global generators, including the device's, at its end.

    Only one thread of a process is in such a context at a time; others wait.
    """
    with _turns.setdefault(os.getpid(), threading.RLock()):
        python, numpy = random.getstate(), np.random.get_state()
        try:
            with torch.random.fork_rng([device] if device.type == "cuda" else []):
                yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """A context in which torch's generators are seeded, to draw first weights on the CPU."""
    with random_states_kept(torch.device("cpu")):
        torch.manual_seed(seed)
        yield
