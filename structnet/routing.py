"""Paths through a model's tree: how probable each leaf is, which leaf is reached, who is where.

A model that routes its input is a product of choices along a path. The tree is a DGL graph of the
schema (see :mod:`structnet.graph`); a :class:`Topology` is what routing needs of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from structnet.errors import GraphError, NotATreeError
from structnet.graph import Forest, make_graph

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
        Forest.check_fields(graph)
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


def leaf_log_prob(tree: Topology | DGLGraph, branch_log_prob: Tensor) -> Tensor:
    """The log-probability of each leaf: the sum of those of the branches on the way to it.

    ``log pi_l(x) = sum of log b_v(x) over the nodes v from the root to the leaf l``

    Every node's way is doubled until it ends at the root, so that a tree of depth D takes
    ``log2 D`` additions and no node waits for the one above it.

    Args:
        tree: the model's tree.
        branch_log_prob: the log-probability of going to each node once its parent is reached; 0
            for the root and for an only child.

    Shapes:
        branch_log_prob ``[..., num_nodes]`` -> ``[..., num_leaves]``, the leaves in ascending
        order.

    Raises:
        ValueError: there is not one branch a node.

    Reference:
        Tanno et al., Adaptive Neural Trees, ICML 2019, Eq. (2), in log space.

    Example:
        >>> split = torch.tensor([[1.0, 0.25, 0.75, 0.5, 0.5]]).log()
        >>> leaf_log_prob(Topology([(1, 2), (), (3, 4), (), ()]), split).exp()
        tensor([[0.2500, 0.3750, 0.3750]])
    """
    topology = as_topology(tree)
    leaves = torch.from_numpy(topology.leaves).to(branch_log_prob.device)
    return node_log_prob(topology, branch_log_prob).index_select(-1, leaves)


def node_log_prob(tree: Topology | DGLGraph, branch_log_prob: Tensor) -> Tensor:
    """The log-probability of each node to be reached; see :func:`leaf_log_prob`.

    Shapes:
        ``[..., num_nodes]`` -> ``[..., num_nodes]``.
    """
    topology = as_topology(tree)
    if branch_log_prob.dim() == 0 or branch_log_prob.shape[-1] != topology.num_nodes:
        raise ValueError(
            f"branch_log_prob must be [..., {topology.num_nodes}], one number a node. Got "
            f"{list(branch_log_prob.shape)}."
        )
    way = torch.nn.functional.pad(branch_log_prob, (0, 1))  # nothing is added above the root
    for up in topology.jumps(way.device):
        way = way + way.index_select(-1, up)  # several times faster than indexing by the tensor
    return way[..., :-1]


def hard_route(tree: Topology | DGLGraph, place: Tensor) -> Tensor:
    """The leaf that each sample reaches by following one branch a level.

    Args:
        tree: the model's tree.
        place: for each sample, the place of the child to go to from each node; what stands at a
            leaf is not read.

    Shapes:
        place ``[n, num_nodes]``, int64 -> ``[n]``, the nodes of the leaves.

    Raises:
        ValueError: a shape that does not fit, or a place in which a node has no child.

    Example:
        >>> hard_route(Topology([(1, 2), (), (3, 4), (), ()]), torch.tensor([[0] * 5, [1] * 5]))
        tensor([1, 4])
    """
    topology = as_topology(tree)
    if place.dim() != 2 or place.shape[1] != topology.num_nodes:
        raise ValueError(
            f"place must be [n, {topology.num_nodes}], one place a node. Got {list(place.shape)}."
        )
    arity = max(map(len, topology.children))
    table = torch.full((topology.num_nodes, arity + 1), NONE)  # one more: no node has that place
    for v, each in enumerate(topology.children):
        table[v, : len(each)] = torch.tensor(each)
    table, inner = table.to(place.device), torch.tensor([bool(each) for each in topology.children])
    inner, rows = inner.to(place.device), torch.arange(len(place), device=place.device)
    node = torch.zeros(len(place), dtype=torch.int64, device=place.device)
    for _ in range(int(topology.depth.max())):
        chosen = place[rows, node]
        outside = (chosen < 0) | (chosen >= arity)
        below = table[node, chosen.masked_fill(outside, arity)]
        wrong = inner[node] & (below == NONE)
        if wrong.any():
            i = int(wrong.nonzero()[0, 0])
            v = int(node[i])
            raise ValueError(
                f"sample {i} goes to place {int(chosen[i])} from node {v}, which has "
                f"{len(topology.children[v])} children"
            )
        node = torch.where(inner[node], below, node)
    return node


def group(node: Tensor, num_nodes: int) -> list[Tensor]:
    """The samples at each node, so that a node's module sees its own rows and no others.

    Args:
        node: where each sample is.
        num_nodes: how many nodes there are.

    Shapes:
        ``[n]`` -> ``num_nodes`` index tensors, each ascending, ``n`` indices in all.

    Raises:
        ValueError: a sample is at a node that does not exist.

    Example:
        >>> group(torch.tensor([2, 0, 2]), 3)
        [tensor([1]), tensor([], dtype=torch.int64), tensor([0, 2])]
    """
    outside = (node < 0) | (node >= num_nodes)
    if outside.any():
        i = int(outside.nonzero()[0, 0])
        raise ValueError(
            f"sample {i} is at node {int(node[i])}; expected one of 0 to {num_nodes - 1}"
        )
    order = torch.argsort(node, stable=True)
    return list(order.split(torch.bincount(node, minlength=num_nodes).tolist()))
