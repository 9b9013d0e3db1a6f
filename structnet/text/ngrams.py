"""Probabilities of next words, by counting how often words follow sequences of other words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from structnet.text.words import Encoded
from structnet.trees.end_to_end import offsets_of

WORDS = 4  # words before the next one; a fifth adds little


def contexts_of(encoded: Encoded, boundary: int, size: int) -> np.ndarray:
    """The words before each word of a text, the nearest first; ``boundary`` before a sentence.

    Shapes:
        ``[tokens, size]``, int64.

    Example:
        >>> contexts_of(Encoded(np.array([4, 5, 6]), np.array([0, 2, 3])), boundary=9, size=2)
        array([[9, 9],
               [4, 9],
               [9, 9]])
    """
    starts, lengths = encoded.offsets[:-1], np.diff(encoded.offsets)
    place = np.arange(len(encoded.ids)) - np.repeat(starts, lengths)  # in its sentence
    padded = np.append(np.full(size, boundary), encoded.ids)
    at = np.arange(len(encoded.ids)) + size
    columns = [np.where(place >= k, padded[at - k], boundary) for k in range(1, size + 1)]
    return np.stack(columns, 1).astype(np.int64)


def ends_of(encoded: Encoded, boundary: int, size: int) -> np.ndarray:
    """The last words of each sentence, the nearest first; see :func:`contexts_of`.

    Shapes:
        ``[sentences, size]``, int64.

    Example:
        >>> ends_of(Encoded(np.array([4, 5, 6]), np.array([0, 2, 3])), boundary=9, size=2)
        array([[5, 4],
               [6, 9]])
    """
    offsets = encoded.offsets + np.arange(len(encoded.offsets))  # with one more word after each
    longer = Encoded(np.insert(encoded.ids, encoded.offsets[1:], 0), offsets)
    return contexts_of(longer, boundary, size)[offsets[1:] - 1]


def perplexity(log_prob: Tensor) -> float:
    """``exp`` of minus the mean log-probability of the words of a text. ``[n] -> []``.

    Example:
        >>> round(perplexity(torch.tensor([0.5, 0.125]).log()), 4)
        4.0
    """
    return (-log_prob.double().mean()).exp().item()  # infinity, where math.exp raises


def without_unknown(scores: Tensor, unknown: int | None) -> Tensor:
    """The scores of words, with -inf for the one that stands for unknown words.

    Shapes:
        ``[n, words] -> [n, words]``, -inf for the unknown word.

    Example:
        >>> without_unknown(torch.zeros(1, 3), unknown=1)
        tensor([[0., -inf, 0.]])
    """
    return (
        scores
        if unknown is None
        else scores.index_fill(1, scores.new_tensor([unknown], dtype=torch.int64), -torch.inf)
    )


def given_known(log_prob: Tensor, of_unknown: Tensor) -> Tensor:
    """The log-probabilities of known words, given that the next word is a known one; at most 0.

    Args:
        log_prob: log-probabilities of known words among all words.
        of_unknown: log-probabilities, in the same places, of the word that stands for unknown ones.

    Shapes:
        ``[n], [n] -> [n]``, float64.

    Example:
        >>> given_known(torch.tensor([0.25]).log(), torch.tensor([0.5]).log()).exp()
        tensor([0.5000], dtype=torch.float64)
    """
    known = (-of_unknown.double().exp()).log1p()  # -inf where rounding leaves nothing for them
    return torch.where(known.isinf(), log_prob.double(), log_prob.double() - known).clamp(max=0)


class NGrams(nn.Module):
    """The probability of each word after others, by counting.

    For a history h of the last k words, and h' of the last k - 1::

        p(w | h)  = (max(#(h w) - d_k, 0) + d_k n(h) p(w | h')) / #(h)
        p(w | no history at all) likewise from 1 / words

    where #(h w), for the longest histories and those that begin a sentence, is how often w follows
    h, and for all others how many different words precede h w; n(h) is the number of different
    words after h. Histories that were never seen are not used.
    ``d_k = (n_1 + 1/2) / (n_1 + 2 n_2 + 1)``, where n_i is how many of the #(h w) are i.

    Args:
        num_words: number of words; this number itself stands for the beginning of a sentence.
        size: largest number of words in a history.
        num_histories, num_events: numbers of histories and of words after them, to load a state
            with such counts; :meth:`count` finds them.

    Shapes:
        histories ``[num_histories - 1]``, ascending: number of the history without its first
        word, times ``num_words + 1``, plus that word; events ``[num_events]``, ascending: number
        of the history times ``num_words``, plus the word behind; sums ``[num_events + 1]``, of the
        counts of the events before; discounts ``[size + 1]``; longest: a number.
        input: ``[n, size]``, the nearest first -> ``[n, num_words]``.

    Reference:
        Kneser and Ney, Improved backing-off for m-gram language modelling, ICASSP 1995;
        interpolated, as in Chen and Goodman, An empirical study of smoothing techniques for
        language modeling, 1998.

    Example:
        >>> text = Encoded(np.array([0, 1, 0, 1, 1]), np.array([0, 5]))
        >>> ngrams = NGrams(2, size=2)
        >>> ngrams.count(torch.from_numpy(contexts_of(text, 2, 2)), torch.from_numpy(text.ids))
        >>> ngrams(torch.tensor([[0, 2], [1, 0]])).exp().round(decimals=2)
        tensor([[0.1300, 0.8700],
                [0.5000, 0.5000]])
    """

    histories: Tensor
    events: Tensor
    sums: Tensor
    discounts: Tensor
    longest: Tensor

    def __init__(
        self, num_words: int, size: int = WORDS, num_histories: int = 1, num_events: int = 0
    ):
        super().__init__()
        self.num_words = num_words
        self.register_buffer("histories", torch.zeros(num_histories - 1, dtype=torch.int64))
        self.register_buffer("events", torch.zeros(num_events, dtype=torch.int64))
        self.register_buffer("sums", torch.zeros(num_events + 1, dtype=torch.int64))
        self.register_buffer("discounts", torch.ones(size + 1))
        self.register_buffer("longest", torch.tensor(size))

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """The constructor's arguments for an object that can load these counts."""
        histories, events = len(self.histories) + 1, len(self.events)
        return self.num_words, len(self.discounts) - 1, histories, events

    def count(self, contexts: Tensor, words: Tensor) -> None:
        """Counts a text; earlier counts are replaced.

        Shapes:
            contexts ``[tokens, size]``, words ``[tokens]``.
        """
        device, behind = self.events.device, words.cpu().numpy().astype(np.int64)
        histories, rows = _numbered(contexts.cpu().numpy(), self.num_words)
        events, counts, discounts = _counted(rows, behind, self.num_words)
        self.histories = torch.from_numpy(histories).to(device)
        self.events = torch.from_numpy(events).to(device)
        self.sums = torch.from_numpy(offsets_of(counts)).to(device)
        self.discounts = torch.from_numpy(discounts).to(self.discounts)

    def choose_longest(self, contexts: Tensor, words: Tensor) -> None:
        """Sets the length of the longest histories to that which best predicts a held-out text.

        Shapes:
            contexts ``[n, size]``, words ``[n]``.
        """
        scores = []
        for k in range(len(self.discounts)):
            self.longest.fill_(k)
            scores.append(self.log_prob_of(contexts, words).double().mean().item())
        self.longest.fill_(int(np.argmax(scores)))

    def forward(self, contexts: Tensor) -> Tensor:
        p = self.discounts.new_full((len(contexts), self.num_words), 1 / self.num_words)
        for d, row, _, first, end in self._known(contexts):
            total, number = self.sums[end] - self.sums[first], end - first
            shorter = p[row] * (d * number / total)[:, None]
            within = torch.repeat_interleave(number)  # of each event, its place in row
            skipped = number.cumsum(0) - number
            event = (first - skipped)[within] + torch.arange(len(within), device=row.device)
            more = (self.sums[event + 1] - self.sums[event] - d).clamp(min=0) / total[within]
            p[row] = shorter.index_put(
                (within, self.events[event] % self.num_words), more, accumulate=True
            )
        return p.log()

    def log_prob_of(self, contexts: Tensor, words: Tensor) -> Tensor:
        """The log-probabilities of single words, where :meth:`forward` gives those of all words.

        Shapes:
            contexts ``[n, size or more]``, words ``[n]`` -> ``[n]``.
        """
        p = self.discounts.new_full((len(contexts),), 1 / self.num_words)
        for d, row, history, first, end in self._known(contexts):
            wanted = history * self.num_words + words[row]
            event = torch.searchsorted(self.events, wanted).clamp(max=len(self.events) - 1)
            count = (self.sums[event + 1] - self.sums[event]) * (self.events[event] == wanted)
            mass = (count - d).clamp(min=0) + d * (end - first) * p[row]
            p[row] = mass / (self.sums[end] - self.sums[first])
        return p.log()

    def known_words(self, contexts: Tensor) -> Tensor:
        """The length of the longest known history of each context. ``[n]``."""
        known = torch.full((len(contexts),), -1, device=contexts.device)
        for _, row, *_ in self._known(contexts):
            known[row] += 1
        return known.clamp(min=0)

    def _known(self, contexts: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """Of ever longer histories those that are known: the discount, rows of the contexts,
        numbers of the histories, first event of each, and the one behind its last."""
        row = torch.arange(len(contexts), device=contexts.device)
        history = torch.zeros_like(row)
        for k, d in enumerate(self.discounts[: int(self.longest) + 1]):
            if k:
                code = history * (self.num_words + 1) + contexts[row, k - 1]
                place = torch.searchsorted(self.histories, code)
                there = place < len(self.histories)
                there[there.clone()] = self.histories[place[there]] == code[there]
                row, history = row[there], place[there] + 1
            if not len(row) or not len(self.events):
                return
            bounds = torch.stack((history, history + 1)) * self.num_words
            yield d, row, history, *torch.searchsorted(self.events, bounds)


def _numbered(contexts: np.ndarray, num_words: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Numbers of all histories of some contexts, the shorter ones first: the empty one is 0.

    Returns:
        What each but the first is made of, see :class:`NGrams`, and of each length from 0 the
        history of each context, -1 where a sentence has no longer one.
    """
    rows, made, number = [np.zeros(len(contexts), np.int64)], [np.zeros(0, np.int64)], 1
    for k in range(contexts.shape[1]):
        there = rows[-1] >= 0
        if k:  # nothing stands before what stands before a sentence
            there &= contexts[:, k - 1] != num_words
        code = rows[-1][there] * (num_words + 1) + contexts[there, k]
        codes, place = np.unique(code, return_inverse=True)
        row = np.full(len(contexts), -1)
        row[there] = number + place
        rows.append(row)
        made.append(codes)
        number += len(codes)
    return np.concatenate(made), rows


def _counted(
    rows: list[np.ndarray], words: np.ndarray, num_words: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The events of all histories, their counts, and the discounts of each length."""
    events, counts, discounts = [], [], []
    longer = np.full(len(words), -1)
    last = np.zeros(0, np.int64)  # one token of each different event of a longer history
    for row in reversed(rows):
        ends = np.flatnonzero((row >= 0) & (longer < 0))  # there is no longer history here
        token = np.concatenate((ends, last))
        event, first, count = np.unique(
            row[token] * num_words + words[token], return_index=True, return_counts=True
        )
        once, twice = (count == 1).sum(), (count == 2).sum()
        events.append(event)
        counts.append(count)
        discounts.append((once + 0.5) / (once + 2 * twice + 1))
        longer, last = row, token[first]
    return np.concatenate(events[::-1]), np.concatenate(counts[::-1]), np.array(discounts[::-1])
