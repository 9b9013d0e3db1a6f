"""What a run of a language model is told; nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from structnet.checks import check_integer
from structnet.datasets.catalogue import TEXT_SETS, TEXTS
from structnet.label_tree.language_settings import HEADS, LanguageModelSettings
from structnet.recipes.recipe import Place, check_data, parts, whole_path

NAMES = tuple(TEXT_SETS)


@dataclass(frozen=True)
class Rows:
    """which words

    Args:
        min_count: fewest occurrences of a word; rarer ones count as one, <unk>
        max_words: most words, the frequent ones (default: all)
        train_size: sentences to learn from, the first ones (default: all)
    """

    min_count: int = 3
    max_words: int | None = None
    train_size: int | None = None

    def __post_init__(self) -> None:
        check_integer("min_count", self.min_count, 1)
        check_integer("max_words", self.max_words, 2, optional=True)
        check_integer("train_size", self.train_size, 1, optional=True)


@dataclass(frozen=True)
class LanguageModelRunSettings:
    """Learns to predict the next word, and tests it.

    A log-bilinear model (Jernite et al., ICML 2017) represents the four words before by one vector;
    the next word is a leaf of a tree of softmaxes, and while it trains, words move to the children
    that their contexts prefer. What follows the last words how often is counted beside it, and both
    are mixed as the validation text says it best; the result has the perplexity of each alone.

    The run folder also gets neighbours.txt, words that share a last node.

    Args:
        data: brown, wikitext-2, gutenberg (books in plain text), pydoc (the help that every Python
            has), or FILE.txt: a text of a sentence a line, words between blanks

    Raises:
        ValueError: a value is out of its range.
    """

    data: str
    rows: Rows = field(default_factory=Rows)
    training: LanguageModelSettings = field(default_factory=LanguageModelSettings)
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        check_data(self.data, NAMES, TEXTS)

    @property
    def name(self) -> str:
        """What tells it from other runs on other data, for the name of its folder."""
        return f"{Path(self.data).stem}-{self.training.head}"

    def resolved(self) -> LanguageModelRunSettings:
        """The same with the whole path of a file."""
        return replace(self, data=whole_path(self.data, TEXTS, self.place.data_dir))


@dataclass(frozen=True)
class Choice:
    """Compares trees of words with softmaxes over all of them.

    Args:
        data: name of the text
        only: some of learned, huffman, clusters, random, flat, adaptive, separated by commas
            (default: all)
        epochs: passes through the text
        train_size: sentences to learn from (default: all)
    """

    data: Literal["brown", "wikitext-2", "gutenberg", "pydoc"] = "brown"
    only: str | None = None
    epochs: int = 5
    train_size: int | None = None
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        parts(self.only, HEADS, "--only")
        check_integer("epochs", self.epochs, 1)
