"""The tree of a language model as a model tree (see :mod:`structnet.routing.protocol`)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.label_tree.language_model import LogBilinearLM
from structnet.label_tree.routed import Routed
from structnet.label_tree.softmax import TreeSoftmaxLoss
from structnet.text.ngrams import without_unknown


class WordTree(Routed):
    """The tree of words by which a language model predicts, without its counts of n-grams.

    Its probabilities are those of known words, given that the next word is one: the word that
    stands for all unknown ones is never predicted.

    Args:
        model: language model.

    Shapes:
        x ``[n, context]``, the numbers of the words before each place, the nearest first.

    Raises:
        ValueError: the model ends with a baseline instead of a tree.
    """

    embedding = None

    def __init__(self, model: LogBilinearLM):
        super().__init__()
        if not isinstance(model.head, TreeSoftmaxLoss):
            raise ValueError(
                f"a language model with tree={model.settings.tree!r} has no tree; expected one "
                "whose head is a tree of words"
            )
        self.model, self.softmax = model, model.head
        self.shape = (model.settings.context,)

    def represent(self, x: Any) -> Tensor:
        """The representations of contexts. ``[n, context] -> [n, size]``."""
        return self.model.represent(torch.as_tensor(x))

    def predict_log_proba(self, x: Any) -> Tensor:
        """The log-probability of each word by the tree alone. ``[n, context] -> [n, words]``."""
        log_p = self.softmax.log_prob(self.represent(x))
        return without_unknown(log_p, self.model.words.unknown).log_softmax(1)

    def _branch(self, node: int, r: Tensor) -> np.ndarray | None:
        """The probabilities of a node's children, ``[n, children]``; None at a leaf."""
        p, topology = super()._branch(node, r), self.topology
        if p is None or self.model.words.unknown is None:
            return p
        [leaf] = np.flatnonzero(self.softmax.codes.numbering.label == self.model.words.unknown)
        above = list(topology.path(int(leaf)))
        if node not in above:
            return p
        # What a child on the way to the unknown word loses is that word's share of it.
        unknown = np.ones(len(p))
        on = above.index(node) + 1
        for v, below in pairwise(above[on:]):
            branch = super()._branch(v, r)
            assert branch is not None  # since it is not a leaf
            unknown *= branch[:, topology.children_of(v).index(below)]
        p[:, topology.children_of(node).index(above[on])] *= 1 - unknown
        return p / p.sum(1, keepdims=True)

    def class_plane(self, label: int) -> None:
        """None, as for :meth:`plane`."""

    def plane(self, node: int, branch: int = 0, other: int = 1) -> None:
        """None: no node is linear in the numbers of words."""
