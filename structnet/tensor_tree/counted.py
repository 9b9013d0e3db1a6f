"""What is counted in trees, before anything is made of the counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.trees.forest import Forest, Preorder
from structnet.trees.number_tokens import FIRST
from structnet.trees.vocabulary import NONE


def words_of(tokens: np.ndarray, size: int) -> np.ndarray:
    """Tokens with one for all numbers, the last of so many. ``[n] -> [n]``."""
    return np.where(tokens >= FIRST, size - 1, tokens)


class Counted(NamedTuple):
    """What is counted in trees, by where it stands.

    Attributes:
        entry: entry of the node in the preorder.
        word: place among all words, in preorder, of what a text's word counts; else -1.
        code: column of the count or, before it is known whether there is one, what is met.

    Shapes:
        ``[m]`` each.
    """

    entry: np.ndarray
    word: np.ndarray
    code: np.ndarray

    def among(self, known: Tensor) -> Counted:
        """Those whose code is a known one, by its place among them."""
        codes = known.cpu().numpy()
        place = np.searchsorted(codes, self.code)
        there = place < len(codes)
        there[there] = codes[place[there]] == self.code[there]
        return Counted(self.entry[there], self.word[there], place[there])


def numbers_met(forest: Forest, order: Preorder) -> Counted:
    """All numbers in all trees, by their tokens. ``[m]``."""
    tokens = forest.tokens[order.nodes]
    entry = np.flatnonzero(tokens >= FIRST)
    return Counted(entry, np.full(len(entry), NONE), tokens[entry])


def of_two_trees(order: Preorder, met: Counted) -> Tensor:
    """The codes that at least two trees have, ascending. ``[codes]``."""
    both = np.unique(np.stack((met.code, order.trees[met.entry])), axis=1)[0]
    code, count = np.unique(both, return_counts=True)
    return torch.from_numpy(code[count >= 2])
