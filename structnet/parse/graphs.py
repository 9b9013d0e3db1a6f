"""Arborescences of networkx, or of any library with the same methods of directed graphs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from structnet.errors import NotATreeError
from structnet.parse.reading import cycle_above, unfold
from structnet.trees.number_tokens import number_of
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    import networkx as nx


def networkx_tree(
    digraph: nx.DiGraph, label: str = "label", token: str = "token", order: str = "pos"
) -> Tree:
    """The tree of a directed graph whose edges run from parent to child.

    Args:
        digraph: an arborescence: one node has no parent, and every other node has one.
        label: node attribute that becomes a node's label; a node without it is its own label.
        token: node attribute that becomes a node's token; a node without it has no token.
        order: edge attribute by which children are sorted. If an edge below a node lacks it, the
            children of that node are in the order in which their edges were added. Texts that are
            numbers count as numbers, as DOT files have nothing but text.

    Raises:
        NotATreeError: the graph is empty, undirected or a multigraph, a node has two parents,
            there are several roots or a cycle, or the values of ``order`` cannot be compared.

    Example:
        >>> import networkx as nx
        >>> graph = nx.DiGraph()
        >>> graph.add_edge("and", "b", pos=1)
        >>> graph.add_edge("and", "a", pos=0)
        >>> networkx_tree(graph)
        <Tree (and a b)>
        >>> networkx_tree(nx.DiGraph([(0, 2), (1, 2)]))
        Traceback (most recent call last):
            ...
        structnet.errors.NotATreeError: node 2 has 2 parents, 0 and 1; in a tree every node has at
        most one
    """
    root = _root(digraph)
    reached = set()

    def expand(node: Hashable) -> tuple[Hashable, Sequence, Hashable | None]:
        reached.add(node)
        edges = digraph.adj[node]
        children = list(edges)
        if all(order in data for data in edges.values()):
            places = _places({child: edges[child][order] for child in children})
            try:
                children.sort(key=places.__getitem__)
            except TypeError:
                types = {type(data[order]).__name__ for data in edges.values()}
                raise NotATreeError(
                    f"the children of node {node!r} cannot be put in order, as their {order!r} are "
                    f"of the types {', '.join(sorted(types))}; expected numbers"
                ) from None
        attributes = digraph.nodes[node]
        return attributes.get(label, node), children, attributes.get(token)

    tree = unfold(root, expand)
    if tree.size < len(digraph):
        raise NotATreeError(_cycle(digraph, reached))
    return tree


def _places(values: dict[Hashable, Any]) -> dict[Hashable, Any]:
    """The values of some nodes or, if all are texts of numbers, these numbers."""
    numbers = {node: number_of(text) for node, text in values.items() if isinstance(text, str)}
    return values if len(numbers) < len(values) or None in numbers.values() else numbers


def _root(digraph: nx.DiGraph) -> Hashable:
    """The node without a parent; raises an error if there is none or there are several."""
    if not digraph.is_directed() or digraph.is_multigraph():
        kind = type(digraph).__name__
        raise NotATreeError(f"a tree is read from a DiGraph, edges parent -> child; got a {kind}")
    for node in digraph:
        parents = list(digraph.pred[node])
        if len(parents) > 1:
            raise NotATreeError(
                f"node {node!r} has {len(parents)} parents, {parents[0]!r} and {parents[1]!r}"
                f"{' among them' * (len(parents) > 2)}; in a tree every node has at most one"
            )
    roots = [node for node in digraph if not digraph.pred[node]]
    if not roots:
        # The graph is empty, or going up from any node never ends.
        raise NotATreeError(_cycle(digraph, set()) if len(digraph) else "the graph has no nodes")
    if len(roots) > 1:
        raise NotATreeError(
            f"{len(roots)} nodes have no parent, {roots[0]!r} and {roots[1]!r}"
            f"{' among them' * (len(roots) > 2)}; a tree has one root"
        )
    return roots[0]


def _cycle(digraph: nx.DiGraph, reached: set[Hashable]) -> str:
    """Says which nodes form a cycle, where each has a parent and the root does not reach all."""
    start = next(node for node in digraph if node not in reached)
    cycle = cycle_above(start, lambda node: next(iter(digraph.pred[node])))
    shown = " <- ".join(map(repr, cycle[:8])) + " <- ..." * (len(cycle) > 8)
    return f"a cycle, {shown} <- {cycle[0]!r}; a tree has none"
