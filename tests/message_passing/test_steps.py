"""Forests in which nodes read their children one after the other."""

from __future__ import annotations

import random

import numpy as np
from random_trees import VOCABULARY, chain, random_trees

from structnet.message_passing.steps import child_by_child
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree


def read(node: Tree, below: list[Tree]) -> Tree:
    """A node of numbered labels that reads its children, which do so already."""
    kind, token = VOCABULARY.encode(node)
    if not below:
        return Tree(token)
    first, *others = below
    tree = Tree(kind, [first])
    for child in others:
        tree = Tree(kind, [tree, child])
    return tree


def test_each_child_is_read_by_a_node_of_its_own() -> None:
    for seed in range(20):
        trees = [tree for tree in random_trees(random.Random(seed)) if tree.children]
        forest = Forest.from_trees(trees, VOCABULARY)
        steps = child_by_child(forest)
        assert len(steps) == forest.num_nodes
        for root, tree in zip(forest.roots, trees, strict=True):
            assert steps.tree(int(root)) == tree.fold(read)
        again = Forest(*steps.arrays, arity=2)  # whose arrays are checked
        assert (np.bincount(again.pos, minlength=2) == [len(again.pos) - len(forest.children),
                                                         len(forest.children)]).all()  # fmt: skip


def test_chains_stay_and_a_forest_may_have_no_inner_nodes() -> None:
    for trees in ([chain(1000)], [Tree("x"), Tree("y")]):
        forest = Forest.from_trees(trees, VOCABULARY)
        steps = child_by_child(forest)
        assert steps.num_nodes == forest.num_nodes and steps.roots.tolist() == [
            *range(forest.num_nodes)
        ]
