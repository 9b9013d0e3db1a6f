"""The text of a run, and a trained model with its vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from structnet.datasets.text import Text, load_text
from structnet.naru import NextWord, Sentences, Wiring
from structnet.naru.language_model import build, over_words
from structnet.naru.recurrent import RecurrentNetwork
from structnet.recipes.arrays import drawn
from structnet.recipes.naru.settings import NaruRunSettings, Training
from structnet.text import Words
from structnet.training.seeding import seeded

Texts = list[list[str]]


@dataclass
class TextData:
    """The sentences of a run, each of two words or more.

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


def load_data(settings: NaruRunSettings) -> TextData:
    """The sentences that the settings ask for.

    Raises:
        ValueError: a part has no such sentence, or there are too few to train on.
    """
    said, seed = settings.sentences, settings.training.seed
    text: Text = load_text(settings.data, settings.place.data_dir, seed)
    parts = {}
    for part in ("train", "validation", "test"):
        found = [
            words
            for words in getattr(text, part)
            if len(words) > 1 and (said.longest is None or len(words) <= said.longest)
        ]
        if not found:
            raise ValueError(
                f"{settings.data} has no sentence for {part} of two words or more"
                + (f" and at most {said.longest}" if said.longest else "")
            )
        size = getattr(said, f"{part}_size")
        if part != "train" and size is not None:  # the largest number
            size = min(size, len(found))
        chosen = drawn(len(found), size, seed, "training sentences")
        parts[part] = [found[i] for i in np.sort(chosen)]
    return TextData(settings.data, text.split, **parts)


class Opened(NamedTuple):
    """A trained model, its vocabulary, and the largest number of words in a piece of a sentence."""

    model: NextWord
    words: Words
    max_length: int

    def sentences(self, texts: Texts) -> Sentences:
        """Encodes sentences for the model, and cuts long ones into pieces."""
        return Sentences.to_predict(self.words.encode(texts), self.max_length)


def model_of(training: Training, words: Words, vectors: Tensor) -> NextWord:
    """The untrained model of a run, with a routed or a recurrent network.

    Shapes:
        vectors ``[words, dim]``.
    """
    settings = training.told()
    if training.network == "naru":
        return build(settings, words, vectors)
    dim = vectors.shape[1]
    routed = Wiring(settings.sizes, (dim, *settings.dims, dim), settings.max_cone)
    with seeded(settings.seed):
        network = RecurrentNetwork(dim, routed.multiply_adds)
        return over_words(network, settings, words, vectors)
