"""Forest: trees in and out, sharing, levels, depth."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest
from forests import FIELDS, PAIR, children_by_place, exactly, forest_of, trees_of
from hypothesis import given
from hypothesis import strategies as st
from random_trees import ARITY, TYPES, VOCABULARY, chain, copied, doubled, random_trees, tree_lists

from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary, VocabularyError

# ----------------------------------------------------------------------- trees in and out


@given(tree_lists, st.booleans())
def test_round_trip(trees: list[Tree], share: bool):
    forest = forest_of(trees, share)
    assert len(forest) == len(trees)
    assert trees_of(forest) == trees


@given(tree_lists)
def test_equal_subtrees_are_stored_once(trees: list[Tree]):
    nodes = [node for tree in trees for node in tree.preorder()]
    assert forest_of(trees).num_nodes == len(set(nodes))
    assert forest_of(trees, share=False).num_nodes == len(nodes)


@given(tree_lists)
def test_sharing_does_not_depend_on_objects(trees: list[Tree]):
    fresh = [copied(tree) for tree in trees]
    for name in FIELDS:
        ours, theirs = getattr(forest_of(trees), name), getattr(forest_of(fresh), name)
        np.testing.assert_array_equal(ours, theirs)


@given(tree_lists, st.booleans())
def test_invariants(trees: list[Tree], share: bool):
    forest = forest_of(trees, share)
    for name in FIELDS:
        assert getattr(forest, name).dtype == np.int64, name
    assert forest.offsets[0] == 0
    assert forest.offsets[-1] == len(forest.children) == len(forest.pos)
    # By height, then type; so children come before parents.
    order = list(zip(forest.height.tolist(), forest.types.tolist(), strict=True))
    assert order == sorted(order)
    for node in range(forest.num_nodes):
        places = children_by_place(forest, node)
        assert list(places) == list(range(len(places)))
        heights = [forest.height[child] for child in places.values()]
        assert forest.height[node] == max(heights, default=-1) + 1
    assert [forest.height[root] for root in forest.roots] == [tree.height for tree in trees]
    assert forest.arity == ARITY


@given(tree_lists, st.booleans())
def test_levels(trees: list[Tree], share: bool):
    forest = forest_of(trees, share)
    levels = forest.levels
    assert np.concatenate([level.nodes for level in levels]).tolist() == list(
        range(forest.num_nodes)
    )
    for height, level in enumerate(levels):
        assert set(forest.height[level.nodes]) == {height}
        assert level.children.shape == (len(level.nodes), ARITY)
        for node, row in zip(level.nodes, level.children.tolist(), strict=True):
            places = children_by_place(forest, node)
            assert row == [places.get(j, -1) for j in range(ARITY)]


def test_levels_of_very_wide_trees_do_not_fit_in_memory():
    n = 10**6
    leaves, none = np.arange(n), np.full(n, -1)
    types, tokens, height = (np.append(*each) for each in ((none, 0), (leaves, -1), (0 * none, 1)))
    offsets = np.append(np.zeros(n + 1, np.int64), n)
    forest = Forest(types, tokens, height, offsets, leaves, leaves, np.array([n]), n)
    with pytest.raises(ValueError, match=r"1000000 places for each of 1000001 nodes needs .* GiB"):
        forest.levels  # noqa: B018


def test_no_trees():
    forest = forest_of([])
    assert (len(forest), forest.num_nodes, forest.levels) == (0, 0, [])
    assert (len(forest[[]]), forest.graph.num_nodes()) == (0, 0)
    assert repr(forest) == "Forest(0 trees, 0 distinct nodes, arity 3)"


def test_repr():
    assert repr(forest_of(PAIR)) == "Forest(2 trees, 4 distinct nodes, arity 3)"


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (Tree("C", [Tree("x")]), "unknown inner label 'C'; 2 are known"),
        (Tree("A", [Tree("w")]), "unknown token 'w'; 3 are known"),
        (Tree("A", [Tree("x")] * 4), "node 'A' has 4 children; the vocabulary's arity is 3"),
    ],
)
def test_trees_that_the_vocabulary_does_not_know(tree: Tree, message: str, share: bool):
    with pytest.raises(VocabularyError, match=exactly(message)):
        forest_of([*PAIR, tree], share)


def test_unknown_labels_come_back_as_unknown():
    vocabulary = Vocabulary("A", "x", 2, unknown=True)
    tree = Tree("C", [Tree("x"), Tree("w")])
    again = Forest.from_trees([tree], vocabulary).tree(0)
    assert again == Tree("<unknown>", [Tree("x"), Tree("<unknown>")])


def test_without_types_inner_labels_come_back_as_numbers():
    vocabulary = Vocabulary.from_trees(PAIR, typed=False)
    again = Forest.from_trees(PAIR, vocabulary).tree(1)
    assert again == Tree(0, [Tree(0, [Tree("x"), Tree("y")])])


@pytest.mark.parametrize("index", [2, -3])
def test_tree_at_no_root(index: int):
    message = f"root {index} of a forest of 2 trees"
    with pytest.raises(IndexError, match=exactly(message)):
        forest_of(PAIR).tree(index)


def test_negative_root():
    assert forest_of(PAIR).tree(-1) == PAIR[1]


def test_to_device_leaves_the_forest_as_it_was():
    forest = forest_of(PAIR)
    moved = forest.to("meta")
    assert (forest.device.type, moved.device.type) == ("cpu", "meta")
    assert moved[[0]].device.type == "meta"
    assert moved.types is forest.types


# ------------------------------------------------------------------------- shared objects


def test_shared_objects_build_in_linear_time():
    forest = forest_of([doubled(60, "A")])
    assert forest.num_nodes == 61
    assert forest.tree(0) == doubled(60, "A")
    assert forest[[0, 0]].num_nodes == 61


@pytest.mark.parametrize("share", [True, False])
def test_deep_chain(share: bool):
    tree = chain(100_000)
    forest = forest_of([tree, Tree("B", [tree])], share)
    assert forest.num_nodes == (100_001 if share else 200_001)
    assert forest.height.max() == 100_000
    assert forest.tree(0) == tree
    assert forest[[0]].num_nodes == 100_000
    assert len(forest.levels) == 100_001


def test_a_node_with_very_many_children():
    tree = Tree("A", [Tree("xyz"[i % 3]) for i in range(100_000)])
    forest = Forest.from_trees([tree], Vocabulary("A", "xyz", 100_000))
    assert forest.num_nodes == 4
    assert forest.tree(0) == tree


# -------------------------------------------------------------------------- known defects


@pytest.mark.parametrize("share", [True, False])
def test_a_generator_of_trees(share: bool):
    assert len(Forest.from_trees((tree for tree in PAIR), VOCABULARY, share=share)) == 2


class Parsing:
    """A sequence that makes its trees when asked, as one over the lines of a file does."""

    def __len__(self) -> int:
        return 50

    def __getitem__(self, index: int) -> Tree:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return chain(2 + index % 7, TYPES if index % 2 else TYPES[::-1])


def test_none_is_a_label():
    tree = Tree(None, [Tree("x"), Tree("y")])
    assert Forest.from_trees([tree], Vocabulary.from_trees([tree])).tree(0) == tree


def test_a_sequence_that_makes_its_trees_when_asked():
    forest = Forest.from_trees(Parsing(), VOCABULARY)
    assert trees_of(forest) == list(Parsing())


def test_preorder_finds_every_node_of_every_tree():
    for seed in range(20):
        trees = random_trees(random.Random(seed))
        forest = Forest.from_trees(trees, VOCABULARY)
        order = forest.preorder()
        assert np.diff(order.offsets).tolist() == [tree.size for tree in trees]
        assert forest.sizes().tolist() == [tree.size for tree in trees]
        nodes = [node for tree in trees for node in tree.preorder()]
        encoded = [VOCABULARY.encode(node) for node in nodes]
        assert forest.types[order.nodes].tolist() == [kind for kind, _ in encoded]
        assert forest.tokens[order.nodes].tolist() == [token for _, token in encoded]


def test_preorder_of_what_cannot_be_written_out_is_refused():
    tree = doubled(60)
    forest = Forest.from_trees([tree], Vocabulary.from_trees([tree]))
    with pytest.raises(ValueError, match="a row for each node of these trees needs"):
        forest.preorder()


@given(tree_lists)
def test_each_entry_of_the_preorder_knows_its_parents(trees: list[Tree]):
    def above(tree: Tree, entry: int, parent: int) -> list[int]:
        found = [parent]
        for child in tree.children:
            found += above(child, entry + len(found), entry)
        return found

    forest = forest_of(trees)
    expected = []
    for tree in trees:
        expected += above(tree, len(expected), -1)
    assert forest.parents(forest.preorder()).tolist() == expected


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        (Tree("x"), "'Tree' object is not iterable"),
        ("(A x)", "one is a str"),
        ([Tree("x"), "(A x)"], "which structnet.parse.as_tree makes .*; one is a str"),
    ],
)
def test_what_is_no_list_of_trees_is_refused(trees, message: str):
    for function in (partial(Forest.from_trees, vocabulary=VOCABULARY), Vocabulary.from_trees):
        with pytest.raises(TypeError, match=message):
            function(trees)
