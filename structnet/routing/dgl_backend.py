"""The reference for routing: DGL's own message passing, from parent to child.

Each function walks through the levels of the model's graph from the root down, by
``DGLGraph.prop_nodes`` under autograd. It is slow and simple; the fast functions are tested against
it. As a node has only one parent, every mailbox has one message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from structnet.routing.topology import Topology
from structnet.trees.schema import dgl

if TYPE_CHECKING:
    from dgl import DGLGraph


def node_log_prob(topology: Topology, branch_log_prob: Tensor) -> Tensor:
    """``log pi_v = log pi_parent(v) + log b_v``. ``[..., num_nodes]`` -> the same."""
    graph = _downward(topology, branch=branch_log_prob.movedim(-1, 0))
    graph.ndata["log_prob"] = graph.ndata["branch"]  # the root's

    def message(edges: Any) -> dict[str, Tensor]:  # DGL's EdgeBatch
        return {"above": edges.src["log_prob"]}

    def reduce(nodes: Any) -> dict[str, Tensor]:  # DGL's NodeBatch
        return {"log_prob": nodes.mailbox["above"].squeeze(1) + nodes.data["branch"]}

    _walk(graph, message, reduce)
    return graph.ndata["log_prob"].movedim(0, -1).to(branch_log_prob.device)


def hard_route(topology: Topology, place: Tensor) -> Tensor:
    """The leaf that each sample reaches by the places chosen. ``[n, num_nodes] -> [n]``.

    Raises:
        ValueError: a sample reaches a node without a child in the place chosen there.
    """
    graph = _downward(topology, place=place.T)
    graph.ndata["here"] = torch.zeros_like(graph.ndata["place"], dtype=torch.bool)
    graph.ndata["here"][0] = True

    def message(edges: Any) -> dict[str, Tensor]:
        chosen = edges.src["place"] == edges.data["pos"][:, None]
        return {"comes": edges.src["here"] & chosen}

    def reduce(nodes: Any) -> dict[str, Tensor]:
        return {"here": nodes.mailbox["comes"].squeeze(1)}

    _walk(graph, message, reduce)
    here = graph.ndata["here"].cpu()  # [num_nodes, n]
    _check_places(topology, place, here)
    leaves = torch.from_numpy(topology.leaves)
    return leaves[here[leaves].int().argmax(0)].to(place.device)


def _check_places(topology: Topology, place: Tensor, here: Tensor) -> None:
    lost = torch.from_numpy(topology.inner)[:, None] & here  # some of these reach no child
    for node, sample in lost.nonzero().tolist():
        children = topology.children_of(node)
        if not 0 <= int(place[sample, node]) < len(children):
            raise ValueError(
                f"sample {sample} goes to place {int(place[sample, node])} from node {node}, which "
                f"has {len(children)} children"
            )


def _downward(topology: Topology, **fields: Tensor) -> DGLGraph:
    """The model's graph with reversed edges, from parent to child, and the given node fields."""
    graph = dgl().reverse(topology.graph(), copy_edata=True)
    for name, value in fields.items():
        graph.ndata[name] = value.cpu()
    return graph


def _walk(graph: DGLGraph, message: Callable, reduce: Callable) -> None:
    levels = dgl().topological_nodes_generator(graph)
    if len(levels) > 1:  # the root receives nothing
        graph.prop_nodes(levels[1:], message, reduce)
