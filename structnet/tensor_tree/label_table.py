"""How often nodes with a label have each class, beside a Tree-LSTM that says the classes of nodes.

Of a word, say, that few trees have, a count knows the tag before a network does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from structnet.tensor_tree.label_bag import label_numbers
from structnet.tensor_tree.predictor import NodeAnswers, NodePredictor, best_shares
from structnet.training.metrics import batch_starts
from structnet.trees.examples import NodeExamples
from structnet.trees.forest import Forest


class LabelTable(nn.Module):
    """The share of each class among the nodes of a label, which all nodes' counts as one more.

    ``p(c | l) = (n_lc + p(c)) / (n_l + 1)``; of a label that was not seen, it is ``p(c)``.

    Args:
        num_types, num_tokens: sizes of the vocabulary.
        num_classes: number of classes.
        numbers: tokens may be numbers (``vocabulary.numbers``), which count as one label.

    Shapes:
        log_prob: ``[num_types + num_tokens, num_classes]``, with numbers a row more.
        output: ``[num_nodes, num_classes]``, by the nodes' numbers in the forest.

    Reference: Jelinek and Mercer, "Interpolated estimation of Markov source parameters from sparse
    data", 1980.
    """

    log_prob: Tensor

    def __init__(self, num_types: int, num_tokens: int, num_classes: int, numbers: bool = False):
        super().__init__()
        self.num_types, self.num_classes = num_types, num_classes
        self.num_labels = num_types + num_tokens + numbers
        self.register_buffer("log_prob", torch.zeros(self.num_labels, num_classes))

    def fit(self, examples: Any) -> None:
        """Counts the nodes that have a class, of :class:`structnet.NodeExamples`."""
        nodes, classes = examples.order.nodes, examples.labels.cpu().numpy()
        label = self._labels(examples.forest)[nodes][classes >= 0]
        shape = (self.num_labels, self.num_classes)
        pairs = label * self.num_classes + classes[classes >= 0]
        count = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)
        of_all = (count.sum(0) + 1 / self.num_classes) / (count.sum() + 1)
        shares = (count + of_all) / (count.sum(1, keepdims=True) + 1)
        self.log_prob.copy_(torch.from_numpy(np.log(shares)))

    def forward(self, forest: Forest) -> Tensor:
        labels = torch.from_numpy(self._labels(forest)).to(self.log_prob.device)
        return self.log_prob.index_select(0, labels)

    def _labels(self, forest: Forest) -> np.ndarray:
        return label_numbers(forest, self.num_types, self.num_labels)


class BesideTable(NodeAnswers):
    """A predictor of nodes and a table of their labels, whose log-probabilities are weighed.

    Args:
        tree: the predictor.
        table: the table.

    Attributes:
        shares: weights of both, ``[2]``, at most 1 together, as of
            :class:`structnet.tensor_tree.predictor.BesideBag`.

    Shapes:
        output: logits ``[num_nodes, num_classes]``, by the nodes' numbers in the forest.
    """

    shares: Tensor

    def __init__(self, tree: NodePredictor, table: LabelTable):
        super().__init__()
        self.tree, self.table = tree, table
        self.register_buffer("shares", torch.full((2,), 0.5))

    def forward(self, forest: Forest) -> Tensor:
        tree, table = self.parts(forest)
        return self.shares[0] * tree + self.shares[1] * table

    def parts(self, forest: Forest) -> tuple[Tensor, Tensor]:
        """What each says by itself, ``[num_nodes, num_classes]``."""
        return self.tree(forest).log_softmax(-1), self.table(forest)

    @torch.no_grad()
    def choose(self, examples: NodeExamples, batch_size: int = 500) -> None:
        """Set the shares to what fits some examples best, from which neither has learnt."""
        said, targets = [], []
        for start in batch_starts(examples, batch_size):
            batch = examples[slice(start, start + batch_size)]
            known = batch.labels >= 0
            parts = torch.stack(self.parts(batch.forest))
            said.append(parts.index_select(1, batch.nodes[known]).cpu())
            targets.append(batch.labels[known].cpu())
        which = torch.cat(targets)
        if len(which):
            count = torch.ones(len(which))
            self.shares.copy_(best_shares(torch.cat(said, 1).double(), which, count))
