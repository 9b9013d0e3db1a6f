"""The interface of all model trees (:mod:`structnet.routing.protocol`); all paths are hard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.checks import check_one_of
from structnet.routing.formula import Formula
from structnet.routing.protocol import Facts, Visit
from structnet.routing.topology import Topology
from structnet.softmax_tree.nodes import Hyperplane

if TYPE_CHECKING:
    from structnet.softmax_tree.arrays import Packed


class Routed:
    """The methods of a :class:`~structnet.softmax_tree.tree.SoftmaxTree` as a model tree."""

    topology: Topology
    shape: tuple[int, ...]

    if TYPE_CHECKING:

        @property
        def arrays(self) -> Packed: ...
        @property
        def num_classes(self) -> int: ...
        def _rows(self, x: Any) -> Any: ...
        def leaves_of(self, x: Any) -> np.ndarray: ...
        def choices(self, x: Any) -> Any: ...
        def others(self, leaf: int) -> np.ndarray: ...
        @property
        def outside(self) -> Any: ...

    def visits(self, x: Any, path: str = "multi") -> Iterator[Visit]:
        """The visits of samples ``[n, D]`` to each node, see :meth:`.RoutedTree.visits`."""
        check_one_of("path", path, ("multi", "greedy"))
        leaves = self.leaves_of(x)
        arriving = np.zeros((self.topology.num_nodes, len(leaves)))
        arriving[leaves, np.arange(len(leaves))] = 1
        arriving = self.topology.sums_below(arriving)
        for node in range(self.topology.num_nodes):
            here, children = arriving[node], self.topology.children_of(node)
            if path == "multi" or here.any():
                branch = arriving[list(children)].T if children else None
                yield Visit(node, here, branch)

    def predicted(self, x: Any) -> np.ndarray:
        """Log-probabilities. ``[n, D] -> [n, K]``."""
        return self.choices(x).dense(self.num_classes)

    def predicted_at(self, x: Any, leaf: int) -> np.ndarray:
        """The log-probabilities of one leaf for all samples. ``[n, D] -> [n, K]``."""
        if self.arrays.has_parts:
            return self.predicted(x)  # the only leaf
        own = self.arrays.leaf(leaf, self.shape[0])
        found = np.tile(self.others(leaf), (x.shape[0], 1))
        found[:, own.classes] = own.log_probs(self._rows(x)) + np.log1p(-self.outside.rest[leaf])
        return found

    def facts(self, node: int) -> Facts:
        """What a node consists of."""
        used, all_, scores = self.used(node), self.most(node), int(self.arrays.sizes()[node])
        weights = f"{used:,} of {all_:,} weights"
        if self.topology.inner[node]:
            return Facts("hyperplane", weights, used + 1)
        classes = len(self.classes_at(node))
        of = f" of {scores:,} parts" * (classes < scores)
        words = f"{classes:,} class{'es' * (classes != 1)}{of}, {weights}"
        return Facts("softmax", words, used + scores)

    def classes_at(self, leaf: int) -> list[int]:
        """The classes S_j of a leaf, ascending."""
        return np.unique(self.arrays.classes(leaf)).tolist()

    def used(self, node: int) -> int:
        """The number of a node's weights that are not 0, without biases."""
        arrays = self.arrays
        return int(np.count_nonzero(arrays.weights[arrays.extent(node, self.shape[0])]))

    def most(self, node: int) -> int:
        """The number of weights of a node if none were 0, without biases."""
        return self.shape[0] * max(1, int(self.arrays.sizes()[node]))

    def flops(self, node: int) -> int:
        """The FLOPs of one sample at a node: 2 for each weight that is not 0."""
        return 2 * self.used(node)

    def branch_names(self, node: int) -> tuple[str, ...]:
        """The names of a hyperplane's two sides; none for a leaf."""
        return ("left", "right") if self.topology.inner[node] else ()

    def plane(self, node: int, branch: int = 0, other: int = 1) -> tuple[np.ndarray, float] | None:
        """The weights ``[D]`` and the bias of a hyperplane, above 0 on the side of a branch.

        None for a leaf. By default the branch is the left one, which turns the signs of
        :class:`.nodes.Hyperplane`.
        """
        own = self.arrays.own(node, self.shape[0])
        if not isinstance(own, Hyperplane):
            return None
        sign = -1 if branch < other else 1
        return sign * own.full(self.shape[0]), sign * own.bias

    def class_plane(self, label: int) -> tuple[np.ndarray, float] | None:
        """The weights ``[D]`` and the bias of the log-odds of a class against the mean of all
        others; None unless the tree is a single leaf of all classes, of one part each."""
        own = self.arrays.own(0, self.shape[0])
        if isinstance(own, Hyperplane) or len(own.classes) != self.num_classes:
            return None
        weight = np.zeros(self.shape[0])
        weight[slice(None) if own.columns is None else own.columns] = _beside(own.weight, label)
        return weight, float(_beside(own.bias, label))

    def formula(self, node: int) -> Formula | None:
        """The scores of a leaf's own classes, or of their parts, of which each names its class;
        None for an inner node, which has a plane."""
        if self.topology.inner[node]:
            return None
        own = self.arrays.leaf(node, self.shape[0])
        straight = np.zeros((self.shape[0], len(own.classes)))
        straight[slice(None) if own.columns is None else own.columns] = own.weight
        return Formula.linear(own.bias.astype(np.float64), straight, own.classes)


def _beside(scores: np.ndarray, k: int) -> np.ndarray:
    """A class's scores above the mean of all others'. ``[..., K] -> [...]``."""
    own = scores[..., k].astype(np.float64)
    return (own * scores.shape[-1] - scores.sum(-1)) / (scores.shape[-1] - 1)
