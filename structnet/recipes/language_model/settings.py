"""The settings of a run of a language model; nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from structnet.checks import check_integer, check_integers
from structnet.datasets.catalogue import TEXT_SETS, TEXTS
from structnet.label_tree.language_settings import TREES, LanguageModelSettings
from structnet.recipes.recipe import Place, parts
from structnet.recipes.run_settings import RunSettings


@dataclass(frozen=True)
class Rows:
    """which words and sentences to use

    Args:
        min_count: smallest number of occurrences of a word; rarer words are all replaced by <unk>
        max_words: largest number of words; the most frequent are kept (default: all)
        train_size: number of training sentences, taken from the beginning (default: all)
    """

    TITLE: ClassVar[str] = "data"

    min_count: int = 2
    max_words: int | None = None
    train_size: int | None = None

    def __post_init__(self) -> None:
        check_integers(self, min_count=1)
        check_integers(self, optional=True, max_words=2, train_size=1)


@dataclass(frozen=True)
class LanguageModelRunSettings(RunSettings):
    """Trains a language model, which predicts the next word, and tests it.

    A log-bilinear model (Jernite et al., ICML 2017) represents the previous four words by one
    vector; the next word is a leaf of a tree of softmaxes, in which similar words are grouped; with
    --tree learned, words also move during training. N-grams are counted in addition and mixed with
    the model in the proportion that is best for the validation text; the result also has the
    perplexity of each alone.

    In the run folder, model.safetensors is a LabelTreeLanguageModel, which its load reads, and
    neighbours.txt lists words whose leaves have the same parent.

    Args:
        data: brown, wikitext-2, gutenberg (books in plain text), pydoc (the help that comes with
            Python), or FILE.txt: a text with one sentence on each line and blanks between words

    Raises:
        ValueError: a value is out of its range.
    """

    DATA_SETS: ClassVar = tuple(TEXT_SETS)
    FILES: ClassVar = TEXTS

    data: str
    rows: Rows = field(default_factory=Rows)
    training: LanguageModelSettings = field(default_factory=LanguageModelSettings)
    place: Place = field(default_factory=Place)

    @property
    def name(self) -> str:
        """The part of the run folder's name that tells it from runs on other data."""
        return f"{super().name}-{self.training.tree}"


@dataclass(frozen=True)
class Choice:
    """Compares trees of words with softmaxes over all words.

    Args:
        data: name of the text
        only: some of learned, huffman, clusters, random, flat, adaptive, separated by commas
            (default: all)
        epochs: passes through the text
        train_size: number of training sentences, taken from the beginning (default: all)
    """

    data: Literal["brown", "wikitext-2", "gutenberg", "pydoc"] = "brown"
    only: str | None = None
    epochs: int = 5
    train_size: int | None = None
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        parts(self.only, TREES, "--only")
        check_integer("epochs", self.epochs, 1)
