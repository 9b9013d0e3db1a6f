"""What follows what: counted, weighed against what the network says, kept in files."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from structnet.naru import NextWord, RoutedLanguageModel, RoutedNetwork, Sentences, Wiring
from structnet.naru.following_words import FollowingWords
from structnet.naru.next_word import DISCOUNTS, VARIANCES
from structnet.text import Encoded

SMALL = {"sizes": (1, 2, 1), "dims": (4,), "vector_size": 4, "epochs": 2, "random_state": 0}


def test_words_are_counted_by_the_definition() -> None:
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 5, n) for n in (1, 4, 9, 2, 30)]
    offsets = np.append(0, np.cumsum([len(text) for text in texts]))
    sentences = Sentences(Encoded(np.concatenate(texts), offsets))
    share = np.array([3.0, 1, 1, 2, 4, 1])
    following = FollowingWords(torch.from_numpy(share).log(), num_pairs=2)
    following.count(sentences)
    following.discount.fill_(0.7)
    counts = np.zeros((6, 6))
    for text in texts:
        for v, w in itertools.pairwise(text):
            counts[v, w] += 1
    different = (counts > 0).sum(1, keepdims=True)
    taken = np.where(counts > 0, counts - 0.7, 0) + 0.7 * different * share / 12
    total = counts.sum(1, keepdims=True)
    assert total[5] == 0  # nothing has followed it
    expected = np.where(total > 0, taken / np.maximum(total, 1), share / 12)
    asked = torch.tensor([4, 0, 0, 3, 5, 2, 1])
    np.testing.assert_allclose(following(asked).exp(), expected[asked], rtol=1e-5)


def test_counts_lie_where_the_prior_does() -> None:
    """A network on an accelerator asks them there."""
    following = FollowingWords(torch.zeros(3, device="meta"))
    following.count(Sentences(Encoded(np.array([0, 1, 2]), np.array([0, 3]))))
    assert {each.device.type for each in following.buffers()} == {"meta"}


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


def untrained(seed: int) -> tuple[NextWord, Sentences]:
    """A network that knows nothing, and sentences of words without an order."""
    torch.manual_seed(seed)
    model = NextWord(RoutedNetwork(Wiring((1, 2, 1), (3, 4, 3))), torch.randn(6, 3))
    ids = np.random.default_rng(1).integers(0, 6, 60)
    return model, Sentences(Encoded(ids, np.arange(0, 61, 6)))


def likelihood(model: NextWord, sentences: Sentences) -> float:
    total = 0.0
    for words in sentences.texts():
        for i in range(1, len(words)):
            so_far = Sentences(Encoded(np.array(words[:i]), np.array([0, i])))
            total += model.predict_log_proba(so_far)[0, words[i]].item()
    return total


def test_the_variance_that_is_chosen_is_the_best_there_is() -> None:
    model, sentences = untrained(0)
    model.calibrate(sentences[5:])
    chosen, best = model.variance.item(), likelihood(model, sentences[5:])
    assert any(math.isclose(chosen, variance, rel_tol=1e-6) for variance in VARIANCES)
    for variance in VARIANCES:
        model.variance.fill_(variance)
        assert likelihood(model, sentences[5:]) <= best + 1e-3


def test_a_network_that_knows_nothing_is_not_asked() -> None:
    model, sentences = untrained(0)
    model.following = FollowingWords(model.log_prior)
    model.following.count(sentences[:5])
    model.calibrate(sentences[5:])
    asked = sentences[5:7]
    last = torch.tensor([words[-1] for words in asked.texts()])
    torch.testing.assert_close(model.predict_log_proba(asked), model.following(last))
    chosen, best = model.following.discount.item(), likelihood(model, sentences[5:])
    assert any(math.isclose(chosen, discount, rel_tol=1e-6) for discount in DISCOUNTS)
    for discount in DISCOUNTS:
        model.following.discount.fill_(discount)
        assert likelihood(model, sentences[5:]) <= best + 1e-3


def test_a_network_that_knows_the_next_word_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sentences = untrained(0)
    model.following = FollowingWords(model.log_prior)
    model.following.count(sentences[:5])
    guess = model._predicted

    def told(batch: Sentences) -> tuple[torch.Tensor, ...]:
        _, previous, word = guess(batch)
        return model.vectors[word], previous, word

    monkeypatch.setattr(model, "_predicted", told)
    model.calibrate(sentences[5:])
    assert math.isfinite(model.variance.item())
    assert model.accuracy(sentences[5:]) == 1
