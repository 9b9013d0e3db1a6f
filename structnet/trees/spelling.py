"""The letters of labels in a forest, as numbers of pieces of words; the affixes of leaves.

A word that no training tree has is mostly like one that some have: another form of it, a compound,
or a word of the same language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from unicodedata import normalize

import numpy as np

from structnet.trees.label_words import CACHED, SHORT, Text, with_leaves, word_tree
from structnet.trees.number_tokens import number_of
from structnet.trees.tree import Tree

MOST = 4  # letters in a piece
BEGINNING, ENDING, FORM = 3, 4, 8  # letters in the longest affixes, and in the form of a word
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


def affixes_of(word: str) -> tuple[str, ...]:
    """The endings and beginnings of a word, and its form: which kinds of letters it consists of.

    In a form, X stands for capitals, x for other letters, 0 for digits.

    Reference: Ratnaparkhi, "A Maximum Entropy Model for Part-Of-Speech Tagging", EMNLP 1996.

    Example:
        >>> affixes_of("Re-read")
        ('…d', '…ad', '…ead', '…read', 'R…', 'Re…', 'Re-…', '~Xx-x')
    """
    word = normalize("NFC", word)
    # No affix is a number, which a vocabulary would read by its value.
    endings = [f"…{word[-size:]}" for size in range(1, min(ENDING, len(word)) + 1)]
    beginnings = [f"{word[:size]}…" for size in range(1, min(BEGINNING, len(word)) + 1)]
    form = "".join(kind for kind, _ in groupby(word, _kind))
    return (*endings, *beginnings, f"~{form[:FORM]}")


def with_affixes(tree: Tree) -> Tree:
    """The tree with the affixes of each leaf as words below it, as of a :class:`.Text`.

    Numbers, leaves with a token and texts that have words stay as they are.

    Example:
        >>> with_affixes(Tree("s", [Tree("at"), Tree("2.5")]))
        <Tree (s (at …t …at a… at… ~x) 2.5)>
    """
    return with_leaves(tree, _over_affixes)


def word_of(leaf: Tree) -> str | None:
    """The label of a leaf that has affixes; None for other nodes."""
    label = leaf.label
    if leaf.token is not None or leaf.children or not isinstance(label, str):
        return None
    return label if label and number_of(label) is None else None


def _over_affixes(leaf: Tree) -> Tree:
    word = word_of(leaf)
    if word is None:
        return leaf
    return (_kept if len(word) <= SHORT else _text)(word)


def _text(label: str) -> Text:
    return Text(label, [word_tree(affix) for affix in affixes_of(label)])


_kept = lru_cache(CACHED)(_text)


def _kind(letter: str) -> str:
    if letter.isupper():
        return "X"
    if letter.isalpha():
        return "x"
    return "0" if letter.isdecimal() else letter
