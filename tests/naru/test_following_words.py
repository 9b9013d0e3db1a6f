"""What follows what: counted, weighed against what the network says, kept in files."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from structnet.naru import NextWord, RoutedLanguageModel, RoutedNetwork, Sentences, Wiring
from structnet.naru.next_word import VARIANCES
from structnet.text import Encoded
from structnet.text.ngrams import WORDS

SMALL = {"sizes": (1, 2, 1), "dims": (4,), "vector_size": 4, "epochs": 2, "random_state": 0}


def pairs_of_words(count: int, seed: int) -> list[str]:
    """Words of which each has two that may follow it, seven times of eight the same."""
    rng, text = random.Random(seed), []
    for _ in range(count):
        words = [rng.randrange(20)]
        for _ in range(8):
            words.append((3 * words[-1] + (1 if rng.random() < 7 / 8 else 2)) % 20)
        text.append(" ".join(f"w{word}" for word in words))
    return text


def test_what_follows_is_known_where_the_network_says_nothing(tmp_path: Path) -> None:
    model = RoutedLanguageModel(**SMALL).fit(pairs_of_words(150, 0))
    assert model.score(pairs_of_words(50, 1)) > 0.8
    assert model.predict(["w3"]) == ["w10"]
    model.save(tmp_path / "model")
    again = RoutedLanguageModel.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict_proba(["w3", "w4"]), model.predict_proba(["w3", "w4"])
    )
    nearest = RoutedLanguageModel(**SMALL, decoding="nearest").fit(pairs_of_words(150, 0))
    assert nearest.model_.following is None
    nearest.save(tmp_path / "nearest")
    assert RoutedLanguageModel.load(tmp_path / "nearest").model_.following is None


def test_probabilities_are_no_surer_than_held_out_words_allow() -> None:
    rng = random.Random(0)
    text = [" ".join(rng.choice("abcdefgh") for _ in range(8)) for _ in range(120)]
    model = RoutedLanguageModel(**SMALL).fit(text[:80])
    said = model.predict_log_proba([line[:-2] for line in text[80:]])
    right = [model.words_.id_of(line[-1]) for line in text[80:]]
    assert -said[np.arange(40), right].mean() < math.log(8) + 0.2


def untrained(
    seed: int, unknown: int | None = None, loss: str = "squared_error"
) -> tuple[NextWord, Sentences]:
    """A network that knows nothing, and sentences of words without an order."""
    torch.manual_seed(seed)
    network = RoutedNetwork(Wiring((1, 2, 1), (3, 4, 3)))
    model = NextWord(network, torch.randn(6, 3), loss, unknown)
    ids = np.random.default_rng(1).integers(0, 6, 60)
    return model, Sentences(Encoded(ids, np.arange(0, 61, 6)))


def likelihood(model: NextWord, sentences: Sentences) -> float:
    total = 0.0
    for words in sentences.texts():
        for i in range(1, len(words)):
            so_far = Sentences(Encoded(np.array(words[:i]), np.array([0, i])))
            if words[i] != model.unknown:  # which is never predicted
                total += model.predict_log_proba(so_far)[0, words[i]].item()
    return total


@pytest.mark.parametrize("unknown", [None, *range(6)])
def test_the_variance_that_is_chosen_is_the_best_there_is(unknown: int | None) -> None:
    model, sentences = untrained(0, unknown)
    model.calibrate(sentences[5:])
    chosen, best = model.variance.item(), likelihood(model, sentences[5:])
    assert any(math.isclose(chosen, variance, rel_tol=1e-6) for variance in VARIANCES)
    for variance in VARIANCES:
        model.variance.fill_(variance)
        assert likelihood(model, sentences[5:]) <= best + 1e-3


LOSSES = pytest.mark.parametrize("loss", ["squared_error", "log_loss"])


@LOSSES
def test_a_network_that_knows_nothing_is_not_asked(loss: str) -> None:
    model, sentences = untrained(0, loss=loss)
    model.count(sentences[:5])
    model.calibrate(sentences[5:])
    assert model.following is not None and not model.uses_network
    asked = sentences[5:7]
    said = model.following(asked.ends(6, WORDS))
    torch.testing.assert_close(model.predict_log_proba(asked), said)
    best = likelihood(model, sentences[5:])
    for longest in range(WORDS + 1):
        model.following.longest.fill_(longest)
        assert likelihood(model, sentences[5:]) <= best + 1e-3


class Elsewhere(TorchFunctionMode):
    """As on an accelerator, numpy knows only what ``cpu`` has fetched."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func is torch.Tensor.numpy:
            assert hasattr(args[0], "fetched")
        if func is torch.Tensor.cpu:
            found.fetched = True
        return found


