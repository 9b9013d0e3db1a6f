"""Things that are counted in trees, before the counts are turned into features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.trees.forest import Forest, Preorder
from structnet.trees.number_tokens import FIRST
from structnet.trees.vocabulary import NONE


def words_of(tokens: np.ndarray, size: int) -> np.ndarray:
    """The tokens, where ``size - 1``, the last one, replaces all numbers. ``[n] -> [n]``."""
    return np.where(tokens >= FIRST, size - 1, tokens)


class Counted(NamedTuple):
    """Occurrences in trees of things that are counted, with their places.

    Attributes:
        entry: entry of the node in the preorder.
        word: for an occurrence in a text, its word's place among all words in preorder; else -1.
        code: column of the count or, before columns are assigned, a number for what occurs.

    Shapes:
        ``[m]`` each.
    """

    entry: np.ndarray
    word: np.ndarray
    code: np.ndarray

    def among(self, known: Tensor) -> Counted:
        """The occurrences with a known code, which is replaced by its place among the known."""
        codes = known.cpu().numpy()
        place = np.searchsorted(codes, self.code)
        there = place < len(codes)
        there[there] = codes[place[there]] == self.code[there]
        return Counted(self.entry[there], self.word[there], place[there])


def numbers_met(forest: Forest, order: Preorder) -> Counted:
    """The occurrences of numbers in all trees, with their tokens as codes. ``[m]``."""
    tokens = forest.tokens[order.nodes]
    entry = np.flatnonzero(tokens >= FIRST)
    return Counted(entry, np.full(len(entry), NONE), tokens[entry])


def of_two_trees(order: Preorder, met: Counted) -> Tensor:
    """The codes that at least two trees have, ascending. ``[codes]``."""
    both = np.unique(np.stack((met.code, order.trees[met.entry])), axis=1)[0]
    code, count = np.unique(both, return_counts=True)
    return torch.from_numpy(code[count >= 2])
