"""The words of leaves in a forest, as arrays: a leaf that is a text stays one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Texts(NamedTuple):
    """Which nodes are texts, and their words.

    Attributes:
        of: the text of each node, -1 for none.
        offsets, words: CSR lists of the words of each text, as tokens.

    Shapes:
        of ``[num_nodes]``; offsets ``[texts + 1]``; words ``[words of all texts]``.
    """

    of: np.ndarray
    offsets: np.ndarray
    words: np.ndarray

    @classmethod
    def listed(cls, of: np.ndarray, words: Sequence[Sequence[int]]) -> Texts:
        """The texts whose words are given as lists."""
        offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
        flat = (word for each in words for word in each)
        return cls(of, offsets, np.fromiter(flat, np.int64, int(offsets[-1])))

    def take(self, nodes: np.ndarray) -> Texts:
        """The texts of some nodes, in their order."""
        return self._replace(of=self.of[nodes])

    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes that have words, ascending, and the number of words of each.

        Shapes:
            ``[nodes with words]`` each.
        """
        nodes = np.flatnonzero(self.of >= 0)
        count = np.diff(self.offsets)[self.of[nodes]]
        return nodes[count > 0], count[count > 0]

    def words_at(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All words of some nodes: the node's place in ``nodes``, ascending, and the word.

        Shapes:
            ``[n]`` -> ``[words of these nodes]`` each.
        """
        text = self.of[nodes]
        place = np.flatnonzero(text >= 0)
        begin, end = self.offsets[text[place]], self.offsets[text[place] + 1]
        count = end - begin
        shift = begin - np.cumsum(count) + count
        entry = np.arange(count.sum()) + np.repeat(shift, count)
        return np.repeat(place, count), self.words[entry]
