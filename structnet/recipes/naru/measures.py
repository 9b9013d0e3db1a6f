"""The measurements of a routed language model, before and after its training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from structnet.naru import RoutedLanguageModel, RoutedNetwork, Sentences
from structnet.recipes.recipe import Answer
from structnet.recipes.texts import Texts
from structnet.routing.words import percent


def of_model(model: RoutedLanguageModel, test: Texts, folder: Path | None = None) -> dict[str, Any]:
    """The loss, accuracy, perplexity and, for a routed network, measures of its paths.

    Args:
        model: model.
        test: test sentences.
        folder: folder for routing.json and routing.npz; None to write neither.
    """
    found: dict[str, Any] = model.measure(test).to_dict()
    if not is_routed(model):
        return found
    stats = model.statistics(test)
    if folder is not None:
        stats.save(folder / "routing.json")
        stats.save(folder / "routing.npz")
    told = stats.to_dict()
    names = ("utilisation", "bias", "normalised_bias", "entropy", "load_share", "dead_bundles")
    return found | {name: told[name] for name in names}


def is_routed(model: RoutedLanguageModel) -> bool:
    """Whether the network has paths, which the baseline lacks."""
    return isinstance(model.model_.network, RoutedNetwork)


def of_counts(model: RoutedLanguageModel, test: Texts) -> dict[str, float] | None:
    """The measures of the counts of following words on the test sentences, without the network.

    None if no words were counted.
    """
    counted = model.model_.counted
    if counted is None:
        return None
    of_vectors = model.model_.head is None
    weight = model.model_.variance if of_vectors else counted.shares
    found = weight.clone()
    weight.fill_(torch.inf if of_vectors else 0.0)  # which ignores the network
    measured = model.measure(test)
    weight.copy_(found)
    return {"accuracy": measured.accuracy, "perplexity": measured.perplexity}


def mean_vector_loss(model: RoutedLanguageModel, train: Texts, test: Texts) -> float | None:
    """The test loss of a constant prediction, the mean vector of the training words.

    The mean is over all words that follow others. None for a model of probabilities.
    """
    if model.model_.head is not None:
        return None
    learned, tested = (
        Sentences.to_predict(model.words_.encode(texts), model.max_length)
        for texts in (train, test)
    )
    vectors = model.model_.vectors.cpu().numpy().astype(np.float64)
    mean = vectors[_behind_others(learned)].mean(0)
    errors = ((vectors[_behind_others(tested)] - mean) ** 2).mean(1)
    lengths = tested.lengths - 1
    sentence = np.repeat(np.arange(len(tested)), lengths)
    return float((np.bincount(sentence, errors) / lengths).mean())


def _behind_others(sentences: Sentences) -> np.ndarray:
    """The words that follow others, in order, ``[words]``."""
    there = np.ones(len(sentences.ids), bool)
    there[sentences.offsets[:-1]] = False
    return sentences.ids[there]


def next_words(model: RoutedLanguageModel, text: str, top: int) -> Answer:
    """The likeliest next words after a text, and the path of its last word.

    Raises:
        ValueError: the text has no words.
    """
    given = text.split()
    if not given:
        raise ValueError("the text has no words; expected the beginning of a sentence")
    (words,), (shares,) = model.predict_top([given], top)
    likely = [
        {"word": word, "probability": round(share, 6)}
        for word, share in zip(words.tolist(), shares.tolist(), strict=True)
    ]
    said = ", ".join(f"{each['word']} {percent(each['probability'], 1)}" for each in likely)
    unknown = [word for word in given if word not in model.words_]
    found: dict[str, Any] = {"text": text, "next": likely, "unknown_words": unknown}
    if is_routed(model):
        # The last word of a sentence reaches no prediction, so it is followed by any other.
        found["path"] = model.paths([[*given, given[-1]]])[0][-2].tolist()
    more = f" (not known: {', '.join(unknown)})" if unknown else ""
    return Answer(f"{text} -> {said}{more}", found)
