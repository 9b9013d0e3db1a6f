"""What the estimators of next words have in common: texts that come in, words that go out."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from structnet.checks import check_integer, check_number
from structnet.estimators.checked import seed_from
from structnet.estimators.failed_fit import whole
from structnet.estimators.file import OneFileMixin, check_seed
from structnet.estimators.held_out import hold_out
from structnet.text import Encoded, Words, read_sentences
from structnet.text.words import UNKNOWN
from structnet.training.history import History

if TYPE_CHECKING:
    from typing_extensions import Self

Text = str | Path | Iterable[str | Sequence[str]]

BATCH = 250  # sentences whose next words are predicted at once
NOTHING_FOLLOWS = (
    "the text has no sentence of two words or more; expected at least 1, as a sentence's first "
    "word is not predicted"
)
SHOWN = 60  # characters of a text that an error shows


class NextWordMeasures(NamedTuple):
    """How well a text's next words are predicted.

    By default, a sentence's first word, which follows nothing, is not predicted. Two models whose
    ``words`` are equal know the same words of a text, so that their perplexities can be compared;
    their accuracies can be in any case.

    Attributes:
        perplexity: ``exp`` of minus the mean log-probability of the words that are known, given
            that they are known; NaN if none is, of which :func:`or_warned` warns.
        accuracy: share of all next words that are predicted correctly; the unknown one never is.
        words: number of the words that are known, of which the perplexity is.
        perplexity_without_ngrams, perplexity_of_ngrams: those of the tree or network and of its
            n-grams alone; None without n-grams, or if the network predicts vectors.
    """

    perplexity: float
    accuracy: float
    words: int
    perplexity_without_ngrams: float | None = None
    perplexity_of_ngrams: float | None = None

    def to_dict(self) -> dict[str, float]:
        """The measures that there are, by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class NextWordEstimator(OneFileMixin, BaseEstimator):
    """The base of the estimators that learn from a text to predict next words.

    A text is the path of a file with one sentence per line; or sentences, each a list of words or a
    text with spaces between words. Where beginnings of sentences are asked for, to predict what
    follows, a single ``str`` is one beginning, and only a ``Path`` is a file.

    Attributes:
        words_: the vocabulary. The word that stands for all unknown ones is never predicted.
        history_: one record per epoch.
    """

    words_: Words
    history_: History
    seed_: int
    min_count: int
    max_words: int | None
    validation_fraction: float
    random_state: Any
    folder: str | Path | None

    @whole
    def fit(self, X: Text, y: None = None, *, X_val: Text | None = None) -> Self:
        """Learns from a text.

        Args:
            X: path of a file with one sentence per line; or sentences, each a list of words or a
                text with spaces between words.
            y: ignored; it is there for scikit-learn.
            X_val: text like X, by which all choices are made, and from which nothing else is
                learned. None to hold out a part of X, whose words are counted once all choices have
                been made.

        Raises:
            ValueError: a parameter is out of its range, a text is too short, or its words do not
                fit into the tree.
            CheckpointError: the state in ``folder`` belongs to another training.
        """
        check_seed(self.folder, self.random_state)
        self.seed_ = seed_from(self.random_state)
        self._settings()  # refused before a text is read
        learn, judge = parts_of(X, X_val, self.validation_fraction, self.seed_)
        self.words_ = known_words(learn, self.min_count, self.max_words)
        self._learn(learn, judge)
        self._count(learn if X_val is not None else learn + judge)
        return self

    @abstractmethod
    def _settings(self) -> Any:
        """The checked settings."""

    @abstractmethod
    def _learn(self, sentences: list[list[str]], held_out: list[list[str]]) -> None:
        """Trains a new model for the words, and sets it and its history."""

    @abstractmethod
    def _count(self, sentences: list[list[str]]) -> None:
        """Counts the n-grams of sentences, if the model has some, once all choices are made."""

    @abstractmethod
    def _log_proba(self, encoded: Encoded) -> Tensor:
        """The log-probabilities of the words that follow sentences. ``-> [sentences, words]``"""

    @abstractmethod
    def measure(self, X: Text) -> NextWordMeasures:
        """How well the next words of a text are predicted."""

    def predict(self, X: Text) -> list[str]:
        """The likeliest next word of each sentence.

        Args:
            X: beginnings of sentences, or a single one.
        """
        return self.predict_top(X, 1)[0][:, 0].tolist()

    def predict_proba(self, X: Text) -> np.ndarray:
        """The probability that each known word is the next one. ``-> [sentences, words]``"""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Text) -> np.ndarray:
        """The log-probability that each known word is the next one. ``-> [sentences, words]``"""
        check_is_fitted(self)
        return self._log_proba(self.words_.encode(beginnings_of(X))).numpy()

    def predict_top(self, X: Text, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """The k likeliest next words of each sentence and their probabilities, likeliest first.

        Args:
            X: beginnings of sentences, or a single one.
            k: number of words, all known ones if these are fewer.

        Shapes:
            both ``[sentences, min(k, words)]``.

        Raises:
            ValueError: k is below 1.

        Example:
            >>> from structnet import LabelTreeLanguageModel
            >>> text = ["the cat sees the dog .", "the dog sees the cat ."] * 30
            >>> model = LabelTreeLanguageModel(epochs=1, random_state=0).fit(text)
            >>> words, probabilities = model.predict_top(["the cat", "the"], k=3)
            >>> words.shape, bool(words[0, 0] == model.predict(["the cat"])[0])
            ((2, 3), True)
        """
        check_is_fitted(self)
        check_integer("k", k, 1, owner="predict_top")
        k = min(k, len(self.words_) - (self.words_.unknown is not None))
        sentences, values, places = beginnings_of(X), [], []
        for start in range(0, len(sentences), BATCH):  # at once they might not fit in memory
            log_p = self._log_proba(self.words_.encode(sentences[start : start + BATCH]))
            top = log_p.sort(dim=1, descending=True, stable=True)  # of equals the first
            values.append(top.values[:, :k])
            places.append(top.indices[:, :k])
        names = np.array(self.words_.words)
        return names[torch.cat(places).numpy()], torch.cat(values).exp().numpy()

    def generate(
        self, X: Text, length: int = 20, *, temperature: float = 1.0, random_state: Any = None
    ) -> list[str]:
        """Continues each sentence by words that are drawn one after another.

        Each is drawn by its probability after the words so far, to the power of 1 over the
        temperature; these are then made to sum to 1.

        Args:
            X: beginnings of sentences, or a single one.
            length: number of words to add; where a sentence ends is not predicted.
            temperature: below 1 to draw likely words more often, above 1 to draw all more evenly.
            random_state: seed; an int makes results repeatable.

        Returns:
            The sentences with their beginnings, words between spaces.

        Raises:
            ValueError: a sentence has no words, or a number is out of its range.

        Example:
            >>> from structnet import LabelTreeLanguageModel
            >>> text = ["the cat sees the dog .", "the dog sees the cat ."] * 30
            >>> model = LabelTreeLanguageModel(epochs=1, random_state=0).fit(text)
            >>> [sentence] = model.generate("the cat", length=4, random_state=0)
            >>> sentence[:8], len(sentence.split())
            ('the cat ', 6)
        """
        check_is_fitted(self)
        check_integer("length", length, 1, owner="generate")
        check_number("temperature", temperature, 0, open=True, owner="generate")
        sentences, names = beginnings_of(X), self.words_.words
        generator = torch.Generator().manual_seed(seed_from(random_state))
        for start in range(0, len(sentences), BATCH):
            part = sentences[start : start + BATCH]
            for _ in range(length):
                scores = self._log_proba(self.words_.encode(part)).double()
                # Measured from the likeliest word, which stays finite at any temperature.
                below = (scores - scores.amax(1, keepdim=True)) / temperature
                drawn = torch.multinomial(below.softmax(1), 1, generator=generator)
                for words, place in zip(part, drawn[:, 0].tolist(), strict=True):
                    words.append(names[place])
        return [" ".join(words) for words in sentences]

    def score(self, X: Text, y: None = None) -> float:
        """The share of the words behind others in a text that are predicted correctly."""
        return self.measure(X).accuracy

    def _best_epoch(self) -> list[str]:
        """A line of a summary about the choice of the epoch; none without epochs."""
        best, of = self.history_.best, len(self.history_)
        return [f"best epoch {best['epoch']} of {of} on the held-out sentences"] if best else []

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.no_validation = True
        return tags


def or_warned(measures: NextWordMeasures) -> NextWordMeasures:
    """The measures, with a warning if no word is known, so that there is no perplexity."""
    if not measures.words:
        warnings.warn(
            "none of the words to predict is known to the model, so that there is no perplexity: "
            "it is NaN",
            UndefinedMetricWarning,
            stacklevel=3,
        )
    return measures


def beginnings_of(text: Text) -> list[list[str]]:
    """The words of beginnings of sentences; unlike in :func:`sentences_of` a ``str`` is one.

    Example:
        >>> beginnings_of("the big")
        [['the', 'big']]
    """
    return sentences_of([text] if isinstance(text, str) else text)


def sentences_of(text: Text) -> list[list[str]]:
    """The sentences of a file or of an iterable, as lists of words.

    Raises:
        ValueError: the file does not exist, there are no sentences, or a sentence has no words, as
            a missing one (None or NaN in a column of texts), or is bytes.

    Example:
        >>> sentences_of(["a b", ["c", "d"]])
        [['a', 'b'], ['c', 'd']]
    """
    if isinstance(text, str | Path):
        # Path.exists raises an error for a name that is too long.
        if not os.path.exists(text):  # noqa: PTH110
            shown = str(text) if len(str(text)) <= SHOWN else f"{str(text)[:SHOWN]}…"
            raise ValueError(
                f"{shown!r} is not a file; expected a path, or a list of sentences, such as "
                "['the cat sat', 'a dog ran']"
            )
        return read_sentences(text)
    if not isinstance(text, Iterable):
        raise ValueError(
            f"the text must be a path, or a list of sentences. Got {type(text).__name__}."
        )
    sentences = []
    for number, each in enumerate(text):
        if isinstance(each, bytes) or not isinstance(each, Iterable):
            what = "is not decoded" if isinstance(each, bytes) else "may be a missing text"
            mend = "pass its decode()" if isinstance(each, bytes) else "leave it out"
            raise ValueError(
                f"sentence {number} must be one or more words, each a str. Got {each!r:.60}, which "
                f"{what}: {mend}."
            )
        sentences.append(each.split() if isinstance(each, str) else list(each))
    if not sentences:
        raise ValueError("there are no sentences; expected a path, or lists of words")
    for number, words in enumerate(sentences):
        if not words or not all(isinstance(word, str) for word in words):
            raise ValueError(
                f"sentence {number} must be one or more words, each a str. Got {words!r}."
            )
    return sentences


def digest(sentences: list[list[str]]) -> str:
    """A text that is different for different sentences."""
    sha = hashlib.sha256()
    for words in sentences:
        sha.update(json.dumps(words).encode())
    return sha.hexdigest()


def parts_of(
    X: Text, X_val: Text | None, fraction: float, seed: int
) -> tuple[list[list[str]], list[list[str]]]:
    """The sentences to learn from and those to choose by; without those of one word.

    They are the same for all models, which so know the same words.

    Args:
        X: text to learn from.
        X_val: text to choose by; None to hold out sentences of the first one.
        fraction: share of the sentences to hold out.
        seed: seed of the random choice of these.

    Raises:
        ValueError: too few sentences have a word to predict.
    """
    check_number("validation_fraction", fraction, 0, 1, open=True)
    if X_val is not None:
        return _usable("X", X, 1), _usable("X_val", X_val, 1)
    learn = _usable("X", X, 2)
    kept, held_out = hold_out(len(learn), fraction, seed)
    return [learn[i] for i in kept], [learn[i] for i in held_out]


def _usable(name: str, text: Text, fewest: int) -> list[list[str]]:
    """The sentences with a word that follows another; too few of them are refused."""
    sentences = [each for each in sentences_of(text) if len(each) > 1]
    if len(sentences) < fewest:
        has = "1 sentence" if sentences else "no sentence"
        more = "" if fewest == 1 else ", one to learn from and one to hold out"
        raise ValueError(f"{name} has {has} of two words or more; expected at least {fewest}{more}")
    return sentences


def known_words(sentences: list[list[str]], min_count: int, max_words: int | None) -> Words:
    """The vocabulary of the training sentences; ``min_count`` is lowered if no word reaches it."""
    counts = Counter(chain.from_iterable(sentences))
    most = max((count for word, count in counts.items() if word != UNKNOWN), default=min_count)
    return Words.from_counts(counts, min(min_count, most), max_words)
