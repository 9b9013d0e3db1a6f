"""A softmax tree in training, whose nodes are exchanged one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from structnet.routing.topology import Topology
from structnet.softmax_tree._loss_kernels import losses_of_rows
from structnet.softmax_tree.arrays import Packed, packed
from structnet.softmax_tree.nodes import Hyperplane, Leaf
from structnet.softmax_tree.points import Points, parts
from structnet.softmax_tree.probabilities import Outside, choices_of
from structnet.trees._kernels import grouped

Node = Hyperplane | Leaf


@dataclass
class Draft:
    """The nodes of a tree and their children; parents come before their children.

    Attributes:
        children: left and right child of each hyperplane, () for a leaf.
        nodes: hyperplanes and leaves.
        shares: share of each class, by which those that a leaf lacks share its rest; None if no
            leaf has one.

    Shapes:
        shares ``[K]``.
    """

    children: list[tuple[int, ...]]
    nodes: list[Node]
    shares: np.ndarray | None = None

    @property
    def topology(self) -> Topology:
        """The topology of the tree."""
        return Topology(self.children)

    @property
    def packed(self) -> Packed:
        """The tree as arrays."""
        return packed(self.children, self.nodes)

    def plane(self, node: int) -> Hyperplane:
        """The hyperplane of an inner node."""
        plane = self.nodes[node]
        assert isinstance(plane, Hyperplane)
        return plane

    def leaf(self, node: int) -> Leaf:
        """The softmax of a leaf."""
        leaf = self.nodes[node]
        assert isinstance(leaf, Leaf)
        return leaf

    def copy(self) -> Draft:
        """A copy with the same nodes, which are exchanged but never changed."""
        return replace(self, children=list(self.children), nodes=list(self.nodes))

    def _below(self, root: int) -> Draft:
        """The subtree of a node."""
        if not root:
            return self
        nodes, children = [root], []
        for node in nodes:
            first = len(nodes)
            nodes += self.children[node]
            children.append(tuple(range(first, len(nodes))))
        return Draft(children, [self.nodes[node] for node in nodes])

    def reach(self, points: Points, rows: np.ndarray | None = None, root: int = 0) -> dict:
        """The rows that reach each node, ascending, by node; nodes without rows are left out.

        Args:
            points: samples.
            rows: places of the rows at the root; by default all.
            root: node to start from.

        Shapes:
            rows ``[m]``; for each node ``[m_v]``.
        """
        found = {root: np.arange(len(points)) if rows is None else rows}
        waiting = [root]
        for node in waiting:
            if not self.children[node]:
                continue
            here = found[node]
            right = self.plane(node).goes_right(points, here)
            for child, mine in zip(self.children[node], (here[~right], here[right]), strict=True):
                if len(mine):
                    found[child] = mine
                    waiting.append(child)
        return found

    def losses(
        self, points: Points, missing_loss: float, rows: np.ndarray | None = None, root: int = 0
    ) -> np.ndarray:
        """The unweighted loss of each row that starts at a node. ``[len(rows)]``, float64."""
        rows = np.arange(len(points)) if rows is None else rows
        arrays, found = self._below(root).packed, np.empty(len(rows))
        x = parts(points.x)
        if arrays.has_parts:
            return self._losses_of_parts(points.take(rows))
        order, starts = grouped(arrays.leaves_of(x, rows), len(arrays.nodes))
        losses_of_rows(*x, rows, order, starts, points.y, *arrays.as_arguments, missing_loss, found)
        return found

    def _losses_of_parts(self, points: Points) -> np.ndarray:
        """The loss of each point at a single leaf of all classes, some of several parts."""
        none = Outside(np.zeros(1), np.zeros(points.num_classes))
        found = choices_of(parts(points.x), len(points), self.packed, none)
        return -found.dense(points.num_classes)[np.arange(len(points)), points.y]

    def mistakes(self, points: Points) -> np.ndarray:
        """True for points whose predicted class is wrong. ``[n]``, bool."""
        return self.packed.classes_of(parts(points.x), len(points)) != points.y

    def error(self, points: Points) -> float:
        """The weighted share of points whose predicted class is wrong."""
        return float(np.average(self.mistakes(points), weights=points.weights))

    def pruned(self, points: Points) -> Draft:
        """The tree without nodes that no point reaches, and without decisions of a single side."""
        here = self.reach(points)
        shares = np.array([len(here.get(v, ())) / len(points) for v in range(len(self.nodes))])
        topology, merged = self.topology.survivors(shares, 0.5 / len(points))
        return Draft(topology.to_lists(), [self.nodes[nodes[-1]] for nodes in merged])

    def at(self, temperature: float) -> Draft:
        """The tree with the scores of all leaves divided by a temperature."""
        if temperature == 1:
            return self
        nodes = [n.at(temperature) if isinstance(n, Leaf) else n for n in self.nodes]
        return replace(self, children=list(self.children), nodes=nodes)

    def grafted(self, subtrees: dict[int, Draft]) -> Draft:
        """The tree with subtrees in place of leaves."""
        new = self.copy()
        for leaf, subtree in subtrees.items():
            # The root of the subtree gets the leaf's number; its other nodes are appended.
            shift = len(new.nodes) - 1
            numbers = [leaf, *(v + shift for v in range(1, len(subtree.nodes)))]
            places = [tuple(numbers[u] for u in below) for below in subtree.children]
            new.nodes[leaf], new.children[leaf] = subtree.nodes[0], places[0]
            new.nodes += subtree.nodes[1:]
            new.children += places[1:]
        return new
