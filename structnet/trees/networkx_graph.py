"""Trees and schema graphs as networkx graphs, and back.

In networkx edges run parent -> child, so that ``networkx.is_arborescence`` is true for a tree. All
attributes are texts, numbers and booleans, which every file format of networkx can store.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from structnet.checks import check_memory
from structnet.errors import GraphError, NotATreeError
from structnet.trees.forest import Forest
from structnet.trees.schema import check_fields, make_graph
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from dgl import DGLGraph


NODE_BYTES = 500  # at least, of a node and the edge above it in networkx


def to_networkx(graph: Tree | Forest | DGLGraph | Any) -> nx.DiGraph:
    """The tree or forest with edges parent -> child, each with its ``pos``.

    Nodes are numbers. Those of a Tree are numbered in preorder (the root is 0) and have a ``label``
    and, if there is one, a ``token``; those of a Forest or a DGL graph keep their numbers and have
    ``type`` and ``token``. Nodes of a model tree also have its descriptions of them: ``kind``,
    ``words``, ``parameters``, ``transformers`` and, if there is one, ``shape``. The graph attribute
    ``roots`` is a text of the roots' numbers, ``"0 7"``.

    The result can be written as GraphML, GEXF, JSON or DOT: labels and tokens that are texts,
    numbers or booleans stay as they are, and all others become text.

    Args:
        graph: tree, forest, DGL graph of the schema, tree that is a model
            (:class:`structnet.routing.RoutedTree`), or fitted estimator of such trees, of which it
            is the first, as by its own method ``to_networkx``.

    Returns:
        A DiGraph; or a MultiDiGraph, whose keys are the places, if the forest stores equal subtrees
        once and a node has the same child in two places. With a forest that was built with
        ``share=False``, every tree is a component.

    Raises:
        GraphError: a DGL graph does not follow the schema.
        ValueError: a tree that shares subtrees does not fit in memory without sharing.

    Example:
        >>> tree = Tree("MAX", [Tree("2"), Tree("9")])
        >>> digraph = to_networkx(tree)
        >>> digraph.nodes(data="label")
        NodeDataView({0: 'MAX', 1: '2', 2: '9'}, data='label')
        >>> nx.is_arborescence(digraph)
        True
        >>> nx.parse_graphml("\\n".join(nx.generate_graphml(digraph))).nodes["1"]
        {'label': '2'}
    """
    if isinstance(graph, Tree):
        return _from_tree(graph)
    if hasattr(graph, "topology"):
        return _from_model(graph)
    if hasattr(graph, "read") and hasattr(graph, "to_networkx"):  # an estimator of such trees
        return graph.to_networkx()
    if isinstance(graph, Forest):
        child, pos, roots = graph.children, graph.pos, graph.roots
        parent = np.repeat(np.arange(graph.num_nodes), np.diff(graph.offsets))
        types, tokens = graph.types, graph.tokens
    else:
        check_fields(graph)
        child, parent = (ends.numpy() for ends in graph.edges())
        pos = graph.edata["pos"].numpy()
        types, tokens = graph.ndata["type"].numpy(), graph.ndata["token"].numpy()
        roots = np.flatnonzero(graph.out_degrees().numpy() == 0)
    edges = list(zip(parent.tolist(), child.tolist(), pos.tolist(), strict=True))
    # A DiGraph has one edge from a node to another, so one place for each child.
    repeated = len({edge[:2] for edge in edges}) < len(edges)
    digraph = (nx.MultiDiGraph if repeated else nx.DiGraph)(roots=" ".join(map(str, roots)))
    digraph.add_nodes_from(
        (v, {"type": t, "token": k})
        for v, (t, k) in enumerate(zip(types.tolist(), tokens.tolist(), strict=True))
    )
    keys = ({"key": place} if repeated else {} for _, _, place in edges)
    for (p, c, place), key in zip(edges, keys, strict=True):
        digraph.add_edge(p, c, pos=place, **key)
    return digraph


def _from_model(tree: Any) -> nx.DiGraph:  # of a higher layer, so known by its methods only
    digraph = nx.DiGraph(roots="0")
    numbers = zip(*map(np.ndarray.tolist, tree.topology.numbers()), strict=True)
    for v, (kind, token) in enumerate(numbers):
        facts = tree.facts(v)._asdict()
        facts = {name: _plain(fact) for name, fact in facts.items() if fact is not None}
        digraph.add_node(v, type=kind, token=token, **facts)
    for parent, child, pos in zip(*map(np.ndarray.tolist, tree.topology.edges()), strict=True):
        digraph.add_edge(parent, child, pos=pos)
    return digraph


def _from_tree(tree: Tree) -> nx.DiGraph:
    check_memory("a networkx node for each node of this tree", NODE_BYTES * tree.size)
    digraph = nx.DiGraph(roots="0")
    stack: list[tuple[Tree, Any, int]] = [(tree, None, 0)]
    while stack:
        node, parent, pos = stack.pop()
        number = len(digraph)
        token = {} if node.token is None else {"token": _plain(node.token)}
        digraph.add_node(number, label=_plain(node.label), **token)
        if parent is not None:
            digraph.add_edge(parent, number, pos=pos)
        # Reversed, the first child is popped first: numbers follow the preorder.
        below = [(child, number, place) for place, child in enumerate(node.children)]
        stack.extend(reversed(below))
    return digraph


def _plain(value: Any) -> str | int | float | bool:
    """A value for files: numpy's numbers as Python's, and anything but numbers as text."""
    value = value.item() if isinstance(value, np.generic) else value
    # A file format may refuse, for example, an int of an enumeration.
    return value if type(value) in (str, int, float, bool) else str(value)


def from_networkx(digraph: nx.DiGraph) -> DGLGraph:
    """The DGL graph of a digraph in the form that :func:`to_networkx` returns for it.

    Args:
        digraph: DiGraph or MultiDiGraph whose edges parent -> child have ``pos`` and whose nodes
            have ``type`` and ``token`` (-1 for none). Nodes are numbered in the digraph's order. A
            digraph whose nodes have labels is read by :func:`structnet.parse.networkx_tree`.

    Raises:
        GraphError: the graph is undirected, a node or an edge lacks an attribute, or the attribute
            is not an int.

    Example:
        >>> digraph = nx.DiGraph()
        >>> digraph.add_node("f", type=0, token=-1)
        >>> digraph.add_node("x", type=-1, token=3)
        >>> digraph.add_edge("f", "x", pos=0)
        >>> graph = from_networkx(digraph)
        >>> graph.edges()  # child -> parent
        (tensor([1]), tensor([0]))
    """
    if not digraph.is_directed():
        raise NotATreeError(
            "trees are read from a DiGraph or a MultiDiGraph, edges parent -> child; got a "
            + type(digraph).__name__
        )
    number = {node: i for i, node in enumerate(digraph)}
    fields = {}
    for name in ("type", "token"):
        values = list(digraph.nodes(data=name))
        missing = [node for node, value in values if value is None]
        if missing:
            raise GraphError(
                f"node {missing[0]!r} has no {name!r}; from_networkx needs 'type' and 'token' "
                "(structnet.parse.networkx_tree reads labels)"
            )
        fields[name] = np.array(
            [_whole(value, f"node {node!r}", name) for node, value in values], np.int64
        )
    edges = []
    for parent, child, pos in digraph.edges(data="pos"):
        if pos is None:
            raise GraphError(f"edge {parent!r} -> {child!r} has no 'pos', the child's place")
        place = _whole(pos, f"edge {parent!r} -> {child!r}", "pos")
        edges.append((number[parent], number[child], place))
    # A digraph without edges still has three rows of none; copied, each row is contiguous.
    parent, child, pos = np.array(edges, np.int64).reshape(-1, 3).T.copy()
    return make_graph(parent, child, pos, fields["type"], fields["token"])


def _whole(value: Any, what: str, name: str) -> int:
    """The value of an attribute, which must be an int and not a bool."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise GraphError(f"{what} has {name!r} {value!r}; expected an int")
    return int(value)
