"""A model of the next word and counts of words behind words, mixed as a text says it best."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from structnet.text import NGrams

STEPS = 50  # of the shares, which have all but settled after ten
DOUBT = 1.0  # words that each part is taken to have said beforehand


class NGramMixture(nn.Module):
    """Probabilities of a model and of :class:`.NGrams`, weighed by how much of the past is known.

    ``p(w | h) = a_k p_model(w | h) + (1 - a_k) p_counted(w | h)``, for k known words of the past h.

    Args:
        ngrams: counts of words behind words.

    Shapes:
        shares: ``[size + 1]``, a_k; contexts ``[n, size or more]``, the nearest first.

    Reference:
        Jelinek and Mercer, Interpolated estimation of Markov source parameters from sparse data,
        1980.

    Example:
        >>> mixture = NGramMixture(NGrams(3, size=1))  # nothing is counted
        >>> said = torch.tensor([[0.5, 0.25, 0.25]]).log()
        >>> mixture(torch.tensor([[2]]), said).exp()
        tensor([[0.4167, 0.2917, 0.2917]])
    """

    shares: Tensor

    def __init__(self, ngrams: NGrams):
        super().__init__()
        self.ngrams = ngrams
        self.register_buffer("shares", torch.full_like(ngrams.discounts, 0.5))

    def forward(self, contexts: Tensor, said: Tensor) -> Tensor:
        """The log-probabilities of all words, of the model's. ``[n, words] -> [n, words]``"""
        past = self._past(contexts)
        return self._mixed(past, said.T, self.ngrams(past).T).T

    def log_prob_of(self, contexts: Tensor, words: Tensor, said: Tensor) -> Tensor:
        """The log-probabilities of single words, of the model's. ``[n] -> [n]``"""
        past = self._past(contexts)
        return self._mixed(past, said, self.ngrams.log_prob_of(past, words))

    def fit(self, contexts: Tensor, words: Tensor, said: Tensor) -> None:
        """Sets the shares that make words likeliest, from which nothing was learnt.

        By expectation and maximisation, which only ever make them likelier.

        Shapes:
            words ``[n]``; said ``[n]``, the model's log-probabilities of them.
        """
        past = self._past(contexts)
        known, counted = self.ngrams.known_words(past), self.ngrams.log_prob_of(past, words)
        number = torch.bincount(known, minlength=len(self.shares)) + 2 * DOUBT
        for _ in range(STEPS):
            log_odds = self.shares.logit()[known] + said - counted
            by_model = torch.bincount(known, log_odds.sigmoid(), len(self.shares)) + DOUBT
            self.shares.copy_(by_model / number)

    def _mixed(self, past: Tensor, said: Tensor, counted: Tensor) -> Tensor:
        share = self.shares[self.ngrams.known_words(past)]
        return torch.logaddexp(said + share.log(), counted + (1 - share).log())

    def _past(self, contexts: Tensor) -> Tensor:
        return contexts[:, : len(self.shares) - 1]
