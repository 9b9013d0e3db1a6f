"""Copies of a tree in which a subtree or a label is replaced, against copies made by recursion."""

from __future__ import annotations

import random

import numpy as np
import pytest
from random_trees import VOCABULARY, random_trees

from structnet.trees.arrays import check_arrays
from structnet.trees.forest import Forest
from structnet.trees.replacement import each_replaced
from structnet.trees.tree import Tree


def replaced(tree: Tree, place: int, by: Tree, label_alone: bool) -> Tree:
    """The tree with another subtree, or another label, at a place in preorder."""
    if place == 0:
        return Tree(by.label, tree.children, by.token) if label_alone else by
    children, start = [], 1
    for child in tree.children:
        inside = start <= place < start + child.size
        children.append(replaced(child, place - start, by, label_alone) if inside else child)
        start += child.size
    return Tree(tree.label, children, tree.token)


@pytest.mark.parametrize("inner_tokens", [False, True])
def test_each_place_in_turn(inner_tokens: bool) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        trees = [each for each in random_trees(rng, inner_tokens) if each.children]
        tree, *others = trees[:3] if len(trees) > 2 else [trees[0]] * 3
        forest = Forest.from_trees([tree, *others], VOCABULARY, share=False)
        kept = [forest.tree(i) for i in range(3)]
        nodes = list(kept[0].preorder())
        alone = np.array([bool(node.children) and rng.random() < 0.6 for node in nodes])
        by = np.array([rng.choice([1, 2]) for _ in nodes])
        found = each_replaced(forest, forest.preorder().nodes[: len(nodes)], by, labels_alone=alone)
        check_arrays(found.arrays, found.arity)
        for place, (which, label) in enumerate(zip(by, alone, strict=True)):
            assert found.tree(place) == replaced(kept[0], place, kept[which], label)
