"""How probable nodes and leaves are, against products over their paths."""

from __future__ import annotations

import math
import pickle
import random

import pytest
import torch
from forests import exactly
from hypothesis import given
from hypothesis import strategies as st
from paths import FIVE, permuted, products, random_branches
from tree_shapes import LEFT_LEAF, SMALL, numbered, shapes, turned, with_chains

from structnet.errors import GraphError
from structnet.routing.path_log_prob import leaf_log_prob, node_log_prob
from structnet.routing.topology import Topology


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
    assert len(set(SMALL)) == 1 + 1 + 2 + 5 + 14
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
    for shape in SMALL[-14:]:
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


@pytest.mark.parametrize("shape", [(), (4,), (2, 6), (5, 2)])
def test_branches_of_another_shape(shape: tuple[int, ...]) -> None:
    message = f"branch_log_prob must be [..., 5], one number for each node. Got {list(shape)}."
    with pytest.raises(ValueError, match=exactly(message)):
        leaf_log_prob(FIVE, torch.zeros(shape))


def test_a_tree_that_was_used_in_inference_mode_can_be_differentiated() -> None:
    topology = Topology(FIVE.to_lists())
    branches = torch.randn(3, 5)
    with torch.inference_mode():
        wanted = leaf_log_prob(topology, branches)
    branches.requires_grad_()
    found = leaf_log_prob(topology, branches)
    found.sum().backward()
    assert torch.equal(found.detach(), wanted)
    assert branches.grad is not None


def test_a_tree_is_stored_without_tensors_of_a_device() -> None:
    topology = Topology(FIVE.to_lists())
    before = pickle.dumps(topology)
    leaf_log_prob(topology, torch.zeros(1, 5))
    assert pickle.dumps(topology) == before


def test_a_model_is_told_of_its_topology() -> None:
    class Model:
        topology = FIVE

        def leaf_log_prob(self, x: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError

    said = "got a Model, whose attribute topology is one, and whose method leaf_log_prob gives"
    for function in (leaf_log_prob, node_log_prob):
        with pytest.raises(GraphError, match=said):
            function(Model(), torch.zeros(2, 5))
