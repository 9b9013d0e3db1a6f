"""A tree in three flat arrays, for storage, files and prediction (see ``_kernels.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structnet.routing.topology import Topology
from structnet.softmax_tree import _kernels
from structnet.softmax_tree._kernels import CLASSES, FEATURES, FIELDS, LEFT, SIZE, WEIGHTS
from structnet.softmax_tree.nodes import Hyperplane, Leaf
from structnet.trees._kernels import grouped
from structnet.trees.end_to_end import offsets_of


class Packed(NamedTuple):
    """The arrays of a tree.

    Attributes:
        table: six numbers for each node, then classes and the features of sparse leaves; int64.
        weights: biases and weights; float32.
        places: feature or class of each sparse weight, int32; empty if weights are dense.

    Shapes:
        each ``[numbers]``.
    """

    table: np.ndarray
    weights: np.ndarray
    places: np.ndarray

    @property
    def as_arguments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The arrays as compiled loops take them: None for empty places. Each ``[numbers]``."""
        return self.table, self.weights, self.places if len(self.places) else None

    @property
    def nodes(self) -> np.ndarray:
        """The part of the table for the nodes. ``[nodes, 6]``."""
        return self.table[: self.table[CLASSES]].reshape(-1, FIELDS)

    def topology(self) -> Topology:
        """The topology of the tree."""
        return Topology([() if left < 0 else (left, right) for left, right in self.nodes[:, :2]])

    def classes(self, leaf: int) -> np.ndarray:
        """The classes of a leaf, ascending; one of several parts occurs as often. ``[size]``."""
        node = self.nodes[leaf]
        return self.table[node[CLASSES] : node[CLASSES] + node[SIZE]]

    @property
    def has_parts(self) -> bool:
        """True for a single leaf, some of whose classes have several parts."""
        return self.table[LEFT] < 0 and bool((np.diff(self.classes(0)) == 0).any())

    def sizes(self) -> np.ndarray:
        """The number of scores of each leaf, one for each class or part; 0 for inner nodes.

        Shapes:
            ``[nodes]``.
        """
        return np.where(self.nodes[:, LEFT] < 0, self.nodes[:, SIZE], 0)

    def own(self, node: int, num_features: int) -> Hyperplane | Leaf:
        """A node as an object for training."""
        record = self.nodes[node]
        start, size = record[WEIGHTS], record[SIZE]
        sparse = record[FEATURES] >= 0
        if record[LEFT] >= 0:
            stop = start + 1 + (size if sparse else num_features)
            columns = self.places[start + 1 : stop].copy() if sparse else None
            return Hyperplane(self.weights[start + 1 : stop], float(self.weights[start]), columns)
        bias, k = self.weights[start : start + size], int(size)
        if not sparse:
            weight = self.weights[start + k : start + k * (num_features + 1)]
            return Leaf(self.classes(node), weight.reshape(num_features, k), bias, k)
        columns, ends = self._features(int(record[FEATURES]))
        weight = np.zeros((len(columns), k), np.float32)
        rows = np.repeat(np.arange(len(columns)), np.diff(ends))
        weight[rows, self.places[ends[0] : ends[-1]]] = self.weights[ends[0] : ends[-1]]
        return Leaf(self.classes(node), weight, bias, k, columns.astype(np.int32))

    def leaf(self, node: int, num_features: int) -> Leaf:
        """A leaf as an object for training."""
        own = self.own(node, num_features)
        assert isinstance(own, Leaf)
        return own

    def leaves_of(self, parts: tuple, rows: np.ndarray) -> np.ndarray:
        """The leaf of each of some rows, numbers ``[n]`` of rows in kernel form. ``[n]``, int64."""
        leaves = np.empty(len(rows), np.int64)
        _kernels.leaves_of(*parts, rows, *self.as_arguments, leaves)
        return leaves

    def classes_of(self, rows: tuple, number: int) -> np.ndarray:
        """The likeliest class of each row in kernel form. ``[number]``, int64."""
        found = np.empty(number, np.int64)
        if self.has_parts:
            _kernels.classes_of_parts(*rows, *self.as_arguments, found)
            return found
        leaves = self.leaves_of(rows, np.arange(number))
        order, _ = grouped(leaves, len(self.nodes))
        _kernels.classes_of(*rows, order, leaves, *self.as_arguments, found)
        return found

    def _features(self, at: int) -> tuple[np.ndarray, np.ndarray]:
        """The features of a sparse leaf, and the bounds of the weights of each."""
        number = self.table[at]
        return self.table[at + 1 : at + 1 + number], self.table[at + 1 + number :][: number + 1]

    def extent(self, node: int, num_features: int) -> slice:
        """The slice of a node's weights, without its biases."""
        record = self.nodes[node]
        inner, size = record[LEFT] >= 0, int(record[SIZE])
        start = int(record[WEIGHTS]) + (1 if inner else size)
        if record[FEATURES] < 0:
            return slice(start, start + num_features * (1 if inner else size))
        if inner:
            return slice(start, start + size)
        ends = self._features(int(record[FEATURES]))[1]
        return slice(int(ends[0]), int(ends[-1]))


def packed(children: Sequence[tuple[int, ...]], nodes: Sequence[Hyperplane | Leaf]) -> Packed:
    """The arrays of a tree.

    Args:
        children: left and right child of each hyperplane, () for a leaf.
        nodes: nodes.

    Raises:
        ValueError: some nodes are sparse and others dense, which compiled loops do not distinguish.
    """
    if len({node.columns is None for node in nodes}) > 1:
        raise ValueError("the nodes of a tree must be all sparse or all dense; got some of each")
    sparse, inner = nodes[0].columns is not None, FIELDS * len(nodes)
    records: list[int] = []  # plain numbers, as a tree in training is packed for every decision
    parts, weights, places = [], [], []
    at, filled = inner, 0  # numbers of the table and of the weights so far
    for node, below in zip(nodes, children, strict=True):
        if isinstance(node, Hyperplane):
            records += [*below, filled, len(node.weight), inner, 0 if sparse else -1]
            bias, own, columns = np.array([node.bias], np.float32), node.weight, node.columns
        else:
            records += [-1, -1, filled, len(node.classes), at, -1]
            parts.append(node.classes)
            at += len(node.classes)
            bias, own, columns = node.bias, node.weight.ravel(), None
            if node.columns is not None:
                rows, columns = np.nonzero(node.weight)
                own = node.weight[rows, columns]
                features, counts = np.unique(rows, return_counts=True)
                ends = filled + len(bias) + offsets_of(counts)
                records[-1] = at
                parts += [np.array([len(features)]), node.columns[features], ends]
                at += 1 + len(features) + len(ends)
        weights += [bias, own]
        filled += len(bias) + len(own)
        places += [] if columns is None else [np.zeros(len(bias), np.int32), columns]
    return Packed(
        np.concatenate([np.array(records, np.int64), *parts]),
        np.concatenate(weights).astype(np.float32, copy=False),
        np.concatenate([np.zeros(0, np.int32), *places]).astype(np.int32, copy=False),
    )
