"""A language model beside counts: what is mixed, by how much, and what stays without."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from structnet.label_tree import LanguageModelSettings, LogBilinearLM, train_language_model
from structnet.label_tree.language_model import FlatSoftmaxLoss, NextWords
from structnet.label_tree.softmax import TreeSoftmaxLoss
from structnet.text import NGrams, Words
from structnet.text.ngram_mixture import DOUBT, NGramMixture

SETTINGS = LanguageModelSettings(vector_size=6, arity=3, max_depth=None, epochs=2)


def phrases(number: int, seed: int) -> list[list[str]]:
    """Sentences of phrases, each of its own words, which are known by heart or not at all."""
    rng = random.Random(seed)
    return [
        [f"{place}{phrase}" for phrase in rng.choices(range(40), k=3) for place in "abcd"]
        for _ in range(number)
    ]


def trained(settings: LanguageModelSettings) -> tuple[LogBilinearLM, NextWords]:
    words = Words.from_sentences(phrases(150, 0))
    learnt, held, test = (
        NextWords(words.encode(phrases(number, seed)), len(words), settings.context)
        for seed, number in enumerate((150, 30, 30))
    )
    model = LogBilinearLM(words, settings)
    train_language_model(model, learnt, held, progress=False)
    return model, test


def test_what_is_known_by_heart_is_said_so() -> None:
    model, test = trained(SETTINGS)
    assert (
        model.perplexities(test)["perplexity"] < 40**0.25 * 1.3
    )  # three of four words are certain
    assert model.next_words(["a7"], 1)[0][0] == "b7"
    assert model.counted is not None
    past, target = test.words[:50], test.target[:50]
    said = model.log_prob(past)
    torch.testing.assert_close(said.exp().sum(1), torch.ones(50))
    model.counted, counted = None, model.counted
    alone = model.perplexities(test)["perplexity"]
    assert alone > 40**0.25 * 2
    mixed = counted.log_prob_of(past, target, model.log_prob(past).gather(1, target[:, None])[:, 0])
    torch.testing.assert_close(mixed, said.gather(1, target[:, None])[:, 0])


def test_the_likeliest_words_have_the_probabilities_of_all() -> None:
    words = Words.from_sentences(phrases(20, 0))
    model = LogBilinearLM(words, SETTINGS)
    expected = model.log_prob(torch.full((1, SETTINGS.context), len(words))).exp()[0]
    found = dict(model.next_words([], len(words)))
    assert len(found) == len(words)
    for word, probability in found.items():
        assert probability == pytest.approx(expected[words.id_of(word)].item(), rel=1e-6)


def test_one_softmax_says_what_a_tree_of_one_node_does() -> None:
    given, target = torch.randn(5, 8), torch.arange(5)
    flat, tree = FlatSoftmaxLoss(8, 6), TreeSoftmaxLoss(8, 6, arity=6)
    found, expected = flat(given, target), tree(given, target)
    assert type(found) is type(expected)
    torch.testing.assert_close(found.output, expected.output)
    torch.testing.assert_close(found.loss, expected.loss)


def test_callbacks_are_told_of_every_epoch() -> None:
    words, told = Words.from_sentences(phrases(50, 0)), []
    learnt = NextWords(words.encode(phrases(50, 0)), len(words), SETTINGS.context)
    model = LogBilinearLM(words, SETTINGS)
    history = train_language_model(
        model, learnt, callbacks=[lambda *given: told.append(given)], progress=False
    )
    assert [given[0] for given in told] == [model, model]
    assert list(told[-1][1]) == list(history)


def test_without_counts_there_are_none() -> None:
    model, _ = trained(replace(SETTINGS, ngrams=False))
    assert model.counted is None


@pytest.mark.parametrize("context", [1, 6])
def test_counts_look_at_no_more_words_than_the_model_has_or_they_know(context: int) -> None:
    model, test = trained(replace(SETTINGS, context=context))
    assert model.counted is not None
    assert model.counted.ngrams.sizes[1] == min(context, 4)
    assert model.perplexities(test)["perplexity"] < 40**0.25 * 1.3


def test_counts_look_at_no_more_words_than_pays() -> None:
    """Each word has eight successors, whatever stands before it."""
    rng = random.Random(0)
    successors = [rng.sample(range(100), 8) for _ in range(100)]

    def walk() -> list[str]:
        places = [rng.randrange(100)]
        while len(places) < 9:
            places.append(rng.choice(successors[places[-1]]))
        return [f"w{place}" for place in places]

    parts = [[walk() for _ in range(number)] for number in (400, 100, 100)]
    words = Words.from_sentences(parts[0])
    model = LogBilinearLM(words, SETTINGS)
    learnt, held, test = (NextWords(words.encode(part), len(words), 4) for part in parts)
    train_language_model(model, learnt, held, progress=False)
    assert model.counted is not None and model.counted.ngrams.longest == 1
    chosen = model.perplexities(test)["perplexity"]
    model.counted.ngrams.longest.fill_(4)
    assert chosen < 0.95 * model.perplexities(test)["perplexity"]


def test_the_shares_are_the_best_there_are() -> None:
    rng = np.random.default_rng(0)
    ngrams = NGrams(4, size=1)
    ngrams.count(torch.tensor([[0], [0], [1], [4]]), torch.tensor([1, 2, 3, 0]))
    pasts = torch.from_numpy(rng.integers(0, 4, (200, 1)))
    words = torch.from_numpy(rng.choice(4, 200, p=[0.5, 0.3, 0.1, 0.1]))
    said = torch.tensor([0.4, 0.4, 0.1, 0.1]).log()[words]
    mixture = NGramMixture(ngrams)

    def likelihood() -> float:
        doubt = (mixture.shares.log() + (1 - mixture.shares).log()).sum()
        return (mixture.log_prob_of(pasts, words, said).sum() + DOUBT * doubt).item()

    mixture.fit(pasts, words, said)
    best, shares = likelihood(), mixture.shares.clone()
    for k in range(2):
        for other in np.linspace(0.02, 0.98, 25):
            mixture.shares.copy_(shares)
            mixture.shares[k] = other
            assert likelihood() < best + 0.01


def test_dropout_keeps_a_short_text_from_being_learned_by_heart() -> None:
    rng = np.random.default_rng(0)
    names = [f"w{k}" for k in range(50)]
    texts = [[rng.choice(names, 8).tolist() for _ in range(200)] for _ in range(2)]
    words = Words.from_sentences(texts[0])
    learnt, test = (NextWords(words.encode(text), len(words), context=4) for text in texts)
    found = {}
    for dropout in (0.0, 0.4):
        settings = LanguageModelSettings(
            vector_size=100, max_depth=None, epochs=4, ngrams=False, dropout=dropout
        )
        model = LogBilinearLM(words, settings)
        train_language_model(model, learnt, progress=False)
        found[dropout] = model.perplexities(test)["perplexity"]
    assert 50 <= found[0.4] < 0.9 * found[0.0]  # no word says which one follows


@pytest.mark.parametrize(
    ("told", "dropped"),
    [({}, 0.4), ({"vector_size": 50}, 0.2), ({"vector_size": 50, "dropout": 0.3}, 0.3)],
)
def test_small_vectors_are_dropped_less_of(told: dict, dropped: float) -> None:
    assert LanguageModelSettings(**told).dropped == pytest.approx(dropped)


@pytest.mark.parametrize("tree", ["clusters", "huffman", "random", "learned", "flat"])
def test_words_begin_as_likely_as_they_are_frequent(tree: str) -> None:
    sentences = [["a", "b", "a", "c", "d"], ["a", "e", "c", "f", "g"], ["h", "a", "b", "i"]] * 7
    words = Words.from_sentences([*sentences, ["rare"]], min_count=2)
    settings = LanguageModelSettings(tree=tree, vector_size=4, arity=3, max_depth=None)
    model = LogBilinearLM(words, settings, words.encode(sentences)).eval()
    found = model.log_prob(torch.tensor([[0, 1, 2, 3], [4, 4, 4, 4]])).exp()
    expected = torch.from_numpy(words.counts / words.counts.sum()).float()
    torch.testing.assert_close(found, expected.expand_as(found))
