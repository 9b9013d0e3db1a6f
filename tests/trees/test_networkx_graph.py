"""Trees and forests as networkx graphs and back."""

from __future__ import annotations

import networkx as nx
import pytest
from forests import assert_same_forest, exactly, forest_of, small_graph, without
from hypothesis import given
from random_trees import VOCABULARY, chain, plain_trees, tree_lists

from structnet.errors import GraphError
from structnet.trees.forest import Forest
from structnet.trees.networkx_graph import from_networkx, to_networkx
from structnet.trees.tree import Tree


@given(plain_trees)
def test_networkx_of_a_tree(tree: Tree):
    digraph = to_networkx(tree)
    assert nx.is_arborescence(digraph)
    assert len(digraph) == tree.size
    assert digraph.graph["roots"] == [0]
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
        assert sorted(digraph.graph["roots"]) == sorted(forest.roots.tolist())
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


def test_networkx_cannot_say_the_same_child_twice():
    forest = forest_of([Tree("A", [Tree("x"), Tree("x")])])
    message = (
        "a node has the same child in two places, which a networkx.DiGraph cannot say; "
        "build the forest with share=False"
    )
    with pytest.raises(GraphError, match=exactly(message)):
        to_networkx(forest)


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
    with pytest.raises(
        GraphError, match=exactly("the graph has no edata['pos']; the schema needs one")
    ):
        to_networkx(without(small_graph(), "edata", "pos"))
