"""The measurements of a routed language model, before and after its training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from structnet.naru import NextWord, RoutedNetwork, Sentences
from structnet.naru.language_model import measured
from structnet.recipes.naru.text import Opened
from structnet.recipes.recipe import Answer
from structnet.routing.words import percent


def of_model(model: NextWord, test: Sentences, folder: Path | None = None) -> dict[str, Any]:
    """The loss, the accuracy and, for a routed network, measures of its paths.

    Args:
        model: model.
        test: test sentences.
        folder: folder for routing.json and routing.npz; None to write neither.
    """
    found: dict[str, Any] = measured(model, test)._asdict()
    if not isinstance(model.network, RoutedNetwork):
        return found
    stats = model.statistics(test)
    if folder is not None:
        stats.save(folder / "routing.json")
        stats.save(folder / "routing.npz")
    told = stats.to_dict()
    names = ("utilisation", "bias", "normalised_bias", "entropy", "load_share", "dead_bundles")
    return found | {name: told[name] for name in names}


def of_counts(model: NextWord, test: Sentences) -> dict[str, float] | None:
    """The accuracy on the test sentences of counts of following words, without the network.

    None if no words were counted.
    """
    if model.following is None:
        return None
    variance = model.variance.clone()
    model.variance.fill_(torch.inf)  # which ignores the network
    accuracy = measured(model, test).accuracy
    model.variance.copy_(variance)
    return {"accuracy": accuracy}


def counts_alone(model: NextWord) -> bool:
    """Whether the counts of following words answer without the network."""
    return model.head is None and bool(model.variance.isinf())


def mean_vector_loss(model: NextWord, train: Sentences, test: Sentences) -> float | None:
    """The test loss of a constant prediction, the mean vector of the training words.

    The mean is over all words that follow others. None for a model of probabilities.
    """
    if model.head is not None:
        return None
    vectors = model.vectors.cpu().numpy().astype(np.float64)
    mean = vectors[_behind_others(train)].mean(0)
    errors = ((vectors[_behind_others(test)] - mean) ** 2).mean(1)
    lengths = test.lengths - 1
    sentence = np.repeat(np.arange(len(test)), lengths)
    return float((np.bincount(sentence, errors) / lengths).mean())


def _behind_others(sentences: Sentences) -> np.ndarray:
    """The words that follow others, in order, ``[words]``."""
    there = np.ones(len(sentences.ids), bool)
    there[sentences.offsets[:-1]] = False
    return sentences.ids[there]


def next_words(model: Opened, text: str, top: int) -> Answer:
    """The likeliest next words after a text, and the path of its last word.

    Raises:
        ValueError: the text has no words.
    """
    given = text.split()
    if not given:
        raise ValueError("the text has no words; expected the beginning of a sentence")
    batch = Sentences(model.words.encode([given])).to(model.model.vectors.device)
    prob = model.model.predict_proba(batch)[0]
    values, words = prob.topk(min(top, len(prob)))
    likely = [
        {"word": model.words.words[word], "probability": round(value, 6)}
        for word, value in zip(words.tolist(), values.tolist(), strict=True)
    ]
    said = ", ".join(f"{each['word']} {percent(each['probability'], 1)}" for each in likely)
    known = [word in model.words for word in given]
    unknown = [word for word, there in zip(given, known, strict=True) if not there]
    found: dict[str, Any] = {"text": text, "next": likely, "unknown_words": unknown}
    if isinstance(model.model.network, RoutedNetwork):
        with torch.no_grad():
            record = model.model.route(batch, extra=1).record[0]
        # In each step, the last word moves on by one capsule.
        found["path"] = record.diagonal(1 - int(batch.lengths[0])).tolist()
    more = f" (not known: {', '.join(unknown)})" if unknown else ""
    return Answer(f"{text} -> {said}{more}", found)
