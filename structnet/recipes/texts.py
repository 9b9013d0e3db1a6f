"""The texts of runs that learn from sentences, and the next words that they are asked for."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.exceptions import UndefinedMetricWarning

from structnet.datasets.catalogue import TEXTS
from structnet.estimators.next_words import NextWordEstimator
from structnet.recipes.recipe import Answer, Place, Probabilities, is_file
from structnet.recipes.run import Run
from structnet.recipes.words import counted
from structnet.routing.words import percent
from structnet.text import read_sentences
from structnet.text.sentences import read_lines

Texts = list[list[str]]


@dataclass
class TextData:
    """The sentences of a run.

    Attributes:
        name: name of the text.
        split: split into the three parts, in words.
        train, validation, test: sentences.
    """

    name: str
    split: str
    train: Texts
    validation: Texts
    test: Texts

    def describe(self) -> dict[str, Any]:
        """The description in ``config.json``, by which the same data are recognized."""
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        return {"name": self.name, "split": self.split} | {
            part: {"sentences": len(texts), "words": sum(map(len, texts))}
            for part, texts in parts.items()
        }

    def in_words(self) -> str:
        """The numbers of sentences and words, in words."""
        words = counted(sum(map(len, self.train)), "word")
        return (
            f"{counted(len(self.train), 'sentence')} of {words} to learn from, "
            f"{len(self.validation):,} for validation, {len(self.test):,} to test"
        )


def read(run: Run, file: str, place: Place) -> Texts:
    """The sentences of a user's text."""
    return read_sentences(file)


def measure(model: NextWordEstimator, examples: Texts, ask: Any) -> dict[str, float]:
    """The measures of all words but the first of each sentence, of the known ones among these.

    A line says so if none of them is known, so that there is no perplexity.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)  # which the line replaces
        measured = model.measure(examples)
    if not measured.words:
        print("none of the words to predict is known, so that there is no perplexity")
    return {name: value for name, value in measured.to_dict().items() if not math.isnan(value)}


def next_words(model: NextWordEstimator, texts: Sequence[str], top: int) -> list[Answer]:
    """The likeliest words after each beginning of a sentence, and those in it that are not known.

    Args:
        model: language model.
        texts: beginnings of sentences, words between blanks; or files with one on each line.
        top: number of words for each.

    Raises:
        ValueError: a text has no words.
    """
    texts = [line for text in texts for line in _lines(text)]
    beginnings = [text.split() for text in texts]
    if not all(beginnings) or not texts:
        raise ValueError("the text has no words; expected the beginning of a sentence")
    answers = []
    parts = zip(texts, beginnings, *model.predict_top(beginnings, top), strict=True)
    for text, known, words, shares in parts:
        likely = {
            word: round(share, 6)
            for word, share in zip(words.tolist(), shares.tolist(), strict=True)
        }
        listed = ", ".join(f"{word} {percent(share, 1)}" for word, share in likely.items())
        unknown = [word for word in known if word not in model.words_]
        more = f" (not known: {', '.join(unknown)})" if unknown else ""
        values = {"text": text, "words": likely, "unknown_words": unknown}
        probabilities = Probabilities(list(likely), partial(dict, likely))
        answers.append(Answer(f"{text} ... {listed}{more}", values, probabilities))
    return answers


def _lines(text: str) -> list[str]:
    """The lines of a file that are not blank, or of a text that was typed or read."""
    if is_file(text, TEXTS):
        return [line for _, line in read_lines(text)]
    return [line for line in text.split("\n") if line.strip()] or [text]
