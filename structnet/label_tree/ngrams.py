"""Features of text besides its words: pairs of neighbours, and pieces of words, hashed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from structnet.label_tree.features import Features
from structnet.trees.end_to_end import offsets_of, ranges

BUCKETS = 200_000  # hash values that pairs and pieces share
PRIME = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class TextFeatures:
    """The features of words: one for each word, and for pairs and pieces of words.

    Args:
        words: known words.
        pairs: are pairs of neighbouring words features?
        pieces: number of letters in the pieces of words that are features; None for none.
        lines: number of lines from which the weights of features come; 0 for equal weights.
        frequency: number of these lines that have each feature. The weight of a feature in a line
            is its number of times ``log((1 + lines) / (1 + frequency)) + 1`` (TF-IDF), and the
            squares of the weights in a line add up to 1.

    Example:
        >>> text = TextFeatures(("red", "fox"), pairs=True)
        >>> len(text.of([["red", "fox"], ["fox", "cub"]])[[0]].ids)
        3
    """

    words: tuple[str, ...]
    pairs: bool = False
    pieces: int | None = None
    lines: int = 0
    frequency: tuple[int, ...] = ()

    def weighted(self, features: Features) -> TextFeatures:
        """The same features, weighted by how few of some lines have them, as in TF-IDF.

        Example:
            >>> text = TextFeatures(("the", "fox"))
            >>> text = text.weighted(text.of([["the", "fox"], ["the"]]))
            >>> text.of([["the", "fox"]]).weights.astype(float).round(2).tolist()
            [0.58, 0.81]
        """
        line = np.repeat(np.arange(len(features)), np.diff(features.offsets))
        once = np.unique(line * self.size + features.ids) % self.size
        frequency = np.bincount(once, minlength=self.size)
        return replace(self, lines=len(features), frequency=tuple(frequency.tolist()))

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.words) + BUCKETS * (self.pairs or self.pieces is not None)

    def of(self, lines: Sequence[Sequence[str]]) -> Features:
        """The features of lines of words; unknown words are left out."""
        number = {word: i for i, word in enumerate(self.words)}
        lists = [[number[word] for word in line if word in number] for line in lines]
        offsets = offsets_of([len(each) for each in lists])
        ids = np.array([each for one in lists for each in one], np.int32)
        return self.from_ids(offsets, ids)

    def from_ids(self, offsets: np.ndarray, ids: np.ndarray) -> Features:
        """The features of lines of numbered words.

        Shapes:
            offsets ``[n + 1]``, int64; ids ``[words of all lines]``, int32.
        """
        line = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        lines, features = [line], [ids]
        if self.pairs and len(ids):
            together = line[1:] == line[:-1]
            left, right = ids[:-1][together].astype(np.uint64), ids[1:][together].astype(np.uint64)
            lines.append(line[1:][together])
            features.append(self._bucket((left * PRIME) ^ right))
        if self.pieces is not None:
            starts, pieces = self._pieces()
            size = np.diff(starts)[ids]
            lines.append(np.repeat(line, size))
            features.append(pieces[ranges(starts[ids], size)])
        where = np.concatenate(lines)
        order = np.argsort(where, kind="stable")
        ends = offsets_of(np.bincount(where, minlength=len(offsets) - 1))
        bags = Features.from_bags(ends, np.concatenate(features)[order], self.size)
        return self._weighted(bags) if self.lines else bags

    def _weighted(self, bags: Features) -> Features:
        """Bags whose features have the weights of TF-IDF, each feature once in a bag."""
        rows = csr_matrix((np.ones(len(bags.ids)), bags.ids, bags.offsets), shape=bags.shape)
        rows.sum_duplicates()
        rows.data *= self._rarity[rows.indices]
        return Features.from_csr(normalize(rows, copy=False))

    @cached_property
    def _rarity(self) -> np.ndarray:
        return np.log((1 + self.lines) / (1 + np.array(self.frequency))) + 1

    def _bucket(self, codes: np.ndarray) -> np.ndarray:
        mixed = (codes * PRIME) >> np.uint64(33)
        return (len(self.words) + (mixed % np.uint64(BUCKETS)).astype(np.int64)).astype(np.int32)

    def _pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of all words: where those of each word begin, and their numbers."""
        assert self.pieces is not None
        codes, starts = [], [0]
        for word in self.words:
            marked = f"<{word}>"
            ends = range(self.pieces, len(marked) + 1)
            codes += [zlib.crc32(marked[end - self.pieces : end].encode()) for end in ends]
            starts.append(len(codes))
        return np.array(starts), self._bucket(np.array(codes, np.uint64))
