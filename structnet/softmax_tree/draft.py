"""A softmax tree while it is trained: nodes that are exchanged one by one, and its objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structnet.routing.topology import Topology
from structnet.softmax_tree._loss_kernels import losses_of_rows
from structnet.softmax_tree.arrays import Packed, packed
from structnet.softmax_tree.nodes import Hyperplane, Leaf
from structnet.softmax_tree.points import Points, parts
from structnet.trees._kernels import grouped

Node = Hyperplane | Leaf


@dataclass
class Draft:
    """Nodes and their children, parents before their children.

    Attributes:
        children: the left and the right child of each hyperplane, () of a leaf.
        nodes: the nodes.
    """

    children: list[tuple[int, ...]]
    nodes: list[Node]

    @property
    def topology(self) -> Topology:
        """The shape."""
        return Topology(self.children)

    @property
    def packed(self) -> Packed:
        """The nodes as arrays."""
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
        """The same; nodes are exchanged, never changed, so they are shared."""
        return Draft(list(self.children), list(self.nodes))

    def _below(self, root: int) -> Draft:
        """A node and all below it, as a tree of its own."""
        if not root:
            return self
        nodes, children = [root], []
        for node in nodes:
            first = len(nodes)
            nodes += self.children[node]
            children.append(tuple(range(first, len(nodes))))
        return Draft(children, [self.nodes[node] for node in nodes])

    def reach(self, points: Points, rows: np.ndarray | None = None, root: int = 0) -> dict:
        """Node -> the rows that come there, ascending, of those at the root; nodes without none.

        Args:
            rows: rows at the root; all by default.
            root: node to begin with.

        Shapes:
            rows ``[m]``, their places among the points; of each node ``[m_v]``.
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
        """The loss of each row that starts at a node, before weights. ``[len(rows)]``, float64."""
        rows = np.arange(len(points)) if rows is None else rows
        arrays, found = self._below(root).packed, np.empty(len(rows))
        x = parts(points.x)
        order, starts = grouped(arrays.leaves_of(x, rows), len(arrays.nodes))
        losses_of_rows(*x, rows, order, starts, points.y, *arrays.told, missing_loss, found)
        return found

    def mistakes(self, points: Points) -> np.ndarray:
        """Which points are taken for another class. ``[n]``, bool."""
        return self.packed.classes_of(parts(points.x), len(points)) != points.y

    def error(self, points: Points) -> float:
        """The share of points, by their weights, that are taken for another class."""
        return float(np.average(self.mistakes(points), weights=points.weights))

    def pruned(self, points: Points) -> Draft:
        """Without what no point comes to: a decision with one side left gives way to that side."""
        here = self.reach(points)
        shares = np.array([len(here.get(v, ())) / len(points) for v in range(len(self.nodes))])
        topology, merged = self.topology.survivors(shares, 0.5 / len(points))
        return Draft(topology.to_lists(), [self.nodes[nodes[-1]] for nodes in merged])

    def grafted(self, subtrees: dict[int, Draft]) -> Draft:
        """With subtrees in the place of leaves."""
        new = self.copy()
        for leaf, subtree in subtrees.items():
            # The root of the subtree takes the leaf's number, the others come last.
            shift = len(new.nodes) - 1
            numbers = [leaf, *(v + shift for v in range(1, len(subtree.nodes)))]
            places = [tuple(numbers[u] for u in below) for below in subtree.children]
            new.nodes[leaf], new.children[leaf] = subtree.nodes[0], places[0]
            new.nodes += subtree.nodes[1:]
            new.children += places[1:]
        return new
