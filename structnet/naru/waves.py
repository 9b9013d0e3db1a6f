"""When each token of each sentence is in which capsule."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Waves:
    """Sentences side by side, the longest first, so that those that live are always the first.

    The k-th tokens of all sentences are wave k. It is in capsule p at step k + p; the last capsule,
    which predicts the following token, has no use for the last token of a sentence. A wave of a
    capsule takes as many places in its arrays as it has sentences, one wave behind the other.

    Attributes:
        order: sentence of each row, ``[rows]``.
        lengths: tokens of each row, descending, ``[rows]``.
        counts: rows of each wave, ``[waves]``.
        starts: first place of each wave, and the end, ``[waves + 1]``.
    """

    order: np.ndarray
    lengths: np.ndarray
    counts: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, lengths: np.ndarray) -> Waves:
        """The waves of sentences of some lengths, ``[sentences]``."""
        order = np.argsort(-lengths, kind="stable")
        longest = int(lengths.max(initial=0))
        ending = np.bincount(lengths, minlength=longest + 1)  # sentences of each length
        counts = len(lengths) - np.cumsum(ending)[:longest]
        return cls(order, lengths[order], counts, np.append(0, np.cumsum(counts)))

    def predicted(self) -> Waves:
        """The waves of the last capsule."""
        counts = np.append(self.counts[1:], np.zeros(min(1, len(self.counts)), np.int64))
        return replace(self, counts=counts, starts=np.append(0, np.cumsum(counts)))

    @property
    def size(self) -> int:
        """The number of places."""
        return int(self.starts[-1])

    def slice(self, wave: int) -> slice:
        """The places of one wave; none of a wave that there is not."""
        if not 0 <= wave < len(self.counts):
            return slice(0, 0)
        return slice(int(self.starts[wave]), int(self.starts[wave + 1]))

    def cells(self) -> tuple[Tensor, Tensor]:
        """The sentence and the token of each place, ``[size]`` each."""
        waves = np.repeat(np.arange(len(self.counts)), self.counts)
        rows = np.arange(self.size) - self.starts[waves]
        return torch.from_numpy(self.order[rows]), torch.from_numpy(waves)
