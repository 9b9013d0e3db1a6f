"""Mixes a model of the next word with counts of n-grams, in the shares that fit a text best."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from structnet.text.ngrams import NGrams

STEPS = 50  # steps of expectation maximisation, which has almost converged after ten
DOUBT = 1.0  # pseudo-count: words that each part is taken to have predicted beforehand


class NGramMixture(nn.Module):
    """Mixes the probabilities of a model and of :class:`.NGrams` by how much of the past is known.

    ``p(w | h) = a_k p_model(w | h) + (1 - a_k) p_counted(w | h)``, where k is the length of the
    longest known history in the past h.

    Args:
        ngrams: counts of n-grams.

    Shapes:
        shares: ``[size + 1]``, a_k; contexts ``[n, size or more]``, the nearest word first.

    Reference:
        Jelinek and Mercer, Interpolated estimation of Markov source parameters from sparse data,
        1980.

    Example:
        >>> mixture = NGramMixture(NGrams(3, size=1))  # without counts
        >>> log_p = torch.tensor([[0.5, 0.25, 0.25]]).log()
        >>> mixture(torch.tensor([[2]]), log_p).exp()
        tensor([[0.4167, 0.2917, 0.2917]])
    """

    shares: Tensor

    def __init__(self, ngrams: NGrams):
        super().__init__()
        self.ngrams = ngrams
        self.register_buffer("shares", torch.full_like(ngrams.discounts, 0.5))

    def forward(self, contexts: Tensor, model_log_p: Tensor) -> Tensor:
        """The log-probabilities of all words, from the model's. ``[n, words] -> [n, words]``."""
        past = self._past(contexts)
        return self._mixed(past, model_log_p.T, self.ngrams(past).T).T

    def log_prob_of(self, contexts: Tensor, words: Tensor, model_log_p: Tensor) -> Tensor:
        """The log-probabilities of single words, from the model's. ``[n] -> [n]``."""
        past = self._past(contexts)
        return self._mixed(past, model_log_p, self.ngrams.log_prob_of(past, words))

    def count(self, contexts: Tensor, words: Tensor) -> None:
        """Counts the n-grams of a text; the shares stay. ``[tokens, size or more], [tokens]``."""
        self.ngrams.count(self._past(contexts), words)

    def fit(self, contexts: Tensor, words: Tensor, model_log_p: Tensor) -> None:
        """Fits the shares to words that neither part has learned from, by expectation maximisation.

        Args:
            contexts: words before each word.
            words: the words.
            model_log_p: log-probabilities of the words by the model.

        Shapes:
            words, model_log_p ``[n]``.
        """
        past = self._past(contexts)
        known, counted = self.ngrams.known_words(past), self.ngrams.log_prob_of(past, words)
        number = torch.bincount(known, minlength=len(self.shares)) + 2 * DOUBT
        for _ in range(STEPS):
            log_odds = self.shares.logit()[known] + model_log_p - counted
            by_model = torch.bincount(known, log_odds.sigmoid(), len(self.shares)) + DOUBT
            self.shares.copy_(by_model / number)

    def _mixed(self, past: Tensor, model_log_p: Tensor, counted: Tensor) -> Tensor:
        share = self.shares[self.ngrams.known_words(past)]
        return torch.logaddexp(model_log_p + share.log(), counted + (1 - share).log())

    def _past(self, contexts: Tensor) -> Tensor:
        return contexts[:, : len(self.shares) - 1]
