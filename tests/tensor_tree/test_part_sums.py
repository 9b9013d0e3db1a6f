"""Sums over all parts of a tree, against the sums written out."""

from __future__ import annotations

import random

import numpy as np
import pytest
from random_trees import VOCABULARY, random_trees, with_texts

from structnet import Tree
from structnet.tensor_tree.counts.part_sums import Amounts, PartSums, Places
from structnet.trees.forest import Forest


def chain(depth: int) -> Tree:
    tree = Tree("x")
    for _ in range(depth):
        tree = Tree("A", [Tree("y"), tree])
    return tree


def trees() -> list[Tree]:
    found = [tree for seed in range(6) for tree in random_trees(random.Random(seed))]
    return [Tree("x"), chain(20), *found, *(with_texts(each, random.Random(0)) for each in found)]


def places_of(tree: Tree) -> Places:
    forest = Forest.from_trees([tree], VOCABULARY)
    return Places.of(forest, forest.preorder())


def parts_of(tree: Tree) -> np.ndarray:
    """Whether each place is in each part, ``[parts, places]``; words count as nodes."""
    number = np.arange(tree.size)
    size = np.array([node.size for node in tree.preorder()])
    return (number[:, None] <= number) & (number < (number + size)[:, None])


def test_two_ways_up_meet_at_the_smallest_part_with_both() -> None:
    for tree in trees():
        places, within = places_of(tree), parts_of(tree)
        first, second = np.nonzero(np.triu(np.ones_like(within)))
        both = within[:, first] & within[:, second]  # the last one in preorder is the smallest
        expected = len(within) - 1 - both[::-1].argmax(axis=0)
        assert (places.meet(first, second) == expected).all()


@pytest.mark.parametrize("number", [0, 1, 30])
def test_functions_of_the_sums_of_all_parts(number: int) -> None:
    rng, columns = np.random.default_rng(0), 4
    for tree in trees():
        places, within = places_of(tree), parts_of(tree)
        place, column = rng.integers(tree.size, size=number), rng.integers(columns, size=number)
        amount = rng.integers(-3, 4, size=number).astype(float)
        sums = PartSums(places, Amounts(place, column, amount), columns)
        each = np.zeros((tree.size, columns))
        np.add.at(each, (place, column), amount)
        expected = within @ each
        for i in range(columns):
            assert (sums.at(0, tree.size, i) == expected[:, i]).all()
        assert (sums.over_columns(0, tree.size, 2) == expected[:, :2].sum(axis=1)).all()
        weight = rng.normal(size=(columns, 2))
        found = sums.weighted(np.sinh(sums.total), weight)
        np.testing.assert_allclose(found, np.sinh(expected) @ weight, atol=1e-6)


def test_an_amount_along_a_way_up() -> None:
    for tree in trees():
        places, within = places_of(tree), parts_of(tree)
        begin, above = np.arange(tree.size), np.append(places.parents, -1)
        end = above[above[begin]]  # two parts, or one at the root
        amounts = Amounts.along(begin, end, np.zeros_like(begin), 2)
        sums = PartSums(places, amounts, 1).at(0, tree.size, 0)
        expected = np.zeros(tree.size)
        for place in begin:
            ways = np.flatnonzero(within[:, place])[::-1][:2]
            expected[ways] += 2
        assert (sums == expected).all()
