"""What a run of a routed language model is told. Nothing here imports torch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from structnet.checks import check_integer
from structnet.estimators.hyper_parameters import settings_of
from structnet.naru.settings import NaruSettings
from structnet.recipes.recipe import Place, check_data, whole_path

DATA_SETS = ("brown", "wikitext-2", "pydoc")
FILES = (".txt",)
RATES = {"naru": NaruSettings.learning_rate, "gru": 1e-3}


@dataclass(frozen=True)
class Sentences:
    """which sentences

    Args:
        train_size: training sentences, drawn from all (default: all)
        validation_size: sentences that say which epoch is best, drawn from all (default: all)
        test_size: test sentences, drawn from all (default: all)
        longest: most words of a sentence that is taken at all (default: any)
        vectors: file of word vectors, as GloVe and word2vec have them (default: vectors are learned
            from the training sentences)
    """

    train_size: int | None = None
    validation_size: int | None = None
    test_size: int | None = None
    longest: int | None = None
    vectors: Path | None = None

    def __post_init__(self) -> None:
        for name in ("train_size", "validation_size", "test_size"):
            check_integer(name, getattr(self, name), 1, optional=True)
        check_integer("longest", self.longest, 2, optional=True)


@dataclass(frozen=True, kw_only=True)
class Training(NaruSettings):
    """the network, and how it is trained

    Args:
        network: naru, or as a baseline gru, with as many multiplications a word
        learning_rate: learning rate of Adam (default: naru 3e-4, gru 1e-3)
        seed: seed of the weights, of the order of sentences, and of which are drawn
    """

    network: Literal["naru", "gru"] = "naru"
    learning_rate: float | None = None  # type: ignore[assignment]  # until resolved

    def __post_init__(self) -> None:
        self.told()

    def told(self) -> NaruSettings:
        """The same as the library takes it."""
        rate = RATES[self.network] if self.learning_rate is None else self.learning_rate
        return settings_of(self, NaruSettings, learning_rate=rate)


@dataclass(frozen=True)
class NaruRunSettings:
    """Trains a routed language model on a text, and tests it.

    A routed network (Nepp, 2021) has capsules of bundles. Each word takes one bundle a capsule,
    which elects the next; all others cost nothing. It learns to predict the vector of the next
    word. Which word that means, the nearest vectors say and how often words follow the last ones,
    weighed as makes the validation sentences likeliest.

    The weights of the epoch best on validation are kept. The run folder also gets routing.json and
    routing.npz, which bundles the test sentences visit.

    Args:
        data: brown, wikitext-2, pydoc (the help on Python's language), or FILE.txt: one sentence a
            line, words between blanks

    Raises:
        ValueError: a value is out of its range.
    """

    data: str
    sentences: Sentences = field(default_factory=Sentences)
    training: Training = field(default_factory=Training)
    place: Place = field(default_factory=Place)

    def __post_init__(self) -> None:
        check_data(self.data, DATA_SETS, FILES)

    @property
    def name(self) -> str:
        """What tells it from other runs on other data, for the name of its folder."""
        return f"{Path(self.data).stem}-{self.training.network}"

    def resolved(self) -> NaruRunSettings:
        """The same with whole paths, and the learning rate of its network.

        Example:
            >>> NaruRunSettings("brown").resolved().training.learning_rate
            0.0003
        """
        rate = self.training.told().learning_rate
        vectors = self.sentences.vectors
        return replace(
            self,
            data=whole_path(self.data, FILES),
            sentences=replace(self.sentences, vectors=vectors and vectors.resolve()),
            training=replace(self.training, learning_rate=rate),
        )
