"""The step at which each token of each sentence is in each capsule."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from structnet.trees.end_to_end import offsets_of


@dataclass(frozen=True)
class Waves:
    """Sentences in parallel, the longest first, so that those not yet ended are always the first.

    The k-th tokens of all sentences are wave k, which is in capsule p at step k + p. The last
    capsule, which predicts the next token, does not need the last token of a sentence. In the
    arrays of a capsule, each wave has as many places as it has sentences, and waves follow each
    other.

    Attributes:
        order: sentence of each row, ``[rows]``.
        lengths: number of tokens in each row, descending, ``[rows]``.
        counts: number of rows in each wave, ``[waves]``.
        starts: first place of each wave, and the end, ``[waves + 1]``.
    """

    order: np.ndarray
    lengths: np.ndarray
    counts: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, lengths: np.ndarray) -> Waves:
        """The waves of sentences with these lengths, ``[sentences]``."""
        order = np.argsort(-lengths, kind="stable")
        longest = int(lengths.max(initial=0))
        ending = np.bincount(lengths, minlength=longest + 1)  # sentences of each length
        counts = len(lengths) - np.cumsum(ending)[:longest]
        return cls(order, lengths[order], counts, offsets_of(counts))

    def predicted(self) -> Waves:
        """The waves of the last capsule."""
        counts = np.append(self.counts[1:], np.zeros(min(1, len(self.counts)), np.int64))
        return replace(self, counts=counts, starts=offsets_of(counts))

    @property
    def size(self) -> int:
        """The number of places."""
        return int(self.starts[-1])

    def slice(self, wave: int) -> slice:
        """The places of one wave; empty if there is no such wave."""
        if not 0 <= wave < len(self.counts):
            return slice(0, 0)
        return slice(int(self.starts[wave]), int(self.starts[wave + 1]))

    def cells(self) -> tuple[Tensor, Tensor]:
        """The sentence and the token of each place, ``[size]`` each."""
        waves = np.repeat(np.arange(len(self.counts)), self.counts)
        rows = np.arange(self.size) - self.starts[waves]
        return torch.from_numpy(self.order[rows]), torch.from_numpy(waves)
