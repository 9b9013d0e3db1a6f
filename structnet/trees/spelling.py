"""The letters of labels in a forest, as numbers of pieces of words.

A word that no training tree has is mostly like one that some have: another form of it, a compound,
or a word of the same language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

MOST = 4  # letters in a piece
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, and irregular in its bits


class Spelling:
    """The words that labels consist of, and the pieces of these words.

    The labels of texts consist of the words that are read, others are one word; see
    :func:`structnet.trees.label_words.spelled`.

    Args:
        offsets, words: CSR lists of the words of each text, as places in ``listed``.
        listed: different words.

    Shapes:
        offsets ``[texts + 1]``; words ``[words of all texts]``.
    """

    def __init__(self, offsets: np.ndarray, words: np.ndarray, listed: Sequence[str]):
        self.offsets, self.words, self.listed = offsets, words, listed

    @classmethod
    def of(cls, texts: Iterable[tuple[str, ...]]) -> Spelling:
        """The spelling of texts whose words are given."""
        number: dict[str, int] = {}
        words: list[int] = []
        ends = [0]
        for each in texts:
            words += [number.setdefault(word, len(number)) for word in each]
            ends.append(len(words))
        return cls(np.array(ends, np.int64), np.array(words, np.int64), list(number))

    @cached_property
    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """All pieces of the listed words; see :func:`pieces_of`."""
        return pieces_of(self.listed)


def pieces_of(words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All runs of 1 to 4 letters of words, for each its word's place and a number of its letters.

    The numbers are hashes of 63 bits, so that different pieces practically never share one.

    Shapes:
        ``[pieces]`` each.

    Example:
        >>> place, code = pieces_of([" sun ", " sunday "])
        >>> np.bincount(place).tolist()  # the first: 5 letters, 4 pairs, 3 triples, 2 of four
        [14, 26]
        >>> len(set(code[place == 0]) & set(code[place == 1]))  # "s", "un", " sun", ..
        10
    """
    length = np.fromiter(map(len, words), np.int64, len(words))
    points = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    points, place = points.astype(np.uint64), np.repeat(np.arange(len(words)), length)
    rest = np.repeat(np.cumsum(length), length) - np.arange(len(points))  # letters to the end
    code, places, codes = np.zeros(len(points) + 1, np.uint64), [], []
    for size in range(1, MOST + 1):
        code = code[:-1] * FACTOR + points[size - 1 :]  # products of such numbers wrap around
        within = np.flatnonzero(rest[: len(code)] >= size)
        places.append(place[within])
        codes.append((code[within] * FACTOR >> np.uint64(1)).astype(np.int64))
    return np.concatenate(places), np.concatenate(codes)