@LOSSES
def test_the_network_is_weighed_on_an_accelerator(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sentences = untrained(0, loss=loss)
    model.count(sentences[:5])
    predicted = model._predicted(sentences[5:])
    monkeypatch.setattr(model, "_predicted", lambda batch: predicted)
    with Elsewhere():
        model.calibrate(sentences[5:])
    assert not model.uses_network


def test_rows_of_words_are_known_where_the_network_says_nothing(tmp_path: Path) -> None:
    """Behind a pair of words there is one word, behind the last of them any of five."""
    rng, text = random.Random(0), []
    for _ in range(300):
        words = [rng.randrange(5), rng.randrange(5)]
        for _ in range(6):
            words.append((2 * words[-2] + words[-1]) % 5)
        text.append(" ".join(f"w{word}" for word in words))
    model = RoutedLanguageModel(**SMALL).fit(text[:250])
    assert model.score(text[250:]) > 0.8  # six of the seven words behind others
    assert model.predict(["w1 w2", "w3 w1", "w4 w0 w1"]) == ["w4", "w2", "w1"]
    assert model.model_.following is not None
    assert model.model_.following.longest >= 2
    model.save(tmp_path / "model")
    again = RoutedLanguageModel.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(text[:9]), model.predict_proba(text[:9]))


@LOSSES
def test_a_network_that_knows_the_next_word_is_asked(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sentences = untrained(0, loss=loss)
    model.count(sentences[:5])
    guess = model._predicted

    def told(batch: Sentences) -> tuple[torch.Tensor, ...]:
        _, past, word = guess(batch)
        return model.vectors[word], past, word

    if model.head is not None:  # the word with the nearest vector is by far the likeliest
        model.head.weight.data = 20 * model.vectors
        model.head.bias.data = -10 * model.vectors.square().sum(1)
    monkeypatch.setattr(model, "_predicted", told)
    model.calibrate(sentences[5:])
    assert model.uses_network
    assert model.judged(sentences[5:])[0].all()


@pytest.mark.parametrize("unknown", [None, 2])
def test_probabilities_of_network_and_counts_are_mixed(unknown: int | None) -> None:
    model, sentences = untrained(0, unknown, "log_loss")
    assert model.head is not None
    y, past = torch.randn(7, 3), sentences[:7].ends(6, WORDS)
    scores = model.head(y)
    if unknown is not None:
        scores[:, unknown] = -torch.inf
    alone = scores.softmax(1)
    torch.testing.assert_close(model.scores(y, past).softmax(1), alone)
    model.count(sentences)
    assert model.counted is not None and model.following is not None
    model.counted.shares.copy_(torch.linspace(0.1, 0.6, len(model.counted.shares)))
    share = model.counted.shares[model.following.known_words(past)][:, None]
    both = share * alone + (1 - share) * model.following(past).exp()
    if unknown is not None:
        both[:, unknown] = 0
    torch.testing.assert_close(model.scores(y, past).softmax(1), both / both.sum(1, keepdim=True))


@LOSSES
def test_numbers_are_dropped_only_while_probabilities_are_learned(loss: str) -> None:
    model, sentences = untrained(0, loss=loss)
    losses = [model.train(mode).loss(sentences).item() for mode in (True, True, False, False)]
    assert (losses[0] == losses[1]) == (loss == "squared_error")
    assert losses[2] == losses[3]


def test_the_last_two_words_reach_probabilities_directly() -> None:
    model, batch = untrained(0, loss="log_loss")[0], Sentences(Encoded([4, 1, 5, 2, 3], [0, 3, 5]))
    assert model.direct is not None
    x = model.vectors[batch.padded(extra=1)[0]]
    alone = model.network.route(x, torch.tensor([4, 3])).predictions
    added = (model.route(batch, extra=1).predictions - alone)[[0, 0, 0, 1, 1], [0, 1, 2, 0, 1]]
    last, before = model.direct.weight.chunk(2, dim=1)
    of_last = model.vectors[[4, 1, 5, 2, 3]] @ last.T
    of_before = model.vectors[[4, 4, 1, 2, 2]] @ before.T * torch.tensor([0, 1, 1, 0, 1])[:, None]
    torch.testing.assert_close(added, of_last + of_before)
    assert not model.route(batch, extra=1).predictions[1, 2].any()  # after the end
    one_word = Sentences(Encoded([4], [0, 1]))
    assert model.route(one_word).predictions.shape == (1, 0, 3)
    assert untrained(0)[0].direct is None


def test_the_word_before_the_last_one_is_heard() -> None:
    rng, text = random.Random(0), []
    for _ in range(300):
        words = [rng.randrange(12), rng.randrange(12)]
        while len(words) < 10:
            words.append((words[-2] + 1) % 12)
        text.append(" ".join(f"w{word}" for word in words))
    model = RoutedLanguageModel(**{**SMALL, "epochs": 12, "vector_size": 12}).fit(text[:250])
    found = model.measure(text[250:]).perplexity_without_ngrams
    assert found is not None and found < 4
