"""Paths in a model's tree, against products and walks along them written as loops."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch
from forests import exactly, graph_of, without
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from tree_shapes import LEFT_LEAF, SMALL, numbered, shapes, turned, with_chains

from structnet.errors import GraphError, NotATreeError
from structnet.routing.hard_path import hard_route
from structnet.routing.path_log_prob import leaf_log_prob, node_log_prob
from structnet.routing.topology import Topology
from structnet.trees.schema import dgl

Children = list[tuple[int, ...]]
FIVE = Topology([(1, 2), (), (3, 4), (), ()])


def random_branches(children: Children, n: int, generator: torch.Generator) -> Tensor:
    """Probabilities of the branches, of each node's children together 1. ``[n, num_nodes]``."""
    prob = torch.ones(n, len(children), dtype=torch.float64)
    for each in children:
        if each:
            draws = torch.rand(n, len(each), dtype=torch.float64, generator=generator) + 0.01
            prob[:, list(each)] = draws / draws.sum(1, keepdim=True)
    return prob


def products(children: Children, prob: list[float]) -> dict[int, float]:
    """The probability of each leaf: for every leaf, the product over its path."""
    parent = {u: v for v, each in enumerate(children) for u in each}
    found = {}
    for leaf in (v for v, each in enumerate(children) if not each):
        found[leaf], v = prob[0], leaf
        while v:
            found[leaf] *= prob[v]
            v = parent[v]
    return found


def walk(children: Children, place: list[int]) -> int:
    v = 0
    while children[v]:
        v = children[v][place[v]]
    return v


def topology_graph(children: Children, order: list[int] | None = None):
    """The DGL graph of the schema, its edges in another order."""
    inner = [bool(each) for each in children]
    edges = [(u, v, place) for v, each in enumerate(children) for place, u in enumerate(each)]
    if not edges:
        return Topology(children).graph(np.array([-1]), np.array([0]))
    order = range(len(edges)) if order is None else order
    return graph_of([edges[e] for e in order], [0 if each else -1 for each in inner])


def permuted(children: Children, rng: random.Random):
    edges = sum(map(len, children))
    return topology_graph(children, rng.sample(range(edges), edges))


# ---- sums


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


# ---- probabilities


@pytest.mark.parametrize("shape", SMALL, ids=str)
@pytest.mark.parametrize("chains", [False, True])
def test_leaf_probabilities_are_products_over_paths(shape: tuple, chains: bool) -> None:
    for seed in range(3):
        rng = random.Random(seed)
        children = numbered(with_chains(shape, rng) if chains else shape, rng)
        children = turned(children, rng)
        prob = random_branches(children, 4, torch.Generator().manual_seed(seed))
        found = leaf_log_prob(Topology(children), prob.log()).exp()
        brute = [products(children, each) for each in prob.tolist()]
        expected = torch.tensor(
            [[each[leaf] for leaf in sorted(each)] for each in brute], dtype=torch.float64
        )
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
        torch.testing.assert_close(found.sum(1), torch.ones(4).double(), rtol=1e-12, atol=1e-12)


def test_all_small_shapes_are_there() -> None:
    assert len(set(SMALL)) == 1 + 1 + 2 + 5 + 14 + 42
    assert LEFT_LEAF in SMALL


@given(shapes, st.integers(0, 1000))
def test_probabilities_on_graphs(shape: tuple, seed: int) -> None:
    rng = random.Random(seed)
    children = turned(numbered(shape, rng), rng)
    prob = random_branches(children, 2, torch.Generator().manual_seed(seed))
    found = leaf_log_prob(permuted(children, rng), prob.log()).exp()
    expected = [list(dict(sorted(products(children, p).items())).values()) for p in prob.tolist()]
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)


def test_node_probabilities_are_sums_of_leaves() -> None:
    rng = random.Random(0)
    for shape in SMALL[-42:]:
        children = numbered(shape, rng)
        topology = Topology(children)
        prob = random_branches(children, 1, torch.Generator().manual_seed(0))
        nodes = node_log_prob(topology, prob.log()).exp()[0]
        leaves = leaf_log_prob(topology, prob.log()).exp()[0]
        for v in range(len(children)):
            below = [v in topology.path(leaf) for leaf in topology.leaves]
            torch.testing.assert_close(nodes[v], leaves[torch.tensor(below)].sum())


def test_any_number_of_leading_dimensions() -> None:
    branches = torch.randn(2, 3, 5)
    found = leaf_log_prob(FIVE, branches)
    assert found.shape == (2, 3, 3)
    assert torch.equal(found[1, 2], leaf_log_prob(FIVE, branches[1, 2]))
    assert leaf_log_prob(FIVE, torch.zeros(0, 5)).shape == (0, 3)


def test_gradients_of_leaf_probabilities() -> None:
    branches = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda b: leaf_log_prob(FIVE, b), branches)


def test_a_certain_branch_and_an_impossible_one() -> None:
    branches = torch.tensor([0.0, 0.0, -math.inf, -math.log(2), -math.log(2)])
    assert leaf_log_prob(FIVE, branches).tolist() == [0.0, -math.inf, -math.inf]


