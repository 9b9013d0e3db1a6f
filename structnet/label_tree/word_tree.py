"""The tree of a language model as a model tree (see :mod:`structnet.routing.protocol`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.label_tree.language_model import LogBilinearLM
from structnet.label_tree.routed import Routed
from structnet.label_tree.softmax import TreeSoftmaxLoss
from structnet.routing.explanation import Explanation
from structnet.routing.words import percent
from structnet.text.ngrams import without_unknown


@dataclass(frozen=True, repr=False)
class NextWordExplanation(Explanation):
    """How the tree of words comes to a next word, and what it is together with the n-grams.

    Attributes:
        predicted: word that the language model predicts.
        confidence: its probability.
    """

    predicted: str = ""
    confidence: float = 0.0

    def __str__(self) -> str:
        said = f"class {self.predicted}, {percent(self.confidence, 1)}"
        return f"{super().__str__()}\nwith the counts of n-grams: {said}"

    __repr__ = __str__


class WordTree(Routed):
    """The tree of words by which a language model predicts, without its counts of n-grams.

    Its probabilities are those given that the next word is a known one, as the word that stands for
    unknown ones is never predicted: nothing comes to that word's leaf.

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
        self._to_unknown = self._path(model.words.unknown)

    def represent(self, x: Any) -> Tensor:
        """The representations of contexts. ``[n, context] -> [n, size]``."""
        return self.model.represent(torch.as_tensor(x))

    def predict_log_proba(self, x: Any) -> Tensor:
        """The log-probability of each word by the tree alone. ``[n, context] -> [n, words]``."""
        found = self.softmax.log_prob(self.represent(x))
        return without_unknown(found, self.model.words.unknown).log_softmax(1)

    def _branch(self, node: int, r: Tensor) -> np.ndarray | None:
        found = super()._branch(node, r)
        if found is None or node not in self._to_unknown:
            return found
        unknown = np.ones(len(r))  # probability of the unknown word below the place, ...
        below = self.topology.children_of(node)[self._to_unknown[node]]
        while below in self._to_unknown:
            place, branch = self._to_unknown[below], super()._branch(below, r)
            assert branch is not None  # since it is not a leaf
            unknown = unknown * branch[:, place]
            below = self.topology.children_of(below)[place]
        found[:, self._to_unknown[node]] *= 1 - unknown  # ... which leaves the rest to the others
        return found / found.sum(1, keepdims=True)

    def _path(self, word: int | None) -> dict[int, int]:
        """Of each node above a word's leaf, the place of the branch that leads to it."""
        if word is None:
            return {}
        numbering, topology = self.softmax.codes.numbering, self.topology
        node, found = int(np.flatnonzero(numbering.label == word)[0]), {}
        while (parent := topology.parent[node]) >= 0:
            found[int(parent)] = topology.children_of(parent).index(node)
            node = int(parent)
        return found

    def plane(self, node: int, branch: int = 0, other: int = 1) -> None:
        """None: no node is linear in the numbers of words."""
