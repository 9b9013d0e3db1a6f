"""How often each word follows each other one: what is known of the next word beforehand."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from structnet.naru.sentences import Sentences


class FollowingWords(nn.Module):
    """The probability of each word behind another, by counting.

    ``p(w | v) = (#(v, w) - d + d n(v) p(w)) / #(v)``, for n(v) different words behind v, and p(w)
    the share of w in the text: d is taken off the count of each word that has followed, where there
    is one, and given to all. Behind a word that nothing has followed, it is p(w).

    Args:
        log_prior: logarithms of the words' probabilities, in any unit.
        num_pairs: different pairs of words that follow each other; :meth:`count` finds them.

    Shapes:
        log_prior ``[words]``; starts ``[words + 1]``, next and counts ``[num_pairs]``: a row of
        each word, as a sparse matrix has them.
        output: words ``[n]`` -> log-probabilities ``[n, words]``.

    Reference: Ney, Essen and Kneser, "On structuring probabilistic dependences in stochastic
    language modelling", Computer Speech and Language 8, 1994 (absolute discounting, interpolated).

    Example:
        >>> from structnet.text import Encoded
        >>> following = FollowingWords(torch.zeros(2))
        >>> following.count(Sentences(Encoded([0, 1, 0, 1, 1], [0, 5])))
        >>> following(torch.tensor([0])).exp()  # d is 1/2: 1/2 * 1/2 / 2 and (2 - 1/2 + 1/4) / 2
        tensor([[0.1250, 0.8750]])
    """

    share: Tensor
    starts: Tensor
    next: Tensor
    counts: Tensor
    discount: Tensor

    def __init__(self, log_prior: Tensor, num_pairs: int = 0):
        super().__init__()
        there = log_prior.device
        nothing = torch.zeros(num_pairs, dtype=torch.int64, device=there)
        starts = torch.zeros(len(log_prior) + 1, dtype=torch.int64, device=there)
        self.register_buffer("share", log_prior.softmax(0))
        self.register_buffer("starts", starts)
        self.register_buffer("next", nothing)
        self.register_buffer("counts", nothing.clone())
        self.register_buffer("discount", torch.tensor(0.5, device=there))

    def count(self, sentences: Sentences) -> None:
        """Takes the pairs of a text in place of those that were there."""
        behind = np.delete(np.arange(len(sentences.ids)), sentences.offsets[:-1])
        pairs = sentences.ids[behind - 1], sentences.ids[behind]
        found = csr_matrix((np.ones(len(behind), np.int64), pairs), (len(self.share),) * 2)
        found.sum_duplicates()
        for name, values in zip(
            ("starts", "next", "counts"), (found.indptr, found.indices, found.data), strict=True
        ):
            setattr(self, name, torch.from_numpy(values.astype(np.int64)).to(self.starts.device))

    def forward(self, words: Tensor) -> Tensor:
        first, sizes = self.starts[words], self.starts[words + 1] - self.starts[words]
        row = torch.arange(len(words), device=words.device).repeat_interleave(sizes)
        within = torch.arange(len(row), device=words.device) - (sizes.cumsum(0) - sizes)[row]
        place = first[row] + within
        counts = self.counts[place].to(self.share)
        rest = torch.where(sizes > 0, self.discount * sizes, 1).to(self.share)
        found = rest[:, None] * self.share
        found[row, self.next[place]] += counts - self.discount
        return (found / found.sum(1, keepdim=True)).log()