@pytest.mark.parametrize("depth", [200, 5000])
def test_a_deep_chain_of_splits(depth: int) -> None:
    children = [
        (v + 1, v + 2) if v % 2 == 0 and v < 2 * depth else () for v in range(2 * depth + 1)
    ]
    topology = Topology(children)
    assert topology.depth.max() == depth
    branches = torch.full((2 * depth + 1,), -1000.0, dtype=torch.float64)
    branches[0] = 0.0
    branches.requires_grad_()
    found = leaf_log_prob(topology, branches)
    assert found.tolist() == [-1000.0 * topology.depth[leaf] for leaf in topology.leaves]
    found.sum().backward()
    below = [depth + 1] + [1 if v % 2 else depth + 1 - v // 2 for v in range(1, 2 * depth + 1)]
    assert branches.grad.tolist() == below


# ---- routes


@given(shapes, st.integers(0, 1000))
def test_hard_routes_on_graphs(shape: tuple, seed: int) -> None:
    rng = random.Random(seed)
    children = turned(numbered(shape, rng), rng)
    # What stands at leaves is not read.
    draws = [[rng.randrange(len(each)) if each else 99 for each in children] for _ in range(6)]
    found = hard_route(permuted(children, rng), torch.tensor(draws))
    assert found.dtype == torch.int64
    assert found.tolist() == [walk(children, place) for place in draws]


def test_the_likeliest_route_of_saturated_branches_is_the_likeliest_leaf() -> None:
    rng = random.Random(0)
    for shape in SMALL:
        children = numbered(shape, rng)
        place = torch.randint(0, 2, (5, len(children)))
        branches = torch.zeros(5, len(children))
        for v, each in enumerate(children):
            for j, u in enumerate(each):
                branches[:, u] = torch.where(place[:, v] == j, 0.0, -1000.0)
        topology = Topology(children)
        likeliest = leaf_log_prob(topology, branches).argmax(1)
        assert torch.equal(hard_route(topology, place), torch.tensor(topology.leaves)[likeliest])


def test_routes_of_no_samples_and_through_one_node() -> None:
    assert hard_route(FIVE, torch.zeros(0, 5, dtype=torch.int64)).shape == (0,)
    assert hard_route(Topology([()]), torch.full((3, 1), 7)).tolist() == [0, 0, 0]


# ---- the topology


@given(shapes, st.integers(0, 1000))
def test_topology_and_graph_say_the_same(shape: tuple, seed: int) -> None:
    rng = random.Random(seed)
    topology = Topology(turned(numbered(shape, rng), rng))
    inner = np.array([bool(each) for each in topology.to_lists()])
    types, tokens = np.where(inner, 5, -1), np.where(inner, -1, 3)
    graph = topology.graph(types, tokens)
    assert Topology.from_graph(graph).to_lists() == topology.to_lists()
    assert graph.ndata["type"].tolist() == types.tolist()
    assert graph.ndata["token"].tolist() == tokens.tolist()
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
    hard_route(graph, torch.zeros(1, 5, dtype=torch.int64))
    after = [*graph.edges(), graph.edata["pos"], graph.ndata["type"]]
    assert all(torch.equal(now, then) for now, then in zip(after, before, strict=True))
    assert set(graph.ndata) == {"type", "token"}


# ---- bad input


@pytest.mark.parametrize(
    ("children", "message"),
    [
        ([], "a tree has at least one node; got none"),
        ([(1,), (1,)], "node 1 has the child 1 of 2 nodes; expected a number above the parent's"),
        ([(2,), (), ()], "node 1 has no parent; expected node 0 to be the only root"),
        ([(1, 2), (2,), ()], "node 2 has 2 parents; in a tree every node has at most one"),
        ([(1, 3), ()], "node 0 has the child 3 of 2 nodes; expected a number above the parent's"),
        ([(1,), (0,)], "node 1 has the child 0 of 2 nodes; expected a number above the parent's"),
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


@pytest.mark.parametrize("shape", [(), (4,), (2, 6), (5, 2)])
def test_branches_of_another_shape(shape: tuple[int, ...]) -> None:
    message = f"branch_log_prob must be [..., 5], one number a node. Got {list(shape)}."
    with pytest.raises(ValueError, match=exactly(message)):
        leaf_log_prob(FIVE, torch.zeros(shape))


@pytest.mark.parametrize("shape", [(5,), (2, 4), (1, 2, 5)])
def test_places_of_another_shape(shape: tuple[int, ...]) -> None:
    message = f"place must be [n, 5], one place a node. Got {list(shape)}."
    with pytest.raises(ValueError, match=exactly(message)):
        hard_route(FIVE, torch.zeros(shape, dtype=torch.int64))


@pytest.mark.parametrize("place", [2, -1, -7, 99])
def test_places_in_which_there_is_no_child(place: int) -> None:
    places = torch.tensor([[0] * 5, [1, 9, place, 9, 9]])
    message = f"sample 1 goes to place {place} from node 2, which has 2 children"
    with pytest.raises(ValueError, match=exactly(message)):
        hard_route(FIVE, places)


def test_a_place_that_only_wider_nodes_have() -> None:
    topology = Topology([(1, 2, 3), (4,), (), (), ()])
    with pytest.raises(ValueError, match="sample 0 goes to place 1 from node 1, which has 1 child"):
        hard_route(topology, torch.tensor([[0, 1, 0, 0, 0]]))
