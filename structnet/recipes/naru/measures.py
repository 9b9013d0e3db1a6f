"""The measurements of a routed language model, before and after its training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from structnet.naru import RoutedLanguageModel, RoutedNetwork, Sentences
from structnet.naru.next_word import BATCH
from structnet.recipes.texts import Texts
from structnet.training.metrics import evaluate


def of_model(model: RoutedLanguageModel, test: Texts, folder: Path | None = None) -> dict[str, Any]:
    """The measures of its predictions, the loss of vectors, and measures of a network's paths.

    Args:
        model: model.
        test: test sentences.
        folder: folder for routing.json and routing.npz; None to write neither.
    """
    values: dict[str, Any] = model.measure(test).to_dict()
    if model.model_.head is None:
        values["vector_loss"] = _vector_loss(model, test)
    if not is_routed(model):
        return values
    stats = model.statistics(test)
    if folder is not None:
        stats.save(folder / "routing.json")
        stats.save(folder / "routing.npz")
    routing = stats.to_dict()
    names = ("utilisation", "bias", "normalised_bias", "entropy", "load_share", "dead_bundles")
    return values | {name: routing[name] for name in (*names, "commonest_path")}


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
    saved = weight.clone()
    weight.fill_(torch.inf if of_vectors else 0.0)  # which ignores the network
    measured = model.measure(test)
    weight.copy_(saved)
    return {"accuracy": measured.accuracy, "perplexity": measured.perplexity}


def _vector_loss(model: RoutedLanguageModel, test: Texts) -> float:
    """The mean squared error of the next words' vectors; each sentence counts the same."""
    encoded = Sentences.to_predict(model.words_.encode(test), model.max_length)
    return evaluate(model.model_, encoded.to(model.model_.vectors.device), batch_size=BATCH)["loss"]


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
