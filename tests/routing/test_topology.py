"""The shape of a model's tree: its arrays, its graph, and what is no tree."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from forests import exactly, graph_of, without
from hypothesis import given
from hypothesis import strategies as st
from paths import FIVE, permuted, topology_graph
from tree_shapes import SMALL, numbered, shapes, turned

from structnet.errors import GraphError, NotATreeError
from structnet.routing.hard_path import follow
from structnet.routing.path_log_prob import leaf_log_prob
from structnet.routing.topology import Topology
from structnet.trees.schema import dgl


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_sums_below_are_over_the_leaves_of_a_subtree(shape: tuple) -> None:
    topology = Topology(numbered(shape, random.Random(0)))
    values = np.zeros((topology.num_nodes, 2))
    values[topology.leaves] = np.random.default_rng(0).random((len(topology.leaves), 2))
    before = values.copy()
    expected = np.zeros_like(values)
    for leaf in topology.leaves:
        expected[topology.path(leaf)] += values[leaf]
    np.testing.assert_allclose(topology.sums_below(values), expected)
    assert (values == before).all()


@given(shapes, st.integers(0, 1000))
def test_topology_and_graph_say_the_same(shape: tuple, seed: int) -> None:
    rng = random.Random(seed)
    topology = Topology(turned(numbered(shape, rng), rng))
    inner = [bool(each) for each in topology.to_lists()]
    graph = topology.graph()
    assert Topology.from_graph(graph).to_lists() == topology.to_lists()
    types = [sum(inner[:v]) if here else -1 for v, here in enumerate(inner)]
    tokens = [-1 if here else v - sum(inner[:v]) for v, here in enumerate(inner)]
    assert graph.ndata["type"].tolist() == types
    assert graph.ndata["token"].tolist() == tokens
    assert Topology.from_graph(permuted(topology.to_lists(), rng)).to_lists() == topology.to_lists()


def test_what_a_topology_knows() -> None:
    topology = Topology([(2, 1), (3,), (), (4, 5), (), ()])
    assert topology.num_nodes == 6
    assert topology.parent.tolist() == [-1, 0, 0, 1, 3, 3]
    assert topology.leaves.tolist() == [2, 4, 5]
    assert topology.depth.tolist() == [0, 1, 1, 2, 3, 3]
    assert topology.path(5) == [0, 1, 3, 5]
    assert topology.path(0) == [0]


def test_the_callers_graph_is_left_as_it_was() -> None:
    graph = topology_graph(FIVE.to_lists())
    before = [each.clone() for each in (*graph.edges(), graph.edata["pos"], graph.ndata["type"])]
    leaf_log_prob(graph, torch.zeros(1, 5))
    follow(graph, torch.zeros(1), lambda node, rows, x: (x, None))
    after = [*graph.edges(), graph.edata["pos"], graph.ndata["type"]]
    assert all(torch.equal(now, then) for now, then in zip(after, before, strict=True))
    assert set(graph.ndata) == {"type", "token"}


@pytest.mark.parametrize(
    ("children", "message"),
    [
        ([], "a tree has at least one node; got none"),
        ([(1,), (1,)], "node 1 has the child 1 in a tree of 2 nodes; expected a number above"),
        ([(2,), (), ()], "node 1 has no parent; expected node 0 to be the only root"),
        ([(1, 2), (2,), ()], "node 2 has 2 parents; in a tree every node has at most one"),
        ([(1, 3), ()], "node 0 has the child 3 in a tree of 2 nodes; expected a number above"),
        ([(1,), (0,)], "node 1 has the child 0 in a tree of 2 nodes; expected a number above"),
    ],
)
def test_what_is_no_tree(children: list, message: str) -> None:
    with pytest.raises(NotATreeError) as caught:
        Topology(children)
    assert str(caught.value).startswith(message)


def test_graphs_that_are_no_model_trees() -> None:
    with pytest.raises(
        GraphError, match=exactly("node 0 has two children in place 1; places differ")
    ):
        Topology.from_graph(graph_of([(1, 0, 1), (2, 0, 1)], [0, -1, -1]))
    with pytest.raises(NotATreeError, match="node 2 has 2 parents"):
        Topology.from_graph(graph_of([(1, 0, 0), (2, 0, 1), (2, 1, 0)], [0, 0, -1]))
    with pytest.raises(NotATreeError, match="node 1 has no parent"):
        Topology.from_graph(graph_of([(2, 0, 0)], [0, -1, -1]))
    with pytest.raises(GraphError, match="pos"):
        Topology.from_graph(without(topology_graph(FIVE.to_lists()), "edata", "pos"))


def test_a_graph_without_nodes_is_no_tree() -> None:
    graph = dgl().graph(([], []), num_nodes=0)
    graph.edata["pos"] = torch.zeros(0, dtype=torch.int64)
    for name in ("type", "token"):
        graph.ndata[name] = torch.zeros(0, dtype=torch.int64)
    with pytest.raises(NotATreeError, match=exactly("a tree has at least one node; got none")):
        Topology.from_graph(graph)


@pytest.mark.parametrize(
    ("offsets", "children"),
    [([0, 2, 2, 3], [1, 2]), ([0, 2, 1, 2], [1, 2]), ([1, 2, 2, 2], [1, 2]), ([], [])],
)
def test_offsets_that_are_none(offsets: list, children: list) -> None:
    message = rf"offsets must run from 0 to the number of children, {len(children)}, .* Got \["
    with pytest.raises(NotATreeError, match=message):
        Topology.from_arrays(np.array(offsets, np.int64), np.array(children, np.int64))
