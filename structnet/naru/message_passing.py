"""The network as a DGL heterograph, one step of it as DGL message passing, and a networkx graph.

The step is the reference for the batched forms: messages compute Eq. (1-4) on edges, and their sum
over both edge types and the activation compute Eq. (5, 8) on nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import torch
from torch import Tensor
from torch.nn.functional import mish

from structnet.naru.capsules import Capsules
from structnet.naru.wiring import Wiring
from structnet.trees.schema import dgl

if TYPE_CHECKING:
    from dgl import DGLGraph

    from structnet.naru.statistics import RoutingStats


def heterograph(network: Capsules) -> DGLGraph:
    """The network with a node type per capsule ("capsule0", ...) and an edge per connection.

    Edges begin at the bundle that is read: those of type "route" run from a target back to the
    bundle that may elect it, those of type "source" from a source forward, those of type "own" from
    a bundle to itself. ``edata["place"]`` is the connection's place in its bundle; that of a source
    has ``edata["rank"]``, the place of its owner among the source's targets; ``edata["W"]``,
    ``["w_gb"]`` and ``["w_gh"]`` are its parameters; ``ndata["connections"]`` is the number of a
    bundle's connections.
    """
    wiring = network.wiring
    edges: dict[tuple[str, str, str], tuple[Tensor, Tensor]] = {}
    fields: dict[tuple[str, str, str], list[tuple[int, int, int]]] = {}
    for p, size in enumerate(wiring.sizes):
        for a in range(size):
            for place, (q, b) in enumerate(wiring.reads(p, a)):
                kind = _edge_type(q, "route" if q > p else "own" if q == p else "source", p)
                fields.setdefault(kind, []).append((b, a, place))
    for kind, connections in fields.items():
        read, owner, _ = zip(*connections, strict=True)
        edges[kind] = (torch.tensor(read), torch.tensor(owner))
    nodes = {f"capsule{p}": size for p, size in enumerate(wiring.sizes)}
    graph = dgl().heterograph(edges, num_nodes_dict=nodes)
    for kind, connections in fields.items():
        p = int(kind[2].removeprefix("capsule"))
        bundles, every = network.capsule(p), network.weights(p)
        parts = [
            (every[a].split(bundles[a].reads)[place], *bundles[a].connection(place)[1:])
            for _, a, place in connections
        ]
        for name, values in zip(("W", "w_gb", "w_gh"), zip(*parts, strict=True), strict=True):
            graph.edges[kind].data[name] = torch.stack(values)
        graph.edges[kind].data["place"] = torch.tensor([place for _, _, place in connections])
        if kind[1] == "source":
            ranks = [wiring.links[p - 1][b].index(a) for b, a, _ in connections]
            graph.edges[kind].data["rank"] = torch.tensor(ranks)
    for p, size in enumerate(wiring.sizes):
        counts = [len(wiring.reads(p, a)) for a in range(size)]
        graph.nodes[f"capsule{p}"].data["connections"] = torch.tensor(counts)
    return graph


def message(edges: Any) -> dict[str, Tensor]:  # DGL's EdgeBatch
    """``z = b W, g = sigmoid((h . w_gh + b . w_gb) / 2), c = g z``, ``[edges, dim]``."""
    b, h = edges.src["state"], edges.dst["state"]
    z = torch.einsum("er,erd->ed", b, edges.data["W"])
    g = torch.sigmoid(((h * edges.data["w_gh"]).sum(1) + (b * edges.data["w_gb"]).sum(1)) / 2)
    return {"c": g[:, None] * z * edges.data["read"][:, None], "gate": g}


def reduce(nodes: Any) -> dict[str, Tensor]:  # DGL's NodeBatch
    """The sum of each node's messages along edges of one type, ``[nodes, dim]``."""
    return {"total": nodes.mailbox["c"].sum(1)}


