"""The shape of a model's tree as arrays: parents, children, depths and leaves.

A :class:`Topology` has what routing needs of a tree. It can be converted from and to a DGL graph of
the schema (see :mod:`structnet.trees.schema`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from structnet.errors import GraphError, NotATreeError
from structnet.trees.end_to_end import offsets_of
from structnet.trees.schema import edges_by_place, make_graph
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from dgl import DGLGraph

NONE = -1


class Topology:
    """The shape of one rooted tree, whose nodes are numbered with parents before their children.

    Attributes:
        parent: parent of each node; -1 for the root, which is node 0.
        offsets, children: CSR lists of children: those of node v, in the order of their places,
            are ``children[offsets[v]:offsets[v + 1]]``.
        inner: True for each node with children.
        leaves: nodes without children, ascending.
        depth: number of edges between the root and each node.

    Args:
        children: children of each node, in the order of their places.

    Shapes:
        parent, depth, inner ``[num_nodes]``; offsets ``[num_nodes + 1]``; children
        ``[num_nodes - 1]``; leaves ``[num_leaves]``; all int64, inner bool.

    Raises:
        NotATreeError: there are no nodes, or a node other than the root has no parent, has several,
            or comes before its parent.

    Example:
        >>> topology = Topology([(1, 2), (), (3, 4), (), ()])
        >>> topology.leaves.tolist(), topology.path(4), topology.children_of(2)
        ([1, 3, 4], [0, 2, 4], (3, 4))
    """

    def __init__(self, children: Sequence[Sequence[int]]):
        counts = np.fromiter(map(len, children), np.int64, len(children))
        flat = np.fromiter(chain.from_iterable(children), np.int64, counts.sum())
        self._fill(offsets_of(counts), flat)

    @classmethod
    def from_arrays(cls, offsets: np.ndarray, children: np.ndarray) -> Topology:
        """The topology with given CSR lists of children.

        Args:
            offsets: place where each node's children begin, and the end of the last ones.
            children: children of all nodes, those of each node in the order of their places.

        Shapes:
            offsets ``[num_nodes + 1]``; children ``[num_nodes - 1]``; int64.

        Raises:
            NotATreeError: a node other than the root has no parent, has several, or comes before
                its parent, or the offsets do not ascend from 0 to the number of children.

        Example:
            >>> Topology.from_arrays(np.array([0, 2, 2, 2]), np.array([1, 2])).parent
            array([-1,  0,  0])
        """
        offsets, children = np.asarray(offsets, np.int64), np.asarray(children, np.int64)
        ends = offsets[[0, -1]].tolist() if len(offsets) else []
        if ends != [0, len(children)] or (np.diff(offsets) < 0).any():
            raise NotATreeError(
                f"offsets must run from 0 to the number of children, {len(children)}, and not "
                f"decrease. Got {np.array2string(offsets, threshold=9)}"
            )
        topology = cls.__new__(cls)  # making lists would take longer than all the checks
        topology._fill(offsets, children)
        return topology

    @classmethod
    def from_graph(cls, graph: DGLGraph) -> Topology:
        """The topology of a DGL graph of the schema, with children ordered by ``pos``.

        Args:
            graph: graph with edges child -> parent, which is not changed.

        Raises:
            GraphError: a field is missing, or two children have the same place.
            NotATreeError: a node has several parents, or comes before its parent, or there are
                several roots.
        """
        child, parent, _ = edges_by_place(graph)
        counts = np.bincount(parent, minlength=graph.num_nodes())
        return cls.from_arrays(offsets_of(counts), child)

    def _fill(self, offsets: np.ndarray, children: np.ndarray) -> None:
        self.parent = _parents(offsets, children)
        self.offsets, self.children = offsets, children
        self.inner = np.diff(offsets) > 0
        self.leaves = np.flatnonzero(~self.inner)
        self.depth = self.sums_above(np.ones(self.num_nodes, np.int64)) - 1
        self._on_device: dict[Any, Any] = {}

    def graph(self) -> DGLGraph:
        """A DGL graph of the schema with this shape; its types and tokens are :meth:`numbers`."""
        return make_graph(*self.edges(), *self.numbers())

    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of each inner node among the inner nodes, and of each leaf among the leaves.

        Shapes:
            both ``[num_nodes]``, int64; -1 for nodes of the other kind.
        """
        both = (self.inner, ~self.inner)
        inner, leaves = (np.where(which, np.cumsum(which) - 1, NONE) for which in both)
        return inner, leaves

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parent, child and place of each edge, by parent and then by place.

        Shapes:
            each ``[num_nodes - 1]``, int64.
        """
        parent = np.repeat(np.arange(self.num_nodes), np.diff(self.offsets))
        return parent, self.children, np.arange(len(parent)) - self.offsets[parent]

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return len(self.offsets) - 1

    def children_of(self, node: int) -> tuple[int, ...]:
        """The children of a node, in the order of their places."""
        return tuple(self.children[self.offsets[node] : self.offsets[node + 1]].tolist())

    def to_lists(self) -> list[tuple[int, ...]]:
        """The children of each node, as the constructor takes them."""
        flat, offsets = self.children.tolist(), self.offsets.tolist()
        return [tuple(flat[offsets[v] : offsets[v + 1]]) for v in range(self.num_nodes)]

    def to_tree(self) -> Tree:
        """A :class:`~structnet.trees.Tree` of this shape, labelled by the nodes' numbers.

        Example:
            >>> Topology([(1, 2), (), (3, 4), (), ()]).to_tree()
            <Tree (0 1 (2 3 4))>
        """
        built: dict[int, Tree] = {}
        lists = self.to_lists()
        for v in reversed(range(self.num_nodes)):  # children have higher numbers
            built[v] = Tree(v, [built.pop(u) for u in lists[v]])
        return built[0]

    def from_left(self) -> list[int]:
        """The leaves from left to right, as in a picture.

        Example:
            >>> Topology([(1, 2), (3, 4), (), (), ()]).from_left()
            [3, 4, 2]
        """
        # From lists, as reading single numbers of an array is slow.
        order, stack, lists = [], [0], self.to_lists()
        while stack:
            v = stack.pop()
            stack += reversed(lists[v])
            if not lists[v]:
                order.append(v)
        return order

    def path(self, node: int) -> list[int]:
        """The nodes on the path from the root to a node, both included."""
        path = [int(node)]
        while (above := int(self.parent[path[-1]])) != NONE:
            path.append(above)
        return path[::-1]

    def sums_above(self, values: np.ndarray) -> np.ndarray:
        """For each node, the sum of the values of the nodes on its path from the root.

        Shapes:
            ``[num_nodes, ...]`` -> the same.

        Example:
            >>> Topology([(1, 2), (), (3, 4), (), ()]).sums_above(np.array([1, 5, 1, 2, 1]))
            array([1, 6, 2, 4, 3])
        """
        # The sums' paths double in length, so that depth D takes about log2 D steps.
        sums = np.concatenate([values, np.zeros_like(values[:1])])  # a 0 above the root
        for up in self._ancestors():
            sums = sums + sums[up]
        return sums[:-1]

    def sums_below(self, at_leaves: np.ndarray) -> np.ndarray:
        """For each node, the sum of the values of the leaves below it, or of the leaf itself.

        Args:
            at_leaves: values of all nodes, which must be 0 at inner nodes.

        Shapes:
            ``[num_nodes, ...]`` -> the same.

        Example:
            >>> Topology([(1, 2), (), (3, 4), (), ()]).sums_below(np.array([0, 5, 0, 2, 1]))
            array([8, 5, 3, 2, 1])
        """
        sums = at_leaves.copy()
        # Not from differences of cumulative sums, whose rounding errors would replace zeros.
        order = np.argsort(self.depth, kind="stable")
        ends = np.cumsum(np.bincount(self.depth))
        for start, end in zip(ends[-2::-1], ends[:0:-1], strict=True):  # the deepest level first
            level = order[start:end]
            np.add.at(sums, self.parent[level], sums[level])
        return sums

    def survivors(self, shares: np.ndarray, threshold: float) -> tuple[Topology, list[list[int]]]:
        """The tree without the branches that too few samples take.

        If all branches of a node are below the threshold, the most visited one stays. A node that
        is left with one branch decides nothing, and is merged with its child.

        Args:
            shares: share of the samples that reaches each node.
            threshold: least share for a branch to stay.

        Shapes:
            shares ``[num_nodes]``.

        Returns:
            The topology that is left, and for each of its nodes the nodes of this topology that
            are merged in it, from the top down: the last of them decides or predicts.

        Example:
            >>> left, nodes = Topology([(1, 2), (), (3, 4), (), ()]).survivors(
            ...     np.array([1.0, 0.6, 0.4, 0.4, 0.0]), threshold=0.01)
            >>> left.to_lists(), nodes
            ([(1, 2), (), ()], [[0], [1], [2, 3]])
        """
        merged: list[list[int]] = []
        children: list[tuple[int, ...]] = []
        waiting = [0]  # the first old node of each new node, level by level
        for first in waiting:
            nodes, stay = [first], self._staying(first, shares, threshold)
            while len(stay) == 1 and (
                shares[stay[0]] < threshold or len(self.children_of(nodes[-1])) > 1
            ):
                nodes.append(stay[0])
                stay = self._staying(stay[0], shares, threshold)
            children.append(tuple(range(len(waiting), len(waiting) + len(stay))))
            waiting += stay
            merged.append(nodes)
        return Topology(children), merged

    def _staying(self, node: int, shares: np.ndarray, threshold: float) -> list[int]:
        below = self.children_of(node)
        stay = [u for u in below if shares[u] >= threshold]
        return stay or sorted(below, key=lambda u: -shares[u])[:1]

    def jumps(self, device: torch.device) -> list[Tensor]:
        """The ancestors of all nodes 1, 2, 4, 8, ... edges up, until all are above the root.

        Shapes:
            each ``[num_nodes + 1]``; the number ``num_nodes`` means above the root.
        """
        if device not in self._on_device:
            with torch.inference_mode(False):  # else no later call could be differentiated
                ways = [torch.from_numpy(up).to(device) for up in self._ancestors()]
            self._on_device[device] = ways
        return self._on_device[device]

    def sides(self, like: Tensor) -> Tensor:
        """For each side of each inner node of a binary tree, 1 at the leaves that are below it.

        Args:
            like: tensor on the device and in the precision of the result.

        Shapes:
            ``[2 inner nodes, leaves]``; all left sides come first, then all right ones.

        Example:
            >>> Topology([(1, 2), (), (3, 4), (), ()]).sides(torch.zeros(()))
            tensor([[1., 0., 0.],
                    [0., 1., 0.],
                    [0., 1., 1.],
                    [0., 0., 1.]])
        """
        key = like.device, like.dtype
        if key not in self._on_device:
            at_leaves = np.zeros((self.num_nodes, len(self.leaves)))
            at_leaves[self.leaves, np.arange(len(self.leaves))] = 1
            below = self.sums_below(at_leaves)
            below = below[np.concatenate([self.children[::2], self.children[1::2]])]
            with torch.inference_mode(False):
                self._on_device[key] = torch.from_numpy(below).to(*key)
        return self._on_device[key]

    def __getstate__(self) -> dict[str, Any]:
        # A file may be read where there is no such device.
        return self.__dict__ | {"_on_device": {}}

    def _ancestors(self) -> Iterator[np.ndarray]:
        up = np.append(np.where(self.parent == NONE, self.num_nodes, self.parent), self.num_nodes)
        while (up < self.num_nodes).any():
            yield up
            up = up[up]


def _parents(offsets: np.ndarray, children: np.ndarray) -> np.ndarray:
    number = len(offsets) - 1
    if not number:
        raise NotATreeError("a tree has at least one node; got none")
    above = np.repeat(np.arange(number), np.diff(offsets))
    outside = (children <= above) | (children >= number)
    again = np.ones(len(children), bool)
    again[np.unique(children, return_index=True)[1]] = False  # where a child occurs first
    if (outside | again).any():
        e = int((outside | again).argmax())
        if outside[e]:
            raise NotATreeError(
                f"node {above[e]} has the child {children[e]} in a tree of {number} nodes; "
                "expected a number above the parent's"
            )
        raise NotATreeError(
            f"node {children[e]} has 2 parents; in a tree every node has at most one"
        )
    parent = np.full(number, NONE)
    parent[children] = above
    orphans = np.flatnonzero(parent[1:] == NONE) + 1
    if len(orphans):
        raise NotATreeError(f"node {orphans[0]} has no parent; expected node 0 to be the only root")
    return parent


def as_topology(tree: Topology | DGLGraph) -> Topology:
    """The topology of a DGL graph, or the topology itself.

    Raises:
        GraphError: it is a model, whose topology was meant, or :meth:`Topology.from_graph` fails.
    """
    if isinstance(getattr(tree, "topology", None), Topology):
        kind, has_method = type(tree).__name__, hasattr(tree, "leaf_log_prob")
        raise GraphError(
            f"expected a Topology or a DGL graph of the schema; got a {kind}, whose attribute "
            "topology is one"
            + ", and whose method leaf_log_prob gives what its leaves have for samples"
            * has_method
        )
    return tree if isinstance(tree, Topology) else Topology.from_graph(tree)
