"""Pools over all nodes of a tree: against plain recursion, on both backends, with gradients."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from configurations import both_backends
from random_trees import VOCABULARY, doubled, random_tree, random_trees
from torch import Tensor

from structnet.message_passing.pooling import POOLS, pooled
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

SEEDS = range(20)
THREE = Forest.from_trees([Tree("A", [Tree("x"), Tree("y")])], VOCABULARY)
SCORE = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)


def of_nodes(forest: Forest, x: Tensor, how: str) -> Tensor:
    """The definition: every node of each tree, wherever it stands, in one list."""
    order = forest.preorder()
    rows = [x[order.nodes[a:b]] for a, b in zip(order.offsets, order.offsets[1:], strict=False)]
    named = {
        "root": lambda r: r[0],  # they stand in preorder
        "sum": lambda r: r.sum(0),
        "mean": lambda r: r.mean(0),
        "max": lambda r: r.amax(0),
        "attention": lambda r: (r @ SCORE).softmax(0) @ r,
    }
    return torch.stack([named[how](row) for row in rows])


def forest_of(seed: int, share: bool = True) -> tuple[Forest, Tensor]:
    rng = random.Random(seed)
    forest = Forest.from_trees(random_trees(rng), VOCABULARY, share=share)
    torch.manual_seed(seed)
    return forest, torch.randn(forest.num_nodes, 3, dtype=torch.float64, requires_grad=True)


@both_backends
@pytest.mark.parametrize("how", POOLS)
def test_a_pool_is_that_of_all_nodes(how: str, backend: str):
    for seed in SEEDS:
        forest, x = forest_of(seed)
        weights = torch.randn(len(forest), 3, dtype=torch.float64)
        found, expected = pooled(forest, x, how, backend, SCORE), of_nodes(forest, x, how)
        torch.testing.assert_close(found, expected)
        gradients = [torch.autograd.grad((y * weights).sum(), x)[0] for y in (found, expected)]
        torch.testing.assert_close(*gradients)


@both_backends
def test_several_pools_stand_side_by_side(backend: str):
    names = ("max", "attention", "root", "max", "sum", "attention", "mean")
    for seed in SEEDS:
        forest, x = forest_of(seed)
        score = SCORE.clone().requires_grad_()
        found = pooled(forest, x, names, backend, score)
        assert found.shape == (len(forest), 3 * len(names))
        weights = torch.randn(found.shape, dtype=torch.float64)
        each = [pooled(forest, x, name, "dgl", score) for name in names]
        torch.testing.assert_close(found, torch.cat(each, 1))
        gradients = [
            torch.autograd.grad((y * weights).sum(), (x, score))
            for y in (found, torch.cat(each, 1))
        ]
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("score", [None, torch.zeros(2)])
def test_attention_needs_a_score(score: Tensor | None):
    with pytest.raises(ValueError, match=r"attention needs a score of shape \[3\]; got"):
        pooled(THREE, torch.zeros(3, 3), ("root", "attention"), score=score)


@pytest.mark.parametrize("how", POOLS)
def test_sharing_changes_nothing(how: str):
    tree = random_tree(random.Random(3), depth=5)
    trees = [tree, Tree("A", [tree, tree])]
    table = torch.randn(len("AB") + len("xyz"), 2)
    found = []
    for share in (True, False):
        forest = Forest.from_trees(trees, VOCABULARY, share=share)
        numbers = np.where(forest.types >= 0, forest.types, 2 + forest.tokens)
        found.append(pooled(forest, table[numbers], how, score=SCORE[:2]))
    torch.testing.assert_close(*found)


def test_a_node_counts_as_often_as_it_stands_there():
    tree = doubled(40)  # 2^41 - 1 nodes, 41 of them distinct
    forest = Forest.from_trees([tree], Vocabulary.from_trees([tree]))
    found = pooled(forest, torch.ones(41, 1, dtype=torch.float64), "sum")
    assert found.item() == 2**41 - 1
    assert pooled(forest, torch.ones(41, 1, dtype=torch.float64), "mean").item() == 1


def test_a_mean_of_more_nodes_than_a_float_counts_is_refused():
    tree = doubled(200)  # 2^201 - 1 nodes
    forest = Forest.from_trees([tree], Vocabulary.from_trees([tree]))
    with pytest.raises(ValueError, match=r"tree 0 has more nodes, .* than float32 holds"):
        pooled(forest, torch.ones(201, 1), "mean")
    assert pooled(forest, torch.ones(201, 1).double(), "mean").item() == 1


@both_backends
@pytest.mark.parametrize("how", ["sum", "mean", "max"])
@pytest.mark.parametrize("node", [0, 1, 2])
def test_what_is_not_a_number_is_not_lost(how: str, node: int, backend: str):
    x = torch.zeros(3, 2)
    x[node, 1] = torch.nan
    assert pooled(THREE, x, how, backend).isnan().tolist() == [[False, True]]


def test_second_derivatives_are_refused():
    x = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="has no second derivatives; backend='dgl' has"):
        torch.autograd.grad(
            pooled(THREE, x, "attention", "levels", SCORE).sum(), x, create_graph=True
        )
    total = pooled(THREE, x, "attention", "dgl", SCORE).sum()
    assert torch.autograd.grad(total, x, create_graph=True)[0].requires_grad


def test_of_equal_numbers_one_gets_the_gradient():
    x = torch.zeros(3, 1, requires_grad=True)
    pooled(THREE, x, "max").sum().backward()
    assert sorted(x.grad.flatten().tolist()) == [0, 0, 1]


@pytest.mark.parametrize(
    ("x", "how", "backend", "words"),
    [
        (torch.zeros(3, 1), "median", "levels", "'how' parameter of pooled must be one of"),
        (torch.zeros(3, 1), (), "levels", "how must name at least one pool"),
        (torch.zeros(3, 1), "sum", "fast", "'backend' parameter of pooled must be one of"),
        (torch.zeros(2, 1), "sum", "levels", r"a row for each node, \[3, c\]; got shape \[2, 1\]"),
        (torch.zeros(3), "max", "levels", r"got shape \[3\]"),
    ],
)
def test_what_is_no_pool_is_refused(x: Tensor, how: str, backend: str, words: str):
    with pytest.raises(ValueError, match=words):
        pooled(THREE, x, how, backend)
