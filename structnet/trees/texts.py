"""The words of labels in a forest, as arrays: a leaf that is a text stays one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structnet.trees.end_to_end import offsets_of, ranges
from structnet.trees.spelling import Spelling
from structnet.trees.vocabulary import NONE


class Texts(NamedTuple):
    """Which nodes are texts, and their words.

    Attributes:
        of: the text of each node, -1 for none.
        offsets, words: CSR lists of the words of each text, as tokens.
        spelling: words of each text by their letters, if the vocabulary reads these. Every node
            then has a text; that of a label of a single word has an empty list of ``words``.
        names: number of each text's name, -1 if a vocabulary lists it, if the vocabulary tells
            names apart. Every node whose name is not listed then has a text.

    Shapes:
        of ``[num_nodes]``; offsets ``[texts + 1]``; words ``[words of all texts]``; names
        ``[texts]``.
    """

    of: np.ndarray
    offsets: np.ndarray
    words: np.ndarray
    spelling: Spelling | None = None
    names: np.ndarray | None = None

    @classmethod
    def listed(
        cls,
        of: np.ndarray,
        words: Sequence[Sequence[int]],
        spelling: Spelling | None = None,
        names: Sequence[int] | None = None,
    ) -> Texts:
        """The texts whose words and, if they are told apart, names are given as lists."""
        offsets = offsets_of(list(map(len, words)))
        flat = (word for each in words for word in each)
        flat_words = np.fromiter(flat, np.int64, int(offsets[-1]))
        return cls(of, offsets, flat_words, spelling, None if names is None else np.array(names))

    def take(self, nodes: np.ndarray) -> Texts:
        """The texts of some nodes, in their order."""
        return self._replace(of=self.of[nodes])

    def names_of(self, nodes: np.ndarray) -> np.ndarray:
        """The number of each node's name, -1 for none. ``[n] -> [n]``."""
        if self.names is None:
            return np.full(len(nodes), NONE)
        return np.append(self.names, NONE)[self.of[nodes]]

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
        return _entries(self.of[nodes], self.offsets, self.words)

    def spelled_at(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All words of some nodes, as :meth:`words_at`, by their places in the spelling's list.

        Of a text these are the words that it is read as, of another node its label and token.
        """
        if self.spelling is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return _entries(self.of[nodes], self.spelling.offsets, self.spelling.words)


def _entries(
    text: np.ndarray, offsets: np.ndarray, words: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The place in ``text`` and the word, for all words of some texts, where -1 is none."""
    place = np.flatnonzero(text >= 0)
    begin, end = offsets[text[place]], offsets[text[place] + 1]
    count = end - begin
    return np.repeat(place, count), words[ranges(begin, count)]
