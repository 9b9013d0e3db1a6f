"""Sub-forests: those of the chosen roots, however they are chosen."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from forests import FIELDS, PAIR, assert_same_forest, forest_of, trees_of
from hypothesis import given
from hypothesis import strategies as st
from random_trees import random_trees, tree_lists

from structnet.trees._kernels import below
from structnet.trees.tree import Tree

SELECTIONS = {
    "one": lambda n: 0,
    "last": lambda n: -1,
    "list": lambda n: [0, n - 1],
    "reversed": lambda n: list(range(n))[::-1],
    "duplicates": lambda n: [n - 1, 0, n - 1, 0],
    "negative": lambda n: [-1, -n],
    "empty": lambda n: [],
    "slice": lambda n: slice(1, None, 2),
    "backward slice": lambda n: slice(None, None, -1),
    "range": lambda n: range(n // 2),
    "mask": lambda n: np.arange(n) % 2 == 0,
    "list mask": lambda n: [i % 2 == 1 for i in range(n)],
    "array": lambda n: np.array([n - 1, 0]),
    "int32 array": lambda n: np.array([n - 1, 0], np.int32),
    "tensor": lambda n: torch.tensor([n - 1, 0]),
    "mask tensor": lambda n: torch.arange(n) % 2 == 0,
    "everything": lambda n: slice(None),
}


def chosen_by(selection: object, trees: list[Tree]) -> list[Tree]:
    if isinstance(selection, int):
        return [trees[selection]]
    if isinstance(selection, slice):
        return trees[selection]
    values = np.asarray(selection)
    if values.dtype == bool:
        return [tree for tree, keep in zip(trees, values, strict=True) if keep]
    return [trees[int(i)] for i in values]


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("name", SELECTIONS)
def test_sub_forest_is_the_forest_of_the_chosen_trees(name: str, share: bool):
    for seed in range(5):
        trees = random_trees(random.Random(seed), inner_tokens=seed % 2 == 1)
        selection = SELECTIONS[name](len(trees))
        ours = forest_of(trees, share)[selection]
        chosen = chosen_by(selection, trees)
        if share:
            assert_same_forest(ours, forest_of(chosen))
        else:
            assert trees_of(ours) == chosen
            # One copy of a root that is named twice, whatever share was.
            distinct = np.unique(np.arange(len(trees))[selection])
            assert ours.num_nodes == sum(trees[i].size for i in distinct)


@given(tree_lists, st.data())
def test_any_sub_forest(trees: list[Tree], data: st.DataObject):
    indices = data.draw(st.lists(st.integers(-len(trees), len(trees) - 1)))
    ours = forest_of(trees)[indices]
    assert_same_forest(ours, forest_of([trees[i] for i in indices]))
    again = data.draw(st.lists(st.integers(0, max(len(indices) - 1, 0)))) if indices else []
    assert_same_forest(ours[again], forest_of([trees[indices[i]] for i in again]))


def test_sub_forest_leaves_the_forest_as_it_was():
    trees = random_trees(random.Random(0))
    forest = forest_of(trees)
    before = {name: getattr(forest, name).copy() for name in FIELDS}
    part = forest[[1, 0]]
    part.types[:] = 99
    part.roots[:] = 99
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(forest, name), before[name])


@pytest.mark.parametrize("indices", [5, [0, 5], -3, [-3]])
def test_no_such_root(indices: object):
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 2"):
        forest_of(PAIR)[indices]


def test_mask_of_the_wrong_length():
    with pytest.raises(IndexError, match="boolean"):
        forest_of(PAIR)[np.array([True, False, True])]


@pytest.mark.parametrize("indices", [np.array([[0, 1]]), None])
def test_indices_of_two_dimensions(indices: object):
    with pytest.raises(IndexError):
        forest_of(PAIR)[indices]


def test_a_tuple_of_indices():
    assert trees_of(forest_of(PAIR)[(1, 0)]) == PAIR[::-1]


def test_an_empty_array_of_indices():
    assert len(forest_of(PAIR)[np.array([])]) == 0


def test_copies_stand_side_by_side():
    """Of nodes that two lists have, each list's parents have their own."""
    forest = forest_of(random_trees(random.Random(0)))
    some = below(forest.roots[::2], forest.offsets, forest.children)
    nodes = np.concatenate([some, np.arange(forest.num_nodes)])
    both = forest.copied(nodes, forest.roots)
    assert np.array_equal(nodes[both.roots], forest.roots) and both.roots.min() >= len(some)
    for v, node in enumerate(nodes):
        assert (both.types[v], both.tokens[v]) == (forest.types[node], forest.tokens[node])
        children = both.children[both.offsets[v] : both.offsets[v + 1]]
        of_node = slice(forest.offsets[node], forest.offsets[node + 1])
        assert np.array_equal(nodes[children], forest.children[of_node])
        assert np.array_equal(both.pos[both.offsets[v] : both.offsets[v + 1]], forest.pos[of_node])
        assert ((children < len(some)) == (v < len(some))).all()
