"""Initialisation keeps the spread of h about constant over depth."""

from __future__ import annotations

import random

import pytest
import torch
from configurations import AGGREGATORS
from torch import Tensor

from structnet.tensor_tree import TreeLSTM
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

DEPTH = 10


def trees_by_depth(rng: random.Random, arity: int, complete: bool, count: int = 100) -> list[Tree]:
    """``count`` random trees of each depth from 1 to 10, from 2 to ``arity`` children a node."""
    below = [[Tree(str(digit)) for digit in range(10)]]
    for depth in range(1, DEPTH + 1):
        trees = []
        for _ in range(count):
            children = [rng.choice(below[-1])]
            for _ in range((arity if complete else rng.randint(2, arity)) - 1):
                children.append(rng.choice(below[-1 if complete else rng.randrange(depth)]))
            rng.shuffle(children)
            trees.append(Tree(rng.choice("ABC"), children))
        below.append(trees)
    return [tree for trees in below[1:] for tree in trees]


def spread_by_depth(name: str, arity: int, forget: str, complete: bool) -> Tensor:
    """The root mean square of h at each depth, over several models and trees."""
    size = 4 if name == "full" and arity > 3 else 20
    vocabulary = Vocabulary("ABC", "0123456789", arity)
    squares = []
    for seed in range(5):
        torch.manual_seed(seed)
        trees = trees_by_depth(random.Random(seed), arity, complete)
        model = TreeLSTM(size, 3, arity, torch.ones(10, 10).tril(), AGGREGATORS[name], forget)
        with torch.no_grad():
            h = model(Forest.from_trees(trees, vocabulary))
        squares.append(h.view(DEPTH, -1).square().mean(1))
    return torch.stack(squares).mean(0).sqrt()


@pytest.mark.parametrize("arity", [2, 5])
@pytest.mark.parametrize("name", AGGREGATORS)
def test_the_spread_of_h_keeps_within_a_factor_of_two(name: str, arity: int):
    spread = spread_by_depth(name, arity, "child", complete=False)
    assert 0.05 < spread[0] < 0.5
    assert ((spread / spread[0] > 0.5) & (spread / spread[0] < 2)).all(), spread


@pytest.mark.xfail(strict=True, reason="cell states of full nodes add up: it grows threefold")
@pytest.mark.parametrize("name", AGGREGATORS)
def test_the_spread_of_h_on_complete_trees_of_five(name: str):
    spread = spread_by_depth(name, 5, "child", complete=True)
    assert spread[-1] < 2 * spread[0], spread
