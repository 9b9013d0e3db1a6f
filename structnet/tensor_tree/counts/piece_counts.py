"""Counts of the pieces of words in a tree, by which a linear model reads words that are new to it.

Where the words of a tree are in none of the training trees, counts of words say nothing; that they
end in "ung" or begin with "lib" does, and so do capitals.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize
from torch import Tensor, nn

from structnet.tensor_tree.counts.counted import places_among
from structnet.trees.forest import Forest, Preorder
from structnet.trees.texts import Texts

LEAST = 2  # training trees that have a piece that is counted
MOST = 2**15  # pieces that are counted: those that most trees have


class PieceCounts(nn.Module):
    """How often each piece of a word occurs in a tree, as tf-idf: the whole row has length 1.

    A tree has many times more pieces than words, and most say the same as the word; in a row of
    their own length they do not drown what else is counted.

    Args:
        number: number of pieces that are counted; :meth:`knowing` finds which.

    Shapes:
        codes: ``[number]``, int64, ascending: see :func:`structnet.trees.spelling.pieces_of`.
        rarity: ``[number]``: ``1 + log(n / n_j)`` for a piece that n_j of n training trees have.
        output: ``[len(forest), number]``, a sparse matrix.

    Reference: Cavnar and Trenkle, "N-Gram-Based Text Categorization", 1994; Bojanowski et al.,
    "Enriching Word Vectors with Subword Information", TACL 2017.
    """

    codes: Tensor
    rarity: Tensor

    def __init__(self, number: int):
        super().__init__()
        self.register_buffer("codes", torch.zeros(number, dtype=torch.int64))
        self.register_buffer("rarity", torch.ones(number))

    @classmethod
    def knowing(cls, forest: Forest) -> PieceCounts:
        """Counts of the pieces that at least two trees have, in a forest that has the letters."""
        order, texts = forest.preorder(), forest.texts
        if texts is None or texts.spelling is None:
            return cls(0)
        _, code = texts.spelling.pieces
        every = cls(0)
        every.codes = torch.from_numpy(np.unique(code))
        met = every.counted(forest, order, texts) @ every.pieces_of_words(texts)
        trees = np.bincount(met.indices, minlength=met.shape[1])
        several = np.flatnonzero(trees >= LEAST)
        kept = np.sort(several[np.argsort(-trees[several], kind="stable")[:MOST]])
        found = cls(len(kept))
        found.codes.copy_(every.codes[torch.from_numpy(kept)])
        rarity = TfidfTransformer().fit(met[:, kept]).idf_
        found.rarity.copy_(torch.from_numpy(rarity))
        return found

    def forward(self, forest: Forest) -> csr_matrix:
        texts = forest.texts
        if texts is None or texts.spelling is None or not len(self.codes):
            return csr_matrix((len(forest), len(self.codes)))
        found = self.counted(forest, forest.preorder(), texts) @ self.pieces_of_words(texts)
        found.data = self.in_form(found.data, found.indices)
        return normalize(found, copy=False)

    def in_form(self, counts: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Counts of some columns as tf-idf, before rows are scaled. ``[n] -> [n]``."""
        return np.log1p(counts) * self.rarity.cpu().double().numpy()[columns]

    @staticmethod
    def counted(forest: Forest, order: Preorder, texts: Texts) -> csr_matrix:
        """How often each word of the spelling occurs in each tree, ``[len(forest), words]``."""
        assert texts.spelling is not None
        entry, word = texts.spelled_at(order.nodes)
        shape = (len(forest), len(texts.spelling.listed))
        return csr_matrix((np.ones(len(word)), (order.trees[entry], word)), shape)

    def pieces_of_words(self, texts: Texts) -> csr_matrix:
        """How often each piece occurs in each word of the spelling, ``[words, number]``."""
        assert texts.spelling is not None
        word, code = texts.spelling.pieces
        place, there = places_among(code, self.codes)
        ones, shape = np.ones(int(there.sum())), (len(texts.spelling.listed), len(self.codes))
        return csr_matrix((ones, (word[there], place[there])), shape)
