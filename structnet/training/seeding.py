"""Seeds the global random generators of Python, numpy and torch for an epoch, and restores them."""

from __future__ import annotations

import random
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
    torch.manual_seed(words[2])


@contextmanager
def random_states_kept(device: torch.device) -> Iterator[None]:
    """A context that restores the global generators, including the device's, at its end."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
