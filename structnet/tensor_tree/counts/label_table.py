"""How often nodes with a label have each class, from which :class:`.NodeBag` starts.

For a word in few trees, for example, counts know the tag before a network has learned it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from structnet.tensor_tree.counts.counted import words_of
from structnet.trees.forest import Forest


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
        output: log-probabilities ``[n, num_classes]``.

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

    def fit(self, forest: Forest, nodes: np.ndarray, y: np.ndarray, count: np.ndarray) -> None:
        """Counts nodes that have a class.

        Args:
            forest: trees of the nodes.
            nodes: number of each node in the forest.
            y: class of each node.
            count: number of nodes that it counts as.

        Shapes:
            nodes, y, count ``[n]``.
        """
        of_all = np.bincount(y, count, minlength=len(self.of_all))
        found = np.zeros(self.count.shape)
        for row in self._rows(forest):
            np.add.at(found, (row[nodes], y), count)
        found[-1] = 0
        self.of_all.copy_(torch.from_numpy((of_all + 1 / len(of_all)) / (of_all.sum() + 1)))
        self.count.copy_(torch.from_numpy(found))

    def forward(
        self, forest: Forest, nodes: np.ndarray, without: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """The log-probabilities of nodes.

        Args:
            forest: trees of the nodes.
            nodes: number of each node in the forest.
            without: for nodes that :meth:`fit` counted, their class and what they counted as, to
                leave each out of its own row.

        Shapes:
            nodes, without ``[n]`` each.
        """
        share: Tensor = self.of_all
        for row in self._rows(forest):
            places = torch.from_numpy(row[nodes]).to(self.count.device)
            count = self.count[places]
            if without is not None:
                y, own = without
                count[torch.arange(len(y)), y] -= own.to(count) * (places >= 0)
                count = count.clamp(min=0)
            share = (count + share) / (count.sum(1, keepdim=True) + 1)
        return share.log()

    def _rows(self, forest: Forest) -> tuple[np.ndarray, np.ndarray]:
        """The places of each stored node's type and token, -1 for none. ``[num_nodes]`` each."""
        words = words_of(forest.tokens, self.num_words)
        return forest.types, np.where(words >= 0, self.num_types + words, -1)
