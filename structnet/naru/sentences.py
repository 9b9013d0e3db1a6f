"""Sentences as numbers of words; any selection of them is a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.text import Encoded
from structnet.text.ngrams import contexts_of, ends_of
from structnet.trees.end_to_end import offsets_of
from structnet.trees.numbering import positions


class Sentences:
    """Encoded sentences, which are indexed like a table; any selection of them is a batch.

    Args:
        encoded: numbers of the words, and the offset of each sentence.
        device: device of the tensors that the methods return.

    Shapes:
        ids ``[tokens]`` and offsets ``[sentences + 1]``, see :class:`structnet.text.Encoded`.

    Example:
        >>> sentences = Sentences(Encoded(np.array([3, 1, 4, 1, 5]), np.array([0, 3, 5])))
        >>> ids, lengths = sentences[[1, 0]].padded()
        >>> ids.tolist(), lengths.tolist()
        ([[1, 5, 0], [3, 1, 4]], [2, 3])
    """

    def __init__(self, encoded: Encoded, device: str | torch.device = "cpu"):
        self.ids = np.asarray(encoded.ids, np.int64)
        self.offsets = np.asarray(encoded.offsets, np.int64)
        self.device = torch.device(device)

    @classmethod
    def to_predict(cls, encoded: Encoded, max_length: int) -> Sentences:
        """The sentences that have a word to predict; long ones are cut into pieces.

        A piece begins with the last word of the one before, so that each word but a sentence's
        first is predicted once. Sentences of one word are left out.

        Args:
            encoded: sentences of any length.
            max_length: largest number of words in a piece, at least 2.

        Example:
            >>> text = Encoded(np.arange(6), np.array([0, 5, 6]))
            >>> Sentences.to_predict(text, max_length=3).texts()
            [[0, 1, 2], [2, 3, 4]]
        """
        pieces = [
            encoded.ids[i : min(i + max_length, end)]
            for start, end in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)
            for i in range(start, end - 1, max_length - 1)
        ]
        return cls(_joined(pieces))

    @property
    def counted(self) -> int:
        """The number of sentences of two words or more, over which a loss is a mean."""
        return int((self.lengths > 1).sum())

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, indices: Any) -> Sentences:
        chosen = positions(indices, len(self))
        pieces = [self.ids[self.offsets[i] : self.offsets[i + 1]] for i in chosen]
        return Sentences(_joined(pieces), self.device)

    @property
    def lengths(self) -> np.ndarray:
        """The number of words in each sentence, ``[sentences]``."""
        return np.diff(self.offsets)

    def to(self, device: str | torch.device) -> Sentences:
        """The same sentences for another device."""
        return Sentences(Encoded(self.ids, self.offsets), device)

    def texts(self) -> list[list[int]]:
        """The numbers of each sentence's words, as lists."""
        return [each.tolist() for each in np.split(self.ids, self.offsets[1:-1])]

    def pasts(self, boundary: int, size: int) -> Tensor:
        """The words before each word, the nearest first.

        Args:
            boundary: number that stands for all that comes before a sentence.
            size: number of words.

        Shapes:
            ``[tokens, size]``, int64.
        """
        words = contexts_of(Encoded(self.ids, self.offsets), boundary, size)
        return torch.from_numpy(words).to(self.device)

    def ends(self, boundary: int, size: int) -> Tensor:
        """The last words of each sentence, the nearest first, see :meth:`pasts`.

        Shapes:
            ``[sentences, size]``, int64.
        """
        words = ends_of(Encoded(self.ids, self.offsets), boundary, size)
        return torch.from_numpy(words).to(self.device)

    def padded(self, extra: int = 0) -> tuple[Tensor, Tensor]:
        """The words of each sentence, padded with 0, and the lengths of the sentences.

        Args:
            extra: number of places after the longest sentence.

        Shapes:
            ``[sentences, longest + extra]`` and ``[sentences]``, int64.
        """
        lengths = self.lengths
        ids = np.zeros((len(self), int(lengths.max(initial=0)) + extra), np.int64)
        ids[np.arange(ids.shape[1]) < lengths[:, None]] = self.ids
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device)


def _joined(pieces: list[np.ndarray]) -> Encoded:
    lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
    ids = np.concatenate([np.zeros(0, np.int64), *pieces])
    return Encoded(ids, offsets_of(lengths))
