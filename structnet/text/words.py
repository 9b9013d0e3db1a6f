"""The vocabulary of a text: the numbers of its words, the most frequent first."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from structnet.checks import check_integer
from structnet.trees.end_to_end import offsets_of

UNKNOWN = "<unk>"


class WordError(ValueError):
    """A word is not in the vocabulary, or a text has no words for a vocabulary."""


class Encoded(NamedTuple):
    """Sentences as the numbers of their words, joined.

    Attributes:
        ids: numbers of the words.
        offsets: place where each sentence begins, followed by the end of the last one.

    Shapes:
        ids ``[tokens]``, int32; offsets ``[sentences + 1]``, int64.
    """

    ids: np.ndarray
    offsets: np.ndarray

    @property
    def num_sentences(self) -> int:
        """The number of sentences."""
        return len(self.offsets) - 1


class Words:
    """The words of a text, each with a number: the more frequent, the smaller; ties by alphabet.

    Args:
        words: the words; the i-th has the number i.
        counts: number of times that each word occurs.
        unknown: one of the words, which stands for all unknown ones; None to refuse unknown words.

    Shapes:
        counts ``[words]``, int64.

    Raises:
        WordError: a word is listed twice, or the unknown one is not listed.

    Example:
        >>> words = Words.from_sentences([["a", "b", "a"], ["a", "c"]], max_size=2)
        >>> words.words, words.counts.tolist(), words.unknown
        (('a', '<unk>', 'b'), [3, 1, 1], 1)
        >>> words.encode([["b", "dog"], ["a"]]).ids
        array([2, 1, 0], dtype=int32)
    """

    def __init__(
        self, words: Sequence[str], counts: Sequence[int] | np.ndarray, unknown: str | None = None
    ):
        self.words = tuple(words)
        self.counts = np.asarray(counts, np.int64)
        self._ids = {word: i for i, word in enumerate(self.words)}
        if len(self._ids) < len(self.words) or len(self.counts) != len(self.words):
            raise WordError(
                f"got {len(self.words)} words, {len(self._ids)} of them distinct, and "
                f"{len(self.counts)} counts; expected distinct words with one count each"
            )
        if unknown is not None and unknown not in self._ids:
            raise WordError(f"the unknown word {unknown!r} is not among the words")
        self.unknown = None if unknown is None else self._ids[unknown]

    @classmethod
    def from_sentences(
        cls,
        sentences: Iterable[Iterable[str]],
        min_count: int = 1,
        max_size: int | None = None,
        unknown: str | None = UNKNOWN,
    ) -> Words:
        """The vocabulary of the words that occur often enough in a text.

        Args:
            sentences: the text.
            min_count: smallest number of occurrences of a word in the vocabulary.
            max_size: largest number of words, not counting the unknown one; None for no limit.
            unknown: word that stands for all words left out and has their total count; None to
                refuse unknown words.

        Raises:
            WordError: the text has no words, or none that occurs often enough.
        """
        return cls.from_counts(
            Counter(chain.from_iterable(sentences)), min_count, max_size, unknown
        )

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        min_count: int = 1,
        max_size: int | None = None,
        unknown: str | None = UNKNOWN,
    ) -> Words:
        """The same vocabulary from the number of times that each word of the text occurs.

        Args:
            counts: number of times of each word.
            min_count, max_size, unknown: see :meth:`from_sentences`.

        Raises:
            WordError: there are no words, or none occurs often enough.
        """
        check_integer("min_count", min_count, 1, owner="Words")
        check_integer("max_size", max_size, 1, optional=True, owner="Words")
        tally = Counter(counts)
        of_unknown = tally.pop(unknown, 0) if unknown is not None else 0
        ranked = sorted(tally.items(), key=lambda item: (-item[1], item[0]))[:max_size]
        listed = [(word, count) for word, count in ranked if count >= min_count]
        if not listed:
            if not tally:
                raise WordError("the text holds no word")
            raise WordError(
                f"no word occurs min_count={min_count} times; the most frequent of {len(tally):,} "
                f"occurs {ranked[0][1]} times"
            )
        if unknown is not None:
            rest = tally.total() - sum(count for _, count in listed) + of_unknown
            listed.append((unknown, rest))
            listed.sort(key=lambda item: (-item[1], item[0]))
        words, numbers = zip(*listed, strict=True)
        return cls(words, numbers, unknown)

    def config(self) -> dict[str, Any]:
        """The vocabulary for JSON, from which :meth:`from_config` makes it again."""
        return {
            "words": list(self.words),
            "counts": self.counts.tolist(),
            "unknown": self.unknown,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Words:
        """The vocabulary that :meth:`config` described; other entries are ignored."""
        listed, unknown = config["words"], config["unknown"]
        return cls(listed, config["counts"], None if unknown is None else listed[unknown])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def id_of(self, word: str) -> int:
        """The number of a word, or that of the unknown word.

        Raises:
            WordError: the word is not in the vocabulary, which has no unknown word.

        Example:
            >>> Words(["cat", "dog"], [2, 1]).id_of("dgo")
            Traceback (most recent call last):
                ...
            structnet.text.words.WordError: the word 'dgo' is not among the 2 known; did you mean
            'dog'?
        """
        number = self._ids.get(word, self.unknown)
        if number is None:
            near = difflib.get_close_matches(word, self.words, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise WordError(f"the word {word!r} is not among the {len(self):,} known{meant}")
        return number

    def encode(self, sentences: Iterable[Sequence[str]]) -> Encoded:
        """The numbers of the words of sentences.

        Raises:
            WordError: a word is not in the vocabulary, which has no unknown word.

        Example:
            >>> Words(["cat", "dog"], [2, 1]).encode([["dog", "cat"], [], ["cat"]])
            Encoded(ids=array([1, 0, 0], dtype=int32), offsets=array([0, 2, 2, 3]))
        """
        sentences = list(sentences)
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        offsets = offsets_of(lengths)
        none = -1 if self.unknown is None else self.unknown
        get = self._ids.get
        tokens = (get(word, none) for word in chain.from_iterable(sentences))
        ids = np.fromiter(tokens, np.int32, offsets[-1])
        if self.unknown is None and (ids < 0).any():
            place = int((ids < 0).argmax())
            sentence = int(np.searchsorted(offsets, place, side="right")) - 1
            self.id_of(sentences[sentence][place - offsets[sentence]])
        return Encoded(ids, offsets)
