"""The texts of runs that learn from sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from structnet.recipes.words import counted

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
