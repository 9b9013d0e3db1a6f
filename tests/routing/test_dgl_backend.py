"""Routing as DGL messages from parent to child, against the fast forms: in value and gradient."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest
import torch
from forests import exactly
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from tree_shapes import LEFT_LEAF, SMALL, grown, numbered, shapes, small_primitives, turned

from structnet.routing import Topology, follow, leaf_log_prob, node_log_prob
from structnet.routing.dgl_backend import hard_route

CHAIN = Topology([*((v + 1, v + 2) if v % 2 == 0 else () for v in range(60)), ()])
UNARY = Topology([*((v + 1,) for v in range(40)), ()])
ONE = Topology([()])
WIDE = Topology([tuple(range(1, 30)), *[()] * 29])
every_topology = pytest.mark.parametrize(
    "topology",
    [CHAIN, UNARY, ONE, WIDE, *(Topology(numbered(s, random.Random(0))) for s in SMALL[::6])],
    ids=lambda topology: str(topology.num_nodes),
)


def branches(topology: Topology, n: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    size = (n, topology.num_nodes)
    return torch.randn(size, generator=generator, dtype=torch.float64, requires_grad=True)


def same_in_value_and_gradient(ours: Tensor, theirs: Tensor, x: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    weights = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1)).double()
    gradients = [torch.autograd.grad((each * weights).sum(), x)[0] for each in (ours, theirs)]
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)


@every_topology
def test_path_log_probabilities(topology: Topology) -> None:
    x = branches(topology)
    for function in (node_log_prob, leaf_log_prob):
        same_in_value_and_gradient(function(topology, x), function(topology, x, backend="dgl"), x)


@given(shapes, st.integers(0, 1000))
def test_random_topologies(shape: tuple, seed: int) -> None:
    rng = random.Random(seed)
    topology = Topology(turned(numbered(shape, rng), rng))
    graph, x = topology.graph(), branches(topology)
    same_in_value_and_gradient(node_log_prob(topology, x), node_log_prob(graph, x, "dgl"), x)


@pytest.mark.parametrize("backend", ["arrays", "dgl"])
def test_gradients_are_those_of_finite_differences(backend: str) -> None:
    topology = Topology([(1, 2, 3), (), (4, 5), (6,), (), (), ()])
    function = partial(leaf_log_prob, topology, backend=backend)
    assert torch.autograd.gradcheck(function, branches(topology, 2))


@pytest.mark.parametrize("shape", SMALL[-6:], ids=str)
def test_a_neural_tree_is_these_messages(shape: tuple) -> None:
    """The tree's own probabilities and greedy paths, and DGL's over its graph."""
    tree = grown(shape, random.Random(0), small_primitives(4))
    x = torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    log_prob = torch.zeros(9, len(tree.nodes), dtype=torch.float64)
    place = torch.zeros(9, len(tree.nodes), dtype=torch.int64)
    for visit in tree.visits(x):
        if visit.branch is not None:
            below = list(tree.topology.children_of(visit.node))
            log_prob[:, below] = torch.from_numpy(visit.branch).log()
            place[:, visit.node] = torch.from_numpy(visit.branch.argmax(axis=1))
    found = leaf_log_prob(tree.graph, log_prob, backend="dgl")
    torch.testing.assert_close(found, tree.leaf_log_prob(x), rtol=1e-10, atol=1e-10)
    assert torch.equal(hard_route(tree.topology, place), tree.apply_path(x))


def test_any_number_of_leading_dimensions() -> None:
    topology = Topology(numbered(LEFT_LEAF, random.Random(0)))
    x = torch.randn(2, 3, topology.num_nodes)
    for size in (x, x[0], x[0, 0], x[:0]):
        torch.testing.assert_close(
            leaf_log_prob(topology, size, "dgl"), leaf_log_prob(topology, size)
        )


def test_unknown_backends() -> None:
    message = exactly(
        "The 'backend' parameter must be one of ['arrays', 'dgl']. Got 'levels' instead."
    )
    with pytest.raises(ValueError, match=message):
        leaf_log_prob(ONE, torch.zeros(1, 1), "levels")


@given(shapes, st.integers(0, 1000))
def test_nodes_see_their_own_samples_once_and_in_order(shape: tuple, seed: int) -> None:
    rng = random.Random(seed)
    topology = Topology(turned(numbered(shape, rng), rng))
    arity = np.diff(topology.offsets)
    place = torch.tensor([[rng.randrange(max(a, 1)) for a in arity] for _ in range(8)])
    seen: dict[int, list[int]] = {}

    def step(node: int, rows: Tensor, x: Tensor) -> tuple[Tensor, Tensor | None]:
        assert node not in seen and all(node > other for other in seen)
        seen[node] = rows.tolist()
        assert x.tolist() == [10 * row + len(topology.path(node)) - 1 for row in rows.tolist()]
        return x + 1, place[rows, node] if arity[node] else None

    leaves, x = follow(topology, 10 * torch.arange(8), step)
    assert torch.equal(leaves, hard_route(topology, place))
    assert x.tolist() == [10 * i + len(topology.path(v)) for i, v in enumerate(leaves.tolist())]
    for node, rows in seen.items():
        assert rows == [i for i in range(8) if node in topology.path(int(leaves[i]))]
