"""A softmax tree as a networkx graph with all its weights, and back."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import numpy as np

from structnet.errors import GraphError
from structnet.softmax_tree.draft import Draft, Node
from structnet.softmax_tree.nodes import Hyperplane, Leaf
from structnet.softmax_tree.tree import SoftmaxTree
from structnet.trees.networkx_graph import to_networkx

# The types of the arrays of a node.
KINDS = {"weight": np.float32, "bias": np.float32, "classes": np.int64, "columns": np.int64}


def with_weights(tree: SoftmaxTree) -> nx.DiGraph:
    """The graph of :func:`structnet.to_networkx`, with each node's weights as an attribute ``own``.

    They are JSON text in full precision, so that GraphML and JSON files can hold them.

    Example:
        >>> import numpy as np
        >>> from structnet.softmax_tree import SoftmaxTreeSettings, train
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 5)
        >>> tree = train(x, [0, 1, 2, 3] * 5, SoftmaxTreeSettings(depth=1, k=2)).tree
        >>> again = tree_from_networkx(with_weights(tree))
        >>> again.predict(x[:4]).tolist()
        [0, 1, 2, 3]
    """
    digraph, draft = to_networkx(tree), tree.draft()
    shares = json.dumps(None if draft.shares is None else draft.shares.tolist())
    digraph.graph.update(num_features=tree.shape[0], num_classes=tree.num_classes, shares=shares)
    for number, node in enumerate(draft.nodes):
        values = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(node).items()
        }
        digraph.nodes[number]["own"] = json.dumps(values)
    return digraph


def tree_from_networkx(digraph: nx.DiGraph) -> SoftmaxTree:
    """The tree of a graph from :func:`with_weights`, possibly after a round trip through a file.

    Raises:
        GraphError: a node has no weights, or invalid ones.
    """
    try:
        digraph = nx.relabel_nodes(digraph, int)  # a file may have turned numbers into text
        return _tree_of(digraph)
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # also from JSON
        raise GraphError(
            "the graph does not hold a softmax tree as with_weights writes it: "
            f"{type(error).__name__}: {error}"
        ) from error


def _tree_of(digraph: nx.DiGraph) -> SoftmaxTree:
    nodes: list[Node] = []
    children: list[tuple[int, ...]] = []
    for number in range(len(digraph)):
        text = digraph.nodes[number].get("own")
        if text is None:
            raise GraphError(f"node {number} has no 'own', its weights; expected a softmax tree")
        own: dict[str, Any] = {
            name: np.array(value, KINDS[name]) if isinstance(value, list) else value
            for name, value in json.loads(text).items()
        }
        below = sorted(digraph.out_edges(number, data="pos"), key=lambda edge: edge[2])
        children.append(tuple(child for _, child, _ in below))
        if not below:
            own["weight"] = own["weight"].reshape(-1, len(own["classes"]))  # if it is empty, too
        nodes.append(Hyperplane(**own) if below else Leaf(**own))
    attributes, shares = digraph.graph, json.loads(digraph.graph["shares"])
    draft = Draft(children, nodes, None if shares is None else np.array(shares, np.float32))
    return SoftmaxTree.from_draft(draft, attributes["num_features"], attributes["num_classes"])
