"""How often nodes with a label have each class, mixed with a Tree-LSTM that classifies nodes.

For a word in few trees, for example, counts know the tag before a network has learned it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.tensor_tree.counts.counted import label_sizes, words_of
from structnet.tensor_tree.targets import Question
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import Vocabulary
from structnet.trees.ways_down import Entries


class LabelTable(nn.Module):
    """The share of each class among the nodes with a label, smoothed by its share of all nodes.

    ``p(c | l) = (n_lc + p(c)) / (n_l + 1)``; for a label that was not seen it is ``p(c)``. If a
    node carries a token beside its label, as words of a dependency tree do, the token is counted
    in the same way, with ``p(c | l)`` in the place of ``p(c)``.

    Args:
        num_types, num_tokens: sizes of the vocabulary.
        num_classes: number of classes.
        numbers: True if tokens may be numbers (``vocabulary.any_numbers``), counted as one label.

    Shapes:
        of_all: ``[num_classes]``, ``p(c)``.
        count: ``[num_types + num_tokens + 1, num_classes]``, one row more with ``numbers``; the
            last row, of zeros, is for nodes without a type or token.
        output: log-probabilities ``[entries, num_classes]``, by default of all nodes in preorder.

    Reference: Jelinek and Mercer, "Interpolated estimation of Markov source parameters from sparse
    data", 1980.
    """

    of_all: Tensor
    count: Tensor

    def __init__(self, num_types: int, num_tokens: int, num_classes: int, numbers: bool = False):
        super().__init__()
        self.num_types, self.num_words = num_types, num_tokens + numbers
        self.register_buffer("of_all", torch.full((num_classes,), 1 / num_classes))
        rows = num_types + self.num_words + 1
        self.register_buffer("count", torch.zeros(rows, num_classes))

    @staticmethod
    def sizes(vocabulary: Vocabulary, question: Question) -> dict[str, Any]:
        """The constructor's arguments for the labels of users' trees."""
        return {**label_sizes(vocabulary), "num_classes": question.num_outputs}

    def fit(self, examples: Any, class_weight: Tensor | None = None) -> None:
        """Counts the nodes that have a class, of :class:`structnet.NodeExamples`.

        Args:
            examples: examples to count.
            class_weight: number of nodes that a node of each class counts as; 1 by default.

        Shapes:
            class_weight ``[num_classes]``.
        """
        labels = examples.labels.cpu().numpy()
        nodes, classes = examples.order.nodes[labels >= 0], labels[labels >= 0]
        each = np.ones(len(self.of_all)) if class_weight is None else class_weight.cpu().numpy()
        weights = each[classes].astype(np.float64)
        if examples.weights is not None:
            weights *= examples.weights.cpu().numpy()[labels >= 0]
        of_all = np.bincount(classes, weights, minlength=len(self.of_all))
        count = np.zeros(self.count.shape)
        for row in self._rows(examples.forest):
            np.add.at(count, (row[nodes], classes), weights)
        count[-1] = 0
        self.of_all.copy_(torch.from_numpy((of_all + 1 / len(of_all)) / (of_all.sum() + 1)))
        self.count.copy_(torch.from_numpy(count))

    def forward(self, forest: Forest, entries: Entries | None = None) -> Tensor:
        share, nodes = self.of_all, (entries or forest.preorder()).nodes
        for row in self._rows(forest):
            count = self.count[torch.from_numpy(row[nodes]).to(self.count.device)]
            share = (count + share) / (count.sum(1, keepdim=True) + 1)
        return share.log()

    def _rows(self, forest: Forest) -> tuple[np.ndarray, np.ndarray]:
        """The places of each stored node's type and token, -1 for none. ``[num_nodes]`` each."""
        words = words_of(forest.tokens, self.num_words)
        return forest.types, np.where(words >= 0, self.num_types + words, -1)
