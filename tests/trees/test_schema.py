"""Forests as DGL graphs and back: the schema, kept and checked."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from forests import (
    PAIR,
    assert_same_forest,
    children_by_place,
    exactly,
    forest_of,
    graph_of,
    small_graph,
    trees_of,
    without,
)
from hypothesis import given
from hypothesis import strategies as st
from random_trees import ARITY, VOCABULARY, tree_lists

from structnet.errors import GraphError, NotATreeError
from structnet.trees.forest import Forest
from structnet.trees.networkx_graph import to_networkx
from structnet.trees.schema import dgl
from structnet.trees.tree import Tree


@pytest.mark.parametrize("share", [True, False])
def test_graph_follows_the_schema(share: bool):
    forest = forest_of(PAIR, share)
    graph = forest.graph
    assert graph is forest.graph  # made once
    assert (graph.num_nodes(), graph.num_edges()) == (forest.num_nodes, len(forest.children))
    assert graph.edata["pos"].dtype == graph.ndata["type"].dtype == torch.int64
    assert graph.ndata["token"].dtype == graph.idtype == torch.int64
    assert graph.ndata["type"].tolist() == forest.types.tolist()
    assert graph.ndata["token"].tolist() == forest.tokens.tolist()
    source, destination = graph.edges()
    triples = set(
        zip(source.tolist(), destination.tolist(), graph.edata["pos"].tolist(), strict=True)
    )
    assert triples == {
        (child, node, place)
        for node in range(forest.num_nodes)
        for place, child in children_by_place(forest, node).items()
    }


def test_roots_have_no_out_edges():
    graph = forest_of(PAIR, share=False).graph
    assert int((graph.out_degrees() == 0).sum()) == 2


@given(tree_lists, st.booleans())
def test_graph_round_trip(trees: list[Tree], share: bool):
    forest = forest_of(trees, share)
    again = Forest.from_graph(forest.graph, roots=forest.roots, vocabulary=VOCABULARY)
    assert_same_forest(again, forest)


def permuted(graph, rng: np.random.Generator):
    """The same graph with other numbers of nodes and edges; and the new number of each node."""
    rank = torch.from_numpy(rng.permutation(graph.num_nodes()))
    edges = torch.from_numpy(rng.permutation(graph.num_edges()))
    child, parent = (rank[ends][edges] for ends in graph.edges())
    other = dgl().graph((child, parent), num_nodes=graph.num_nodes())
    other.edata["pos"] = graph.edata["pos"][edges]
    for name in ("type", "token"):
        values = torch.empty_like(graph.ndata[name])
        values[rank] = graph.ndata[name]
        other.ndata[name] = values
    return other, rank


@given(tree_lists, st.integers(0, 1000))
def test_numbers_of_nodes_and_edges_mean_nothing(trees: list[Tree], seed: int):
    forest = forest_of(trees)
    graph, rank = permuted(forest.graph, np.random.default_rng(seed))
    roots = rank.numpy()[forest.roots]
    assert_same_forest(Forest.from_graph(graph, roots, VOCABULARY), forest)


def test_roots_by_default_are_the_nodes_without_a_parent():
    edges = [(0, 2, 0), (1, 2, 1), (3, 4, 0)]
    forest = Forest.from_graph(graph_of(edges, [-1, -1, 0, -1, 1, -1], [0, 1, -1, 2, -1, 0]))
    assert trees_of(forest) == [Tree(0, [Tree(0), Tree(1)]), Tree(1, [Tree(2)]), Tree(0)]
    assert forest.vocabulary is None
    assert forest.arity == 2


def test_from_graph_keeps_gaps_in_pos():
    graph = graph_of([(0, 3, 2), (1, 3, 0), (2, 4, 1), (3, 4, 3)], [-1, -1, -1, 0, 1])
    forest = Forest.from_graph(graph)
    assert forest.arity == 4
    assert sorted(children_by_place(forest, forest.roots[0])) == [1, 3]
    below = children_by_place(forest, forest.roots[0])[3]
    assert sorted(children_by_place(forest, below)) == [0, 2]
    assert forest[[0]].levels[1].children[0].tolist()[1] == -1


def test_the_vocabulary_widens_the_arity():
    graph = graph_of([(0, 1, 0)], [-1, 0])
    assert Forest.from_graph(graph, vocabulary=VOCABULARY).arity == ARITY
    assert Forest.from_graph(graph).arity == 1


def test_graph_without_edges():
    graph = dgl().graph(([], []), num_nodes=2)
    graph.edata["pos"] = torch.zeros(0, dtype=torch.int64)
    graph.ndata["type"] = torch.tensor([-1, 0])
    graph.ndata["token"] = torch.tensor([1, 0])
    forest = Forest.from_graph(graph)
    assert (len(forest), forest.num_nodes, forest.arity) == (2, 2, 0)


def test_the_callers_graph_is_left_as_it_was():
    graph = graph_of([(1, 0, 1), (2, 0, 0)], [0, -1, -1], [-1, 0, 1])
    graph.ndata["mine"] = torch.arange(3.0)
    before = {name: x.clone() for name, x in {**graph.ndata, **graph.edata}.items()}
    ends = [x.clone() for x in graph.edges()]
    forest = Forest.from_graph(graph)
    forest.types[:] = 7
    forest.graph.ndata["type"][:] = 9
    after = {**graph.ndata, **graph.edata}
    assert set(after) == set(before)
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert all(torch.equal(x, y) for x, y in zip(graph.edges(), ends, strict=True))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: without(small_graph(), "edata", "pos"),
            "the graph has no edata['pos']; expected the place of each edge's child among its "
            "siblings, from 0, as int64",
        ),
        (
            lambda: without(small_graph(), "ndata", "type"),
            "the graph has no ndata['type']; expected the number of each node's label, -1 for "
            "none, as int64",
        ),
        (
            lambda: without(small_graph(), "ndata", "token"),
            "the graph has no ndata['token']; expected the number of each node's input, such as a "
            "word, -1 for none, as int64",
        ),
        (
            lambda: graph_of([(0, 2, 1), (1, 2, 1)], [-1, -1, 0]),
            "node 2 has two children in place 1; places differ",
        ),
        (
            lambda: graph_of([(0, 2, 0), (1, 2, -1)], [-1, -1, 0]),
            "edata['pos'] holds -1; its numbers must be between 0 and 2147483647",
        ),
        (  # which one more would make negative
            lambda: graph_of([(0, 2, 0), (1, 2, 2**63 - 1)], [-1, -1, 0]),
            "edata['pos'] holds 9223372036854775807; its numbers must be between 0 and 2147483647",
        ),
        (
            lambda: graph_of([(0, 1, 0)], [-1, -2]),
            "ndata['type'] holds -2; its numbers must be -1 or more",
        ),
        (
            lambda: graph_of([(0, 1, 0)], [-1, 0], [-2, -1]),
            "ndata['token'] holds -2; its numbers must be -1 or more",
        ),
        (
            lambda: graph_of([(0, 1, 0), (1, 2, 0), (2, 0, 0)], [0, 0, 0]),
            "the graph has a cycle; children must come before their parents",
        ),
        (
            lambda: graph_of([(0, 1, 0), (2, 2, 0)], [-1, 0, 0]),
            "the graph has a cycle; children must come before their parents",
        ),
    ],
)
def test_graphs_that_break_the_schema(make, message: str):
    with pytest.raises(GraphError, match=exactly(message)):
        Forest.from_graph(make())


@pytest.mark.parametrize(
    ("where", "name", "each", "n"),
    [("edata", "pos", "edge", 2), ("ndata", "type", "node", 3), ("ndata", "token", "node", 3)],
)
def test_fields_with_more_than_one_mode(where: str, name: str, each: str, n: int):
    graph = graph_of([(0, 2, 0), (1, 2, 1)], [-1, -1, 0])
    getattr(graph, where)[name] = getattr(graph, where)[name].unsqueeze(1)
    message = f"{where}[{name!r}] must have one number per {each}, [{n}]; got shape [{n}, 1]"
    with pytest.raises(GraphError, match=exactly(message)):
        Forest.from_graph(graph)


def test_several_types_of_nodes_or_edges():
    ends = torch.tensor([0]), torch.tensor([1])
    for other in (("a", "y", "a"), ("b", "y", "b")):
        graph = dgl().heterograph({("a", "x", "a"): ends, other: ends})
        message = (
            "a graph of the schema has one type of nodes and one of edges; got the types "
            f"{', '.join(graph.ntypes)} of nodes and x, y of edges"
        )
        with pytest.raises(GraphError, match=exactly(message)):
            Forest.from_graph(graph)


def test_errors_are_value_errors():
    assert issubclass(NotATreeError, GraphError)
    assert issubclass(GraphError, ValueError)


def test_a_node_with_two_parents_is_a_shared_subtree():
    graph = graph_of([(0, 1, 0), (0, 2, 0), (1, 3, 0), (2, 3, 1), (0, 3, 2)], [-1, 0, 1, 0])
    tree = Tree(0, [Tree(0, [Tree(0)]), Tree(1, [Tree(0)]), Tree(0)])
    assert Forest.from_graph(graph).tree(0) == tree


def test_tree_of_an_inner_node_without_type():
    forest = Forest.from_graph(graph_of([(0, 2, 0), (1, 2, 1)], [-1, -1, -1]))
    assert forest.tree(0).size == 3


def test_roots_that_are_no_nodes():
    with pytest.raises(GraphError):
        Forest.from_graph(small_graph(), roots=[3])


@pytest.mark.parametrize("roots", [[1.0], [1.9], [False, True, False], ["2"], 2, [[2]]])
def test_roots_that_are_no_numbers_of_nodes(roots):
    with pytest.raises(GraphError, match="roots must be numbers of nodes; got"):
        Forest.from_graph(small_graph(), roots=roots)


def test_wrong_dtypes_are_refused():
    graph = small_graph()
    graph.edata["pos"] = graph.edata["pos"].double()
    with pytest.raises(GraphError):
        Forest.from_graph(graph)


def test_changing_the_graph_does_not_change_the_forest():
    forest = forest_of(PAIR)
    forest.graph.ndata["type"][:] = 1
    assert forest.types.tolist() == forest_of(PAIR).types.tolist()


@pytest.mark.parametrize("graph", [nx.DiGraph([(0, 1)]), [0], "(f x)"], ids=str)
def test_what_is_no_dgl_graph_is_refused(graph):
    message = f"expected a DGL graph of the schema; got a {type(graph).__name__}"
    for function in (Forest.from_graph, to_networkx):
        with pytest.raises(GraphError, match=exactly(message)):
            function(graph)
