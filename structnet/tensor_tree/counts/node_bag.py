"""Labels of a node and of the nodes around it, and a linear model on them.

From few trees it learns what is said by the label above a node, by the words on both sides, or by a
child's label, before a network has learned any. It starts from a table of how often nodes with a
label have each class, which all labelled nodes are counted for, and corrects that. It is mixed with
the Tree-LSTM, see :class:`.BesideNodeBag`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from structnet.tensor_tree.counts.counted import label_sizes, places_among, words_of
from structnet.tensor_tree.counts.label_table import LabelTable
from structnet.tensor_tree.counts.linear_model import linear_classes
from structnet.tensor_tree.targets import Question
from structnet.trees.end_to_end import ranges
from structnet.trees.examples import NodeExamples
from structnet.trees.forest import Forest
from structnet.trees.repeats import BELOW, Named
from structnet.trees.vocabulary import Vocabulary
from structnet.trees.ways_down import Entries, all_entries, siblings

PENALTY = 0.5
PLACES = 8  # from which on the places of children are not told apart
# Logits of labelled nodes up to which all of these are learned from; more would take over 10 s.
MOST = 400_000


class NodeBag(nn.Module):
    """A linear model on the labels of a node, of those above and beside it, and of those below.

    Its logits are added to the log-probabilities of :class:`.LabelTable`. It counts the words of a
    node that is a text; the label of each child, alone and with the node's own; the first and the
    last child, and the first and the last leaf below. From above it counts the parent's label,
    alone, with the node's own, with the node's place and with the label above; and from beside the
    labels of the siblings just before and after. It counts whether the node's name, its token or
    label, occurs elsewhere in the tree (:mod:`structnet.trees.repeats`), alone, with the node's own
    label and with the parent's; and below which labels it does, alone and with the parent's.

    It is fitted by a solver, not by gradients, so its weights are buffers.

    Args:
        num_types, num_tokens: sizes of the vocabulary.
        num_classes: number of classes.
        numbers: True if tokens may be numbers (``vocabulary.any_numbers``), counted as one label.
        top_down: False to count only what is at and below a node.
        num_features: number of labels, and of pairs, that are counted; :meth:`fit` finds which.

    Shapes:
        features: ``[num_features]``, int64, ascending, as :meth:`met` numbers them.
        weight: ``[num_features, num_classes]``; bias: ``[num_classes]``, of the linear model.
        output: logits ``[entries, num_classes]``, by default of all nodes in preorder.
    """

    features: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(
        self,
        num_types: int,
        num_tokens: int,
        num_classes: int,
        numbers: bool = False,
        top_down: bool = True,
        num_features: int = 0,
    ):
        super().__init__()
        self.num_types, self.num_words, self.top_down = num_types, num_tokens + numbers, top_down
        self.table = LabelTable(num_types, num_tokens, num_classes, numbers)
        self.register_buffer("features", torch.zeros(num_features, dtype=torch.int64))
        self.register_buffer("weight", torch.zeros(num_features, num_classes))
        self.register_buffer("bias", torch.zeros(num_classes))

    @staticmethod
    def sizes(vocabulary: Vocabulary, question: Question) -> dict[str, Any]:
        """The constructor's arguments for the labels of users' trees."""
        return {**label_sizes(vocabulary), "num_classes": question.num_outputs}

    def fit(self, examples: NodeExamples, counts: Tensor, seed: int = 0) -> None:
        """Fits both to nodes that have a class, starting from the present weights.

        Each node is left out of its own row of the table, which would otherwise know its class.

        Args:
            examples: trees to learn from.
            counts: number of nodes that each node counts as.
            seed: seed by which nodes are drawn for the linear model, if there are very many.

        Shapes:
            counts ``[nodes of all trees]``, in preorder.
        """
        forest, labels, size = examples.forest, examples.labels.cpu().numpy(), len(self.bias)
        entries, chosen = all_entries(forest), np.flatnonzero(labels >= 0)
        count = counts.cpu().double().numpy()[chosen]
        self.table.fit(forest, entries.nodes[chosen], labels[chosen], count)
        if len(chosen) * size > MOST:
            some = np.random.default_rng(seed).permutation(len(chosen))[: MOST // size]
            chosen, count = chosen[some], count[some]
        y = labels[chosen]
        without = torch.from_numpy(y), torch.from_numpy(count)
        offset = self.table(forest, entries.nodes[chosen], without).cpu().double().numpy()
        row, code = self.met(forest, entries, chosen)
        features, column = np.unique(code, return_inverse=True)
        x = csr_matrix((np.ones(len(row)), (row, column)), (len(chosen), len(features)))
        place, there = places_among(features, self.features)
        begin = np.zeros((len(features), size))
        begin[there] = self.weight.cpu().double().numpy()[place[there]]
        start = begin, self.bias.cpu().double().numpy()
        weight, bias = linear_classes(x, y, size, PENALTY, count, start, offset)
        self.features = torch.from_numpy(features).to(self.bias.device)
        self.weight, self.bias = (torch.from_numpy(w).to(self.bias) for w in (weight, bias))

    def forward(self, forest: Forest, entries: Entries | None = None) -> Tensor:
        entries = entries or all_entries(forest)
        row, code = self.met(forest, entries, np.arange(len(entries.nodes)))
        place, there = places_among(code, self.features)
        shape = len(entries.nodes), len(self.features)
        x = csr_matrix((np.ones(there.sum()), (row[there], place[there])), shape)
        logits = torch.from_numpy(x @ self.weight.cpu().double().numpy()).to(self.bias)
        return self.table(forest, entries.nodes) + logits + self.bias

    def met(
        self, forest: Forest, entries: Entries, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The place in rows and the number of each label, or pair of labels, at and around nodes.

        The number of the pair ``(a, b)`` of the k-th kind is ``(k * size + a) * size + b``, where
        ``size`` is above all labels and places.

        Args:
            forest: the trees.
            entries: nodes of these trees.
            rows: those of the entries whose surroundings are wanted.

        Shapes:
            rows ``[n]``; output ``[m]`` each.
        """
        size = max(self.num_types + self.num_words, PLACES) + 1
        found = [
            (row, (kind * size + first) * size + second)
            for kind, (row, first, second) in enumerate(
                self._kinds(forest, entries, rows, size - 1)
            )
        ]
        row, code = zip(*found, strict=True)
        return np.concatenate(row), np.concatenate(code)

    def _kinds(
        self, forest: Forest, entries: Entries, rows: np.ndarray, none: int
    ) -> Iterator[tuple[np.ndarray, Any, Any]]:
        """The place in rows of each kind of pair, and its labels; a single label follows a 0.

        Args:
            forest: the trees.
            entries: nodes of these trees.
            rows: those of the entries whose surroundings are wanted.
            none: number that stands for the label of a node that is not there.

        Shapes:
            rows ``[n]``; output ``[m]`` each, or a single number.
        """
        words = words_of(forest.tokens, self.num_words)
        token = np.where(words >= 0, self.num_types + words, none)
        # The last one is of node -1.
        label = np.append(np.where(forest.types >= 0, forest.types, token), none)
        nodes, row = entries.nodes[rows], np.arange(len(rows))
        own = label[nodes]
        text, of_text = forest.words_at(nodes)
        yield text, 0, self.num_types + of_text
        number = np.diff(forest.offsets)[nodes]
        child = label[forest.children[ranges(forest.offsets[:-1][nodes], number)]]
        parent = np.repeat(row, number)
        yield parent, 0, child
        yield parent, own[parent], child
        for end in _ends(forest):
            yield row, 0, label[end[nodes]]
            yield row, 0, label[_last_of(end)[nodes]]
        if self.top_down:
            above = entries.parent[rows]
            upper, higher = (
                label[np.where(each >= 0, entries.nodes[each], -1)]
                for each in (above, np.where(above >= 0, entries.parent[above], -1))
            )
            edge = entries.edge[rows]
            yield row, 0, upper
            yield row, own, upper
            yield row, np.append(forest.pos, PLACES)[edge].clip(max=PLACES), upper
            yield row, higher, upper
            for sibling in siblings(forest):
                yield row, 0, label[sibling[edge]]
        named = Named.like(forest, nodes, entries.place[rows], label)
        node, kind = np.nonzero(named.repeats())
        if not self.top_down:
            node, kind = node[kind == BELOW], kind[kind == BELOW]
        there, kind = named.among(node, kind)
        yield there, 0, kind
        yield there, own[there], kind
        if self.top_down:
            yield there, upper[there], kind
            there, other = named.among(*named.above_others())
            yield there, 0, other
            yield there, upper[there], other


def _ends(forest: Forest) -> Iterator[np.ndarray]:
    """The first and then the last child of each node, or the node itself. ``[num_nodes]`` each."""
    has = np.flatnonzero(np.diff(forest.offsets))
    for edge in (forest.offsets[:-1][has], forest.offsets[1:][has] - 1):
        end = np.arange(forest.num_nodes)
        end[has] = forest.children[edge]
        yield end


def _last_of(following: np.ndarray) -> np.ndarray:
    """The last of the row that begins at each node, in which one follows another. ``[n] -> [n]``.

    Example:
        >>> _last_of(np.array([0, 0, 1, 3])).tolist()
        [0, 0, 0, 3]
    """
    while True:
        further = following[following]  # twice as far each time
        if (further == following).all():
            return following
        following = further
