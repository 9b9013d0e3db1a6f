"""A network with word vectors, which predicts the next word."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, pad

from structnet.checks import check_number, check_one_of, wrong
from structnet.naru.balance import imbalance
from structnet.naru.network import Routed, RoutedNetwork
from structnet.naru.recurrent import RecurrentNetwork
from structnet.naru.sentences import Sentences
from structnet.naru.settings import LOSSES
from structnet.naru.statistics import RoutingStats
from structnet.text import NGramMixture, NGrams
from structnet.text.ngrams import WORDS, given_known, without_unknown
from structnet.training.gains import is_better

BATCH = 256  # sentences processed at once
DROPPED = 0.5  # share of a predicted vector that is hidden from the layer over the words
AT_ONCE = 2**24  # scores of words computed at once
CALIBRATED = 2**22  # scores of words from which the variance is chosen
VARIANCES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # finite: nearness always counts
SURE = 2.0  # standard errors that a gain must exceed, or it may be chance


class Judged(NamedTuple):
    """Whether each word is the likeliest one, and its log-probabilities.

    Attributes:
        right: True where the word is the likeliest one.
        mixed: log-probabilities of known words, given that they are known; -inf for the unknown
            word.
        network, ngrams: the same by each part of the mixture alone, where the word is known; None
            without counts.

    Shapes:
        each ``[n]``.
    """

    right: Tensor
    mixed: Tensor
    network: Tensor | None = None
    ngrams: Tensor | None = None


class NextWord(nn.Module):
    """Predicts each next word of a sentence, by its vector or by its probability.

    The loss is the mean over the sentences of the mean over their predictions, with the mean
    squared difference between the predicted and the next word's vector, or with the cross-entropy
    of the next word. A predicted vector y is read as drawn from a mixture of normal distributions
    around the words' vectors e, ``p(w) ~ prior(w) exp(-|y - e_w|^2 / (2 variance))``, where the
    prior is how likely w follows the last words by :meth:`count`; without counts it is the same for
    all words, and the nearest is the likeliest. :meth:`calibrate` finds the variance, as a mean of
    vectors says less about a word than its distance suggests.

    A probability is computed from the predicted vector plus, if the network is routed, a linear
    function of the vectors of the last two words. Without it, in a network with the connections of
    the thesis, the last bundle cannot tell the state that the last word left in its path from those
    that earlier words left in other bundles; and as a loop through its capsules takes an even
    number of steps, the word before the last one reaches a prediction only through gates. While
    probabilities are learned, half of the numbers that they are computed from are dropped, without
    which small texts are soon known by heart and most of their words take one path. They are mixed
    with those of the counts, by :class:`structnet.text.NGramMixture`.

    Args:
        network: network whose first and last states are as long as a word vector; or the baseline,
            :class:`.RecurrentNetwork`.
        vectors: word vectors; they are not trained.
        loss: "squared_error" or "log_loss".
        unknown: number of the word that stands for all unknown ones, which is never predicted; None
            if there is none.
        balance: weight of :func:`.imbalance` in the loss; no effect on the baseline.

    Shapes:
        vectors ``[words, dim]``. Batches are :class:`.Sentences`.

    Raises:
        ValueError: the vectors do not fit the network or are not finite, or another argument is out
            of its range.

    Example:
        >>> from structnet.naru import Wiring
        >>> from structnet.text import Encoded
        >>> network = RoutedNetwork(Wiring(sizes=(1, 2, 1), dims=(3, 4, 3)))
        >>> model = NextWord(network, torch.eye(3))
        >>> batch = Sentences(Encoded([0, 1, 2, 0, 1], [0, 3, 5]))
        >>> model.predict(batch).shape, model.loss(batch).shape
        (torch.Size([2]), torch.Size([]))
    """

    vectors: Tensor
    variance: Tensor
    direct: nn.Linear | None

    def __init__(
        self,
        network: RoutedNetwork | RecurrentNetwork,
        vectors: Tensor,
        loss: str = "squared_error",
        unknown: int | None = None,
        balance: float = 0.0,
    ):
        super().__init__()
        check_one_of("loss", loss, LOSSES, owner="NextWord")
        check_number("balance", balance, 0, owner="NextWord")
        self.network = network
        self.unknown, self.balance = unknown, balance
        vectors = torch.as_tensor(vectors, dtype=next(network.parameters()).dtype)
        _check_vectors(vectors, network.dims)
        self.register_buffer("vectors", vectors)
        # Variance of the predicted vector around the word's, for probabilities.
        self.register_buffer("variance", torch.ones((), dtype=vectors.dtype))
        over_words = loss == "log_loss"
        dim = vectors.shape[1]
        self.head = nn.Linear(dim, len(vectors)) if over_words else None
        direct = over_words and isinstance(network, RoutedNetwork)
        self.direct = nn.Linear(2 * dim, dim, bias=False) if direct else None
        self.counted: NGramMixture | None = None

    @property
    def following(self) -> NGrams | None:
        """The n-grams that are mixed in; None without any."""
        return None if self.counted is None else self.counted.ngrams

    @property
    def uses_network(self) -> bool:
        """False if n-grams predict alone, as the network did not improve on them."""
        if self.head is None:
            return not bool(self.variance.isinf())
        return self.counted is None or bool(self.counted.shares.any())

    def route(self, batch: Sentences, extra: int = 0) -> Routed:
        """Runs the network on sentences.

        Args:
            batch: sentences.
            extra: number of meaningless tokens to append to each sentence; with one, the word after
                the last is predicted as well, as the last token itself has no influence.

        Shapes:
            see :class:`.Routed`; predictions ``[sentences, tokens - 1 + extra, dim]``.
        """
        ids, lengths = batch.padded(extra)
        x = self.vectors[ids]
        routed = self.network.route(x, lengths + extra)
        if self.direct is None:
            return routed
        before = pad(x, (0, 0, 1, 0))  # nothing precedes the first word
        read = self.direct(torch.cat([x[:, :-1], before[:, :-2]], 2))
        ends = torch.arange(read.shape[1], device=x.device) >= (lengths + extra - 1)[:, None]
        read = read.masked_fill(ends[..., None], 0)
        return routed._replace(predictions=routed.predictions + read)

    def loss(self, batch: Sentences) -> Tensor:
        """The mean loss of sentences, see the class, without those of one word. ``[]``"""
        routed, (ids, lengths) = self.route(batch), batch.padded()
        there = torch.arange(ids.shape[1] - 1, device=ids.device) < (lengths - 1)[:, None]
        y, word = routed.predictions[there], ids[:, 1:][there]
        if self.head is not None:
            y = dropout(y, DROPPED, self.training)
            errors = cross_entropy(self.head(y), word, reduction="none")
        else:
            errors = (y - self.vectors[word]).square().mean(1)
        counted = lengths > 1
        share = (1 / (lengths - 1).clamp(min=1))[:, None].expand_as(there)[there]
        loss = (errors * share).sum() / counted.sum().clamp(min=1)
        if self.balance and isinstance(self.network, RoutedNetwork):
            loss = loss + self.balance * imbalance(self.network, routed)
        return loss

    def count(self, sentences: Sentences) -> None:
        """Counts which known words follow which in some sentences, replacing all earlier counts."""
        if self.counted is None:
            self.counted = NGramMixture(NGrams(len(self.vectors))).to(self.vectors.device)
        pasts, ids = sentences.pasts(len(self.vectors), WORDS), torch.from_numpy(sentences.ids)
        known = self._known(ids)
        self.counted.count(pasts[known.to(pasts.device)], ids[known])

    def scores(self, y: Tensor, past: Tensor) -> Tensor:
        """The logarithm of each word's probability, up to a constant.

        For predicted vectors, it is the squared distance of each word over twice the variance,
        negated, plus, if following words are counted (``following``), the log-probability that
        these give it after the past; else all words are as likely beforehand. A predicted
        probability is mixed with that of the counts.

        Shapes:
            y ``[n, dim]``, past ``[n, WORDS]``, see :meth:`.Sentences.pasts` -> ``[n, words]``.
        """
        if self.head is None:
            scores = self._nearness(y) / self.variance + self._log_prior(past)
        else:
            scores = without_unknown(self.head(y), self.unknown).log_softmax(1)
            if self.counted is not None:
                scores = self.counted(past, scores)
        return without_unknown(scores, self.unknown)

    def _known(self, words: Tensor) -> Tensor:
        """Which words are known; the unknown one is never predicted. ``[n]`` bool"""
        return words != (-1 if self.unknown is None else self.unknown)

    def _nearness(self, y: Tensor) -> Tensor:
        """Minus half the squared distance to each word's vector, up to the constant |y|^2 / 2."""
        return y @ self.vectors.T - self.vectors.square().sum(1) / 2

    def _log_prior(self, past: Tensor) -> Tensor:
        equal = self.vectors.new_zeros(1, len(self.vectors)).expand(len(past), -1)
        return equal if self.following is None else self.following(past)

    @torch.no_grad()
    def calibrate(self, sentences: Sentences) -> None:
        """Chooses the number of words that :class:`.NGrams` look at, and the network's weight.

        Those are chosen that make the known words of the sentences likeliest: first the number of
        words, as if there were no network, then the variance, or the shares of the mixture. Of a
        long text only the beginning is used for a variance. If words are counted and the network
        adds no significant gain to the counts, it is ignored.

        Args:
            sentences: sentences from which the model has not learned.
        """
        if self.head is not None:
            self._mix(sentences)
            return
        most, parts, count = max(CALIBRATED // len(self.vectors), 1), [], 0
        for start in range(0, len(sentences), 64):
            parts.append(self._predicted(sentences[start : start + 64]))
            count += len(parts[-1][0])
            if count >= most:
                break
        y, past, word = (torch.cat(part)[:most] for part in zip(*parts, strict=True))
        known = self._known(word)
        y, past, word = y[known], past[known], word[known]
        if not len(word):  # nothing speaks for the network
            self.variance.fill_(1.0 if self.following is None else torch.inf)
            return

        def losses(scores: Tensor) -> Tensor:
            scores = without_unknown(scores, self.unknown)
            return cross_entropy(scores, word, reduction="none").double().cpu()

        if self.following is not None:
            self.following.choose_longest(past, word)
        prior, near = self._log_prior(past), self._nearness(y)
        losses_at = {variance: losses(near / variance + prior) for variance in VARIANCES}
        best = min(losses_at, key=lambda variance: losses_at[variance].mean().item())
        if self.following is not None:
            sure = is_better(losses(prior).numpy(), losses_at[best].numpy(), SURE)
            best = best if sure else torch.inf
        self.variance.fill_(best)

    def _mix(self, sentences: Sentences) -> None:
        """Finds the shares of the network and of the counts, if there are any."""
        if self.counted is None or self.head is None:
            return
        size, parts = max(AT_ONCE // len(self.vectors), 1), []
        for start in range(0, len(sentences), 64):
            predicted = self._predicted(sentences[start : start + 64])
            for y, past, word in zip(*(part.split(size) for part in predicted), strict=True):
                known = self._known(word)
                log_prob = without_unknown(self.head(y[known]), self.unknown).log_softmax(1)
                parts.append((past[known], word[known], _of_words(log_prob, word[known])))
        past, word, log_p = map(torch.cat, zip(*parts, strict=True))
        if not len(word):  # nothing speaks for the network
            self.counted.shares.zero_()
            return
        self.counted.shares.fill_(0.5)  # from where it converges in few steps
        self.counted.ngrams.choose_longest(past, word)
        alone = self.counted.ngrams.log_prob_of(past, word)
        self.counted.fit(past, word, log_p)
        both = self.counted.log_prob_of(past, word, log_p)
        losses = [-each.double().cpu().numpy() for each in (alone, both)]
        if not is_better(losses[0], losses[1], SURE):
            self.counted.shares.zero_()

    def _predicted(self, batch: Sentences) -> tuple[Tensor, Tensor, Tensor]:
        """For all words of sentences but the first: the prediction, the past, and the word."""
        ids, lengths = batch.padded()
        there = torch.arange(ids.shape[1] - 1, device=ids.device) < (lengths - 1)[:, None]
        later = np.delete(np.arange(len(batch.ids)), batch.offsets[:-1])
        past = batch.pasts(len(self.vectors), WORDS)[torch.from_numpy(later).to(ids.device)]
        return self.route(batch).predictions[there], past, ids[:, 1:][there]

    def predict_log_proba(self, batch: Sentences) -> Tensor:
        """The log-probability that each word follows the last one. ``-> [sentences, words]``"""
        with torch.no_grad():
            predictions = self.route(batch, extra=1).predictions
            last = torch.from_numpy(batch.lengths - 1).to(predictions.device)
            rows = torch.arange(len(batch), device=predictions.device)
            past = batch.ends(len(self.vectors), WORDS)
            return self.scores(predictions[rows, last], past).log_softmax(1)

    def predict_proba(self, batch: Sentences) -> Tensor:
        """The probability that each word follows the last one. ``-> [sentences, words]``"""
        return self.predict_log_proba(batch).exp()

    def predict(self, batch: Sentences) -> Tensor:
        """The likeliest word after the last one. ``-> [sentences]``"""
        return self.predict_log_proba(batch).argmax(1)

    def judged(self, batch: Sentences) -> Judged:
        """How each word of sentences but the first is predicted, see :class:`Judged`."""
        size, of_passes = max(AT_ONCE // len(self.vectors), 1), []  # bounds the memory
        with torch.no_grad():
            parts = zip(*(part.split(size) for part in self._predicted(batch)), strict=True)
            for y, past, word in parts:
                log_prob = self.scores(y, past).log_softmax(1)
                right = log_prob.argmax(1) == word
                of_passes.append([right, _of_words(log_prob, word), *self._alone(y, past, word)])
        return Judged(*map(torch.cat, zip(*of_passes, strict=True)))

    def _alone(self, y: Tensor, past: Tensor, word: Tensor) -> list[Tensor]:
        """The log-probabilities of words by the network and by the counts; none without either."""
        if self.head is None or self.counted is None:
            return []
        log_p = without_unknown(self.head(y), self.unknown).log_softmax(1)
        ngrams = self.counted.ngrams
        counts = ngrams.log_prob_of(past, word)
        if self.unknown is not None:
            missed = ngrams.log_prob_of(past, torch.full_like(word, self.unknown))
            counts = given_known(counts, missed)
        return [_of_words(log_p, word), counts]

    def statistics(self, sentences: Sentences) -> RoutingStats:
        """Statistics of the bundles that sentences visit."""
        assert isinstance(self.network, RoutedNetwork)
        stats = RoutingStats(self.network.wiring.sizes)
        with torch.no_grad():
            for start in range(0, len(sentences), BATCH):
                routed = self.route(sentences[start : start + BATCH])
                stats.add(routed.record, routed.gates)
        return stats


def _of_words(log_prob: Tensor, words: Tensor) -> Tensor:
    """The log-probability of one word in each row. ``[n, words], [n] -> [n]``."""
    return log_prob.gather(1, words[:, None])[:, 0]


def _check_vectors(vectors: Tensor, dims: tuple[int, ...]) -> None:
    if vectors.dim() != 2 or len(vectors) == 0:
        raise wrong("vectors", "[words, dim], one word or more", list(vectors.shape), "NextWord")
    if not dims[0] == dims[-1] == vectors.shape[1]:
        raise ValueError(
            f"the vectors have {vectors.shape[1]} numbers per word; expected as many as the first "
            f"and the last capsule, which have {dims[0]} and {dims[-1]}"
        )
    if not vectors.isfinite().all():
        word = int((~vectors.isfinite()).any(1).nonzero()[0])
        raise ValueError(f"the vector of word {word} is not finite; expected finite numbers")