def step(
    graph: DGLGraph,
    states: list[Tensor],
    active: list[int],
    x: Tensor | None = None,
    electors: list[int] | None = None,
) -> tuple[list[Tensor], list[int]]:
    """Makes one synchronous step of one sentence.

    Args:
        graph: network, as returned by :func:`heterograph`.
        states: states of all bundles, capsule by capsule.
        active: active bundle of each capsule; -1 for none.
        x: token that enters, if the first capsule is active.
        electors: active bundles of the step before, which alone are read by others; None for a
            wiring without ``memory``, where all are read.

    Returns:
        The states after the step, and the bundles that are active in the next one. That of the
        first capsule is always -1, as only the caller knows whether another token follows.

    Shapes:
        states ``[bundles, dim]`` each, x ``[dims[0]]``.
    """
    depth = len(states)
    with graph.local_scope():
        for p, state in enumerate(states):
            graph.nodes[f"capsule{p}"].data["state"] = state
        for kind in graph.canonical_etypes:
            behind, _ = graph.edges(etype=kind)
            read = torch.ones_like(behind)
            if electors is not None and kind[1] == "source":
                read = (behind == electors[int(kind[0].removeprefix("capsule"))]).long()
            graph.edges[kind].data["read"] = read
        functions = dict.fromkeys(graph.canonical_etypes, (message, reduce))
        for kind in graph.canonical_etypes:
            graph.apply_edges(lambda edges: {"gate": message(edges)["gate"]}, etype=kind)
        graph.multi_update_all(functions, "sum")
        new_states = [states[p].clone() for p in range(depth)]
        following = [-1] * depth
        for p, a in enumerate(active):
            if a < 0:
                continue
            node = graph.nodes[f"capsule{p}"].data
            total = node["total"][a] if "total" in node else 0  # the first may read nothing
            total = total + (0 if p or x is None else x)
            mean = total / node["connections"][a].clamp(min=1)
            new_states[p][a] = mean if p in (0, depth - 1) else mish(mean)
            if p + 1 < depth and electors is None:
                following[p + 1] = _elected(graph, p, a)
        if electors is not None:
            for p, state in enumerate(new_states):
                graph.nodes[f"capsule{p}"].data["state"] = state
            for p, a in enumerate(active[:-1]):
                if a >= 0:
                    following[p + 1] = _elected_by_readers(graph, p, a)
    return new_states, following


def _elected(graph: DGLGraph, p: int, a: int) -> int:
    """The target of the route with the largest gate, the first one at a tie."""
    kind = _edge_type(p + 1, "route", p)
    targets, _, edge = graph.in_edges(a, form="all", etype=kind)
    return _first_largest(graph.edges[kind].data, targets, edge, "place")


def _elected_by_readers(graph: DGLGraph, p: int, a: int) -> int:
    """The target that would read a bundle through the largest gate, the first one at a tie."""
    kind = _edge_type(p, "source", p + 1)
    graph.apply_edges(lambda edges: {"gate": message(edges)["gate"]}, etype=kind)
    _, targets, edge = graph.out_edges(a, form="all", etype=kind)
    return _first_largest(graph.edges[kind].data, targets, edge, "rank")


def _first_largest(data: Any, targets: Tensor, edge: Tensor, order: str) -> int:
    """The target at the edge with the largest gate, the first one in an order of the edges."""
    ordered = data[order][edge].argsort()
    return int(targets[ordered][data["gate"][edge][ordered].argmax()])


def _edge_type(read: int, kind: str, owner: int) -> tuple[str, str, str]:
    return f"capsule{read}", kind, f"capsule{owner}"


def to_networkx(wiring: Wiring, stats: RoutingStats | None = None) -> nx.DiGraph:
    """The routes as edges in the direction of election, between nodes (capsule, bundle).

    Args:
        wiring: wiring of the network.
        stats: statistics, from which nodes get ``visits``, and edges ``count`` (how often the route
            was elected) and, if the statistics have gates and there is no ``memory``, ``gate`` (the
            mean); None for neither.
    """
    digraph = nx.DiGraph(sizes=wiring.sizes, dims=wiring.dims)
    gates = None
    if stats is not None and stats.gates is not None and wiring.memory is None:
        gates = stats.mean_gates()  # of the targets; with memory, they are not read
    for p, size in enumerate(wiring.sizes):
        for a in range(size):
            digraph.add_node((p, a), capsule=p, bundle=a)
            if stats is not None:
                digraph.nodes[p, a]["visits"] = int(stats.visits[p][a])
    for p, bundles in enumerate(wiring.links):
        for a, targets in enumerate(bundles):
            for place, b in enumerate(targets):
                facts: dict[str, Any] = {"place": place}
                if stats is not None:
                    facts["count"] = int(stats.traversals[p][a, b])
                if gates is not None:
                    facts["gate"] = float(gates[p][a, place])
                digraph.add_edge((p, a), (p + 1, b), **facts)
    return digraph
