"""The numbers of a label tree that a pass over some examples changes, to undo a pass that fails."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from structnet.label_tree.examples import Examples
from structnet.label_tree.tree import LabelTree
from structnet.trees.end_to_end import offsets_of, ranges


class Part(NamedTuple):
    """A copy of the numbers at some places of an array.

    Attributes:
        array: array, whose other places are not copied.
        places: index of these places.
        numbers: their copy.
    """

    array: np.ndarray
    places: tuple[np.ndarray, ...]
    numbers: np.ndarray


class Touched(NamedTuple):
    """Copies of all numbers that a pass changes: few if the examples are few, however large a tree.

    Attributes:
        bias: biases of the tree.
        parts: parts of its other arrays.

    Shapes:
        bias ``[nodes, arity]``.

    Example:
        >>> from structnet.label_tree import Features
        >>> tree = LabelTree(2, 3, arity=2)
        >>> data = Examples(Features.from_table(np.eye(2, dtype=np.float32)), np.array([0, 2]))
        >>> before = Touched.of(tree, data)
        >>> _ = tree.softmax.weight.data.fill_(torch.nan)
        >>> before.put_back(tree)
        >>> bool(tree.softmax.weight.isfinite().all())
        True
    """

    bias: Tensor
    parts: list[Part]

    @classmethod
    def of(cls, tree: LabelTree, examples: Examples) -> Touched:
        """The numbers of a tree that a pass over examples, in the form of its loops, changes."""
        features, codes, softmax = examples.features, tree.codes, tree.softmax
        labels = np.unique(examples.labels)
        rows = _rows(codes.offsets, labels)
        arrays, statistics = tree.arrays(features), softmax.statistics
        nodes: tuple[np.ndarray, ...] = (np.unique(codes.nodes[rows]),)
        if arrays.embedding is None and not features.is_table:
            nodes = _nodes_and_features(tree, examples)
        touched = [(arrays.weight, nodes)]
        if arrays.embedding is not None:
            touched.append((arrays.embedding, (np.unique(features.ids),)))
        if len(statistics.seen):
            touched += [(statistics.sums, (rows,)), (statistics.seen, (rows,))]
        parts = [Part(array, places, array[places]) for array, places in touched]
        return cls(softmax.bias.detach().clone(), parts)

    @torch.no_grad()
    def put_back(self, tree: LabelTree) -> None:
        """Undoes what the pass changed."""
        tree.softmax.bias.copy_(self.bias)
        for array, places, numbers in self.parts:
            array[places] = numbers


def _rows(offsets: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The places of the labels' codes, those of each label in order. ``[labels] -> [rows]``."""
    return ranges(offsets[labels], np.diff(offsets)[labels])


def _nodes_and_features(tree: LabelTree, examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a node and a feature that meet in an example, each once; both ``[pairs]``."""
    codes, features = tree.codes, examples.features
    nodes = codes.nodes[_rows(codes.offsets, examples.labels)]
    ends = offsets_of(codes.depth[examples.labels])
    shape = len(examples), codes.num_nodes
    passed = csr_matrix((np.ones(len(nodes), np.float32), nodes, ends), shape=shape)
    # Ones, as a product of the weights themselves may be 0.
    has = np.ones(len(features.ids), np.float32)
    bags = csr_matrix((has, features.ids, features.offsets), shape=features.shape)
    pairs = (passed.T @ bags).tocoo()
    return pairs.row, pairs.col
