"""Forests upside down: the way from the root to each node, against walks over the trees."""

from __future__ import annotations

import random

import numpy as np
import pytest
from random_trees import VOCABULARY, chain, random_trees

from structnet.trees.arrays import check_arrays
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.ways_down import entries_along, upside_down


def ways_of(tree: Tree) -> list[tuple[list[tuple], Tree | None, Tree | None]]:
    """The label of each node on the way down to each node, and its place; its siblings."""
    found, waiting = [], [([(VOCABULARY.encode(tree), 0)], tree, None, None)]
    while waiting:
        way, node, left, right = waiting.pop()
        found.append((way, left, right))
        row = [None, *node.children, None]
        waiting += reversed(
            [
                ([*way, (VOCABULARY.encode(row[i]), i - 1)], row[i], row[i - 1], row[i + 1])
                for i in range(1, len(row) - 1)
            ]
        )
    return found


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("inner_tokens", [False, True])
def test_the_way_to_each_node(inner_tokens: bool, share: bool):
    for seed in range(20):
        trees = random_trees(random.Random(seed), inner_tokens)
        forest = Forest.from_trees(trees, VOCABULARY, share)
        ways, nodes, left, right = upside_down(forest)
        check_arrays(ways.arrays, ways.arity)
        subtrees = [node for tree in trees for node in tree.preorder()]
        tree_at = dict(zip(forest.preorder().nodes.tolist(), subtrees, strict=True))
        expected = [way for tree in trees for way in ways_of(tree)]
        assert len(ways) == ways.num_nodes == len(expected)
        for root, (way, before, after) in zip(ways.roots, expected, strict=True):
            for sibling, number in ((before, left[root]), (after, right[root])):
                assert (number < 0) == (sibling is None)
                assert number < 0 or tree_at[number] == sibling
            for label, place in reversed(way):
                at = nodes[root]
                assert (forest.types[at], forest.tokens[at]) == label
                assert (ways.types[root], ways.tokens[root]) == label
                edges = slice(*ways.offsets[root : root + 2])
                above = ways.children[edges]
                if len(above):
                    assert len(above) == 1 and ways.pos[edges] == [place]
                    root = above[0]
            assert not len(above)
        np.testing.assert_array_equal(nodes[ways.roots], forest.preorder().nodes)


def test_deep_and_empty_forests():
    ways = upside_down(Forest.from_trees([chain(100_000)], VOCABULARY)).forest
    np.testing.assert_array_equal(ways.height[ways.roots], np.arange(100_000))
    ways, *beside = upside_down(Forest.from_trees([], VOCABULARY))
    assert len(ways) == 0 and [len(each) for each in beside] == [0, 0, 0]


@pytest.mark.parametrize("share", [True, False])
def test_one_way_is_that_of_all_ways(share: bool):
    for seed in range(20):
        for tree in random_trees(random.Random(seed)):
            forest = Forest.from_trees([tree, Tree("x"), tree], VOCABULARY, share)
            every, entry, steps, node = upside_down(forest[[0]]), 0, [], tree
            while node.children:
                step = len(node.children) // 2
                entry += 1 + sum(child.size for child in node.children[:step])
                steps, node = [*steps, step], node.children[step]
            found = upside_down(forest[[0, 2]], entries_along(forest[[0, 2]], steps))
            check_arrays(found.forest.arrays, found.forest.arity)
            assert len(found.forest) == found.forest.num_nodes == 2 * (len(steps) + 1)
            for last in (len(steps), 2 * len(steps) + 1):
                assert found.forest.tree(last) == every.forest.tree(entry)
