"""One branch a level: which leaf each sample reaches, and which samples are at each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from structnet.routing.topology import NONE, Topology, as_topology

if TYPE_CHECKING:
    from dgl import DGLGraph


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
