"""Paths through a model's tree: how probable each leaf is, which leaf is reached, who is where.

A model that routes its input is a product of choices along a path. The tree is a DGL graph of the
schema (see :mod:`structnet.trees.forest`); a :class:`Topology` is what routing needs of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from structnet.errors import GraphError, NotATreeError
from structnet.trees.schema import check_fields, make_graph

if TYPE_CHECKING:
    from dgl import DGLGraph

NONE = -1


class Topology:
    """The shape of one rooted tree whose nodes are numbered, parents before their children.

    Attributes:
        parent: ``[num_nodes]``, -1 for the root, which is node 0.
        children: for each node, its children in the order of their places.
        leaves: ``[num_leaves]``, the nodes without children, ascending.
        depth: ``[num_nodes]``, the edges between the root and the node.

    Args:
        children: for each node, its children in the order of their places.

    Raises:
        NotATreeError: a node has no parent or several, or comes before its parent.

    Example:
        >>> topology = Topology([(1, 2), (), (3, 4), (), ()])
        >>> topology.leaves.tolist(), topology.path(4)
        ([1, 3, 4], [0, 2, 4])
    """

    def __init__(self, children: Sequence[Sequence[int]]):
        self.children = [tuple(map(int, each)) for each in children]
        self.parent = _parents(self.children)
        self.leaves = np.array([v for v, each in enumerate(self.children) if not each], np.int64)
        depth = np.zeros(len(self.children), np.int64)
        for v in range(1, len(depth)):
            depth[v] = depth[self.parent[v]] + 1
        self.depth = depth
        self._jumps: dict[torch.device, list[Tensor]] = {}

    @classmethod
    def from_graph(cls, graph: DGLGraph) -> Topology:
        """The topology of a DGL graph of the schema, its children ordered by ``pos``.

        Raises:
            GraphError: a missing field, or two children in one place.
            NotATreeError: a node has several parents, or comes before its parent, or there are
                several roots.
        """
        check_fields(graph)
        child, parent = (ends.numpy() for ends in graph.edges())
        pos = graph.edata["pos"].numpy()
        order = np.lexsort((pos, parent))
        child, parent, pos = child[order], parent[order], pos[order]
        clash = (parent[1:] == parent[:-1]) & (pos[1:] == pos[:-1])
        if clash.any():
            e = int(clash.argmax())
            raise GraphError(f"node {parent[e]} has two children in place {pos[e]}; places differ")
        ends = np.cumsum(np.bincount(parent, minlength=graph.num_nodes()))
        return cls(np.split(child, ends[:-1]) if len(ends) else [])

    def graph(self, types: np.ndarray, tokens: np.ndarray) -> DGLGraph:
        """A DGL graph of the schema with this shape.

        Shapes:
            types, tokens: ``[num_nodes]``, int64.
        """
        counts = [len(each) for each in self.children]
        child = np.array([u for each in self.children for u in each], np.int64)
        pos = np.array([p for each in self.children for p in range(len(each))], np.int64)
        parent = np.repeat(np.arange(self.num_nodes), counts)
        return make_graph(parent, child, pos, types, tokens)

    @property
    def num_nodes(self) -> int:
        return len(self.children)

    def path(self, node: int) -> list[int]:
        """The nodes from the root to a node, both included."""
        path = [int(node)]
        while self.parent[path[-1]] != NONE:
            path.append(int(self.parent[path[-1]]))
        return path[::-1]

    def sums_below(self, at_leaves: np.ndarray) -> np.ndarray:
        """What stands at the leaves, summed at each node over the leaves below it.

        Shapes:
            ``[num_nodes, ...]``, 0 at inner nodes -> the same.

        Example:
            >>> Topology([(1, 2), (), (3, 4), (), ()]).sums_below(np.array([0, 5, 0, 2, 1]))
            array([8, 5, 3, 2, 1])
        """
        sums = at_leaves.copy()
        for v in range(len(sums) - 1, 0, -1):  # children have higher numbers than their parents
            sums[self.parent[v]] += sums[v]
        return sums

    def jumps(self, device: torch.device) -> list[Tensor]:
        """For each node its ancestor 1, 2, 4, 8, ... edges up, until all are above the root.

        Shapes:
            each ``[num_nodes + 1]``; "above the root" is the number ``num_nodes``.
        """
        if device not in self._jumps:
            up = np.append(np.where(self.parent == NONE, self.num_nodes, self.parent), -1)
            up[-1] = self.num_nodes
            found = []
            while (up < self.num_nodes).any():
                found.append(torch.from_numpy(up).to(device))
                up = up[up]
            self._jumps[device] = found
        return self._jumps[device]


def _parents(children: Sequence[tuple[int, ...]]) -> np.ndarray:
    parent = np.full(len(children), NONE, np.int64)
    if not len(children):
        raise NotATreeError("a tree has at least one node; got none")
    for v, each in enumerate(children):
        for u in each:
            if not v < u < len(children):
                raise NotATreeError(
                    f"node {v} has the child {u} of {len(children)} nodes; expected a number "
                    "above the parent's own"
                )
            if parent[u] != NONE:
                raise NotATreeError(f"node {u} has 2 parents; in a tree every node has at most one")
            parent[u] = v
    orphans = np.flatnonzero(parent[1:] == NONE) + 1
    if len(orphans):
        raise NotATreeError(f"node {orphans[0]} has no parent; expected node 0 to be the only root")
    return parent


def as_topology(tree: Topology | DGLGraph) -> Topology:
    """The topology of a DGL graph, or the topology itself."""
    return tree if isinstance(tree, Topology) else Topology.from_graph(tree)
