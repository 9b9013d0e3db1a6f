"""Counts of words behind words: against the definition, word by word."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from structnet.text import Encoded, NGrams
from structnet.text.ngrams import contexts_of, given_known, perplexity

WORDS = 5  # the number itself is the boundary
Token = tuple[tuple[int, ...], int]  # all words before in the sentence, the boundary first; a word


def sentences(seed: int, number: int = 12) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [(rng.integers(0, WORDS - 1, n) ** 2 // 3).tolist() for n in rng.integers(1, 9, number)]


def encoded(texts: list[list[int]]) -> Encoded:
    offsets = np.append(0, np.cumsum([len(text) for text in texts]))
    return Encoded(np.concatenate(texts), offsets)


def tokens(texts: list[list[int]]) -> list[Token]:
    return [((WORDS, *text[:i]), word) for text in texts for i, word in enumerate(text)]


def last(words: tuple[int, ...], k: int) -> tuple[int, ...]:
    return words[len(words) - k :]


class Definition:
    """Interpolated Kneser-Ney as its docstring has it, by going through the text each time."""

    def __init__(self, texts: list[list[int]], size: int):
        self.tokens, self.size = tokens(texts), size

    def count(self, history: tuple[int, ...], word: int) -> int:
        k = len(history)
        here = [h for h, w in self.tokens if w == word and k <= len(h) and last(h, k) == history]
        if k == self.size or WORDS in history:
            return len(here)
        return len({last(h, k + 1) for h in here})

    def discount(self, k: int) -> float:
        met = {(last(h, k), w) for h, w in self.tokens if k <= len(h)}
        counts = [self.count(*each) for each in met]
        once, twice = counts.count(1), counts.count(2)
        return (once + 0.5) / (once + 2 * twice + 1)

    def probability(self, history: tuple[int, ...], word: int) -> float:
        k = len(history)
        shorter = self.probability(history[1:], word) if k else 1 / WORDS
        counts = [self.count(history, w) for w in range(WORDS)]
        if not sum(counts):
            return shorter
        d = self.discount(k)
        different = sum(count > 0 for count in counts)
        return (max(counts[word] - d, 0) + d * different * shorter) / sum(counts)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_words_are_counted_by_the_definition(size: int) -> None:
    learnt, others = sentences(0), [*sentences(1, 4), [4, 4, 4, 4]]
    ngrams = counted(learnt, size)
    contexts = torch.from_numpy(contexts_of(encoded(others), WORDS, size))
    found = ngrams(contexts).exp()
    reference = Definition(learnt, size)
    for row, (history, _) in zip(found, tokens(others), strict=True):
        past = last(history, min(size, len(history)))
        expected = [reference.probability(past, word) for word in range(WORDS)]
        np.testing.assert_allclose(row, expected, rtol=1e-5)
    torch.testing.assert_close(found.sum(1), torch.ones(len(found)))
    words = torch.from_numpy(encoded(others).ids)
    single = ngrams.log_prob_of(contexts, words).exp()
    torch.testing.assert_close(single, found.gather(1, words[:, None])[:, 0])
    mean = single.double().log().mean().item()
    assert perplexity(ngrams.log_prob_of(contexts, words)) == pytest.approx(math.exp(-mean))


def counted(texts: list[list[int]], size: int) -> NGrams:
    text, ngrams = encoded(texts), NGrams(WORDS, size)
    ngrams.count(torch.from_numpy(contexts_of(text, WORDS, size)), torch.from_numpy(text.ids))
    return ngrams


def test_how_much_of_a_past_is_known() -> None:
    ngrams = counted([[0, 1, 2], [3]], size=3)
    pasts = {(5, 5, 5): 1, (0, 5, 5): 2, (1, 0, 5): 3, (2, 1, 0): 0, (1, 3, 5): 1, (4, 5, 5): 0}
    assert ngrams.known_words(torch.tensor(list(pasts))).tolist() == list(pasts.values())


def test_nothing_counted_says_nothing() -> None:
    ngrams, pasts = NGrams(WORDS, 2), torch.tensor([[0, 1], [5, 5]])
    torch.testing.assert_close(ngrams(pasts).exp(), torch.full((2, WORDS), 1 / WORDS))
    assert ngrams.log_prob_of(pasts, torch.tensor([0, 1])).exp().tolist() == pytest.approx(
        [0.2] * 2
    )
    assert ngrams.known_words(pasts).tolist() == [0, 0]


def test_counts_go_through_a_state() -> None:
    ngrams, pasts = counted(sentences(2), size=2), torch.tensor([[0, 1], [5, 5], [1, 1]])
    again = NGrams(*ngrams.sizes)
    again.load_state_dict(ngrams.state_dict())
    assert torch.equal(again(pasts), ngrams(pasts))


def test_text_that_was_counted_goes_when_another_is() -> None:
    ngrams = counted(sentences(3), size=2)
    text = encoded(sentences(4))
    ngrams.count(torch.from_numpy(contexts_of(text, WORDS, 2)), torch.from_numpy(text.ids))
    assert ngrams.sizes == counted(sentences(4), size=2).sizes


def test_counts_lie_where_the_others_did() -> None:
    """A network on an accelerator asks them there."""
    ngrams, text = NGrams(WORDS, 2).to("meta"), encoded(sentences(5))
    ngrams.count(torch.from_numpy(contexts_of(text, WORDS, 2)), torch.from_numpy(text.ids))
    assert {each.device.type for each in ngrams.buffers()} == {"meta"}


def test_no_more_words_are_looked_at_than_pays() -> None:
    """Where words stand in no order, longer histories are only chance."""
    rng = np.random.default_rng(0)
    learnt, others = ([rng.integers(0, WORDS, 8).tolist() for _ in range(40)] for _ in range(2))
    ngrams, text = counted(learnt, size=3), encoded(others)
    contexts, words = torch.from_numpy(contexts_of(text, WORDS, 3)), torch.from_numpy(text.ids)
    ngrams.choose_longest(contexts, words)
    assert ngrams.longest == 0
    best = perplexity(ngrams.log_prob_of(contexts, words))
    for longest in range(4):
        ngrams.longest.fill_(longest)
        assert perplexity(ngrams.log_prob_of(contexts, words)) >= best
    assert ngrams.known_words(contexts).max() == 3


def test_the_perplexity_of_what_is_next_to_impossible_is_infinite() -> None:
    assert perplexity(torch.tensor([-2000.0])) == math.inf


def test_words_are_no_likelier_than_sure_where_nearly_all_are_unknown() -> None:
    found = given_known(torch.tensor([-20.0, -9.0, -1.0]), torch.tensor([-1e-9, 0.0, -2.0]))
    assert (found <= 0).all() and found.isfinite().all()
    assert found[2].item() == pytest.approx(-1 - math.log(1 - math.exp(-2)))
