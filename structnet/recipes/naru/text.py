"""The text of a run."""

from __future__ import annotations

import numpy as np

from structnet.datasets.text import Text, load_text
from structnet.recipes.arrays import drawn
from structnet.recipes.naru.settings import NaruRunSettings
from structnet.recipes.texts import TextData


def load_data(settings: NaruRunSettings) -> TextData:
    """The sentences that the settings ask for.

    Raises:
        ValueError: a part has no such sentence, or there are too few to train on.
    """
    rules, seed = settings.sentences, settings.training.seed
    text: Text = load_text(settings.data, settings.place.data_dir, seed)
    parts = {}
    for part in ("train", "validation", "test"):
        sentences = [
            words
            for words in getattr(text, part)
            if len(words) > 1 and (rules.longest is None or len(words) <= rules.longest)
        ]
        if not sentences:
            raise ValueError(
                f"{settings.data} has no sentence for {part} of two words or more"
                + (f" and at most {rules.longest}" if rules.longest else "")
            )
        size = getattr(rules, f"{part}_size")
        if part != "train" and size is not None:  # the largest number
            size = min(size, len(sentences))
        chosen = drawn(len(sentences), size, seed, "training sentences")
        parts[part] = [sentences[i] for i in np.sort(chosen)]
    return TextData(settings.data, text.split, **parts)
