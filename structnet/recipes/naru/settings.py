"""The settings of a run of a routed language model. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from structnet.checks import check_integers
from structnet.datasets.catalogue import TEXTS
from structnet.estimators.hyper_parameters import settings_of
from structnet.naru.settings import NaruSettings
from structnet.recipes.recipe import Place
from structnet.recipes.run_settings import RunSettings


@dataclass(frozen=True)
class Sentences:
    """which sentences to use

    Args:
        train_size: number of training sentences, drawn at random (default: all)
        validation_size: largest number of sentences on which the best epoch is chosen, drawn at
            random (default: all)
        test_size: largest number of test sentences, drawn at random (default: all)
        longest: largest number of words in a sentence; longer sentences are left out (default: no
            limit)
        vectors: file of word vectors in the format of GloVe or word2vec (default: vectors are
            learned from the training sentences)
    """

    TITLE: ClassVar[str] = "data"

    train_size: int | None = None
    validation_size: int | None = None
    test_size: int | None = None
    longest: int | None = None
    vectors: Path | None = None

    def __post_init__(self) -> None:
        check_integers(self, optional=True, train_size=1, validation_size=1, test_size=1, longest=2)


@dataclass(frozen=True, kw_only=True)
class Training(NaruSettings):
    """the network, and how it is trained

    Args:
        network: naru, or, as a baseline, gru, with as many multiplications for each word
        seed: seed of the weights, of the order of the sentences, and of the choice of sentences
    """

    network: Literal["naru", "gru"] = "naru"

    def to_library(self) -> NaruSettings:
        """The same settings in the library's class."""
        return settings_of(self, NaruSettings)


@dataclass(frozen=True)
class NaruRunSettings(RunSettings):
    """Trains a routed language model on a text, and tests it.

    A routed network (Nepp, 2021) consists of capsules of bundles. In each capsule a word takes one
    bundle, which elects the next; the others cost nothing. The network learns to predict the next
    word; its prediction is mixed with counts of the words that follow the last ones, in the
    proportion that makes the validation sentences likeliest.

    The weights of the best epoch on the validation sentences are kept. In the run folder,
    model.safetensors is a RoutedLanguageModel, which its load reads; routing.json and routing.npz
    record the bundles that the test sentences visit.

    Args:
        data: brown, wikitext-2, pydoc (the help on Python's language), or FILE.txt: one sentence on
            each line, blanks between words

    Raises:
        ValueError: a value is out of its range.
    """

    DATA_SETS: ClassVar = ("brown", "wikitext-2", "pydoc")
    FILES: ClassVar = TEXTS

    data: str
    sentences: Sentences = field(default_factory=Sentences)
    training: Training = field(default_factory=Training)
    place: Place = field(default_factory=Place)

    @property
    def name(self) -> str:
        """The part of the run folder's name that tells it from runs on other data."""
        return f"{super().name}-{self.training.network}"

    def resolved(self) -> NaruRunSettings:
        """The same settings with absolute paths."""
        vectors = self.sentences.vectors
        sentences = replace(self.sentences, vectors=vectors and vectors.resolve())
        return replace(super().resolved(), sentences=sentences)
