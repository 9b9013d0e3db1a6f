"""Trees and forests as networkx graphs and back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from enum import IntEnum

import networkx as nx
import numpy as np
import pytest
from forests import assert_same_forest, exactly, forest_of, small_graph, without
from hypothesis import given
from hypothesis import strategies as st
from random_trees import VOCABULARY, chain, doubled, plain_trees, tree_lists

from structnet.errors import GraphError
from structnet.neural_tree import NeuralTree, presets
from structnet.parse import networkx_tree
from structnet.trees.forest import Forest
from structnet.trees.networkx_graph import from_networkx, to_networkx
from structnet.trees.tree import Tree

Through = Callable[[nx.DiGraph], nx.DiGraph]


class Color(IntEnum):
    RED = 1


@given(plain_trees)
def test_networkx_of_a_tree(tree: Tree):
    digraph = to_networkx(tree)
    assert nx.is_arborescence(digraph)
    assert len(digraph) == tree.size
    assert digraph.graph["roots"] == "0"
    nodes = list(tree.preorder())
    for number, attributes in digraph.nodes(data=True):
        assert attributes["label"] == nodes[number].label
        assert "token" not in attributes
    for number, node in enumerate(nodes):
        places = sorted(digraph.out_edges(number, data="pos"), key=lambda edge: edge[2])
        assert [pos for _, _, pos in places] == list(range(len(node.children)))
        assert [nodes[child] for _, child, _ in places] == list(node.children)


def test_networkx_of_a_tree_with_tokens():
    digraph = to_networkx(Tree("nsubj", [Tree("det", token="the")], token="cat"))
    assert dict(digraph.nodes(data=True)) == {
        0: {"label": "nsubj", "token": "cat"},
        1: {"label": "det", "token": "the"},
    }
    assert list(digraph.edges(data="pos")) == [(0, 1, 0)]


@given(tree_lists)
def test_networkx_round_trip(trees: list[Tree]):
    forest = forest_of(trees, share=False)
    for source in (forest, forest.graph):
        digraph = to_networkx(source)
        assert nx.is_branching(digraph)
        roots = [int(root) for root in digraph.graph["roots"].split()]
        assert sorted(roots) == sorted(forest.roots.tolist())
        again = Forest.from_graph(from_networkx(digraph), forest.roots, VOCABULARY)
        assert_same_forest(again, forest)


def test_networkx_keeps_the_order_of_children_whatever_the_order_of_edges():
    forest = forest_of([Tree("A", [Tree("x"), Tree("y"), Tree("z")])])
    digraph = to_networkx(forest)
    shuffled = nx.DiGraph()
    shuffled.add_nodes_from(digraph.nodes(data=True))
    shuffled.add_edges_from(list(digraph.edges(data=True))[::-1])
    assert_same_forest(Forest.from_graph(from_networkx(shuffled), None, VOCABULARY), forest)


def test_networkx_does_not_recurse():
    digraph = to_networkx(chain(20_000))
    assert len(digraph) == 20_000
    assert Forest.from_graph(from_networkx(to_networkx(forest_of([chain(20_000)])))).num_nodes


def test_networkx_of_a_child_in_two_places():
    forest = forest_of([Tree("A", [Tree("x"), Tree("y"), Tree("x")]), Tree("x")])
    digraph = to_networkx(forest)
    assert digraph.is_multigraph() and isinstance(digraph, nx.DiGraph)
    assert [int(root) for root in digraph.graph["roots"].split()] == forest.roots.tolist()
    assert all(key == pos for _, _, key, pos in digraph.edges(keys=True, data="pos"))
    again = Forest.from_graph(from_networkx(digraph), forest.roots, VOCABULARY)
    assert_same_forest(again, forest)
    assert not to_networkx(forest_of([Tree("A", [Tree("x"), Tree("y")])])).is_multigraph()


def through_graphml(digraph: nx.DiGraph) -> nx.DiGraph:
    return nx.parse_graphml("\n".join(nx.generate_graphml(digraph)), int)


def through_gexf(digraph: nx.DiGraph) -> nx.DiGraph:
    text = "\n".join(nx.generate_gexf(digraph))
    return nx.read_gexf(io.BytesIO(text.encode()), node_type=int)


def through_json(digraph: nx.DiGraph) -> nx.DiGraph:
    text = json.dumps(nx.node_link_data(digraph, edges="edges"), allow_nan=False)
    return nx.node_link_graph(json.loads(text), edges="edges")


through_files = pytest.mark.parametrize("through", [through_graphml, through_gexf, through_json])


@through_files
@given(trees=tree_lists, share=st.booleans())
def test_forests_through_files(through: Through, trees: list[Tree], share: bool):
    forest = forest_of(trees, share=share)
    again = Forest.from_graph(from_networkx(through(to_networkx(forest))), forest.roots, VOCABULARY)
    assert_same_forest(again, forest)


@through_files
@given(tree=plain_trees)
def test_trees_through_files(through: Through, tree: Tree):
    assert networkx_tree(through(to_networkx(tree))) == tree


@through_files
def test_sentences_through_files(through: Through):
    tree = Tree("root", [Tree("det", token="the"), Tree("a & <b>\n", token="")], token="日本")
    assert networkx_tree(through(to_networkx(tree))) == tree


@through_files
def test_a_model_tree_through_files(through: Through):
    tree = NeuralTree(presets.mlp(num_outputs=3, width=4), shape=(2,))
    tree.split(0)
    digraph = to_networkx(tree)
    again = through(digraph)
    assert nx.is_arborescence(again)
    for v, about in digraph.nodes(data=True):
        assert {type(value) for value in about.values()} == {int, str}
        assert {name: again.nodes[v][name] for name in about} == about


@through_files
def test_labels_of_any_kind_through_files(through: Through):
    labels = [("NP", 1), frozenset(["x"]), None, 3, 2.5, True, np.int64(7), np.str_("s"), Color.RED]
    digraph = to_networkx(Tree("r", map(Tree, labels)))
    found = [label for _, label in sorted(digraph.nodes(data="label"))][1:]
    plain = ["('NP', 1)", "frozenset({'x'})", "None", 3, 2.5, True, 7, "s", str(Color.RED)]
    assert found == plain and list(map(type, found)) == list(map(type, plain))
    again = [str(label) for _, label in sorted(through(digraph).nodes(data="label"))][1:]
    assert again == list(map(str, plain))


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_edges_without_a_direction_are_refused(kind: type[nx.Graph]):
    """Their ends are in the order of the nodes, not in that in which they were added."""
    graph = kind()
    graph.add_node("x", type=-1, token=0)
    graph.add_node("f", type=0, token=-1)
    graph.add_edge("f", "x", pos=0)
    message = (
        "trees are read from a DiGraph or a MultiDiGraph, edges parent -> child; got a "
        + kind.__name__
    )
    with pytest.raises(GraphError, match=exactly(message)):
        from_networkx(graph)


def test_from_networkx_errors():
    digraph = nx.DiGraph([("f", "x")])
    with pytest.raises(GraphError, match=r"^node 'f' has no 'type'; from_networkx needs"):
        from_networkx(digraph)
    nx.set_node_attributes(digraph, -1, "type")
    nx.set_node_attributes(digraph, -1, "token")
    with pytest.raises(
        GraphError, match=exactly("edge 'f' -> 'x' has no 'pos', the child's place")
    ):
        from_networkx(digraph)
    with pytest.raises(GraphError, match=r"^the graph has no edata\['pos'\]; expected the place"):
        to_networkx(without(small_graph(), "edata", "pos"))


def test_a_tree_too_large_without_sharing_is_refused() -> None:
    message = "a networkx node for each node of this tree needs more than a million GiB of memory"
    with pytest.raises(ValueError, match=message):
        to_networkx(doubled(70))
