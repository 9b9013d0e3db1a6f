"""Where a name occurs again, and names that no vocabulary lists."""

from __future__ import annotations

import random
from collections.abc import Hashable

import numpy as np
import pytest
from random_trees import TYPES, VOCABULARY, random_trees
from repeated_names import repeated

from structnet.tensor_tree.explanation import hidden_one_by_one
from structnet.trees.forest import Forest
from structnet.trees.label_words import Text
from structnet.trees.repeats import MOST, Named, names_of
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary

OPEN = Vocabulary("f", "x", arity=None, unknown=True, names=True)


def names_in(tree: Tree, vocabulary: Vocabulary = OPEN) -> list[int]:
    forest = Forest.from_trees([tree], vocabulary)
    return names_of(forest)[forest.preorder().nodes].tolist()


@pytest.mark.parametrize("inner_tokens", [False, True])
@pytest.mark.parametrize("share", [False, True])
def test_a_name_occurs_again_where_a_walk_meets_it(inner_tokens: bool, share: bool):
    for seed in range(20):
        rng = random.Random(seed)
        trees = random_trees(rng, inner_tokens)
        forest = Forest.from_trees(trees, VOCABULARY, share=share)
        expected = [each for tree in trees for each in repeated(tree)]
        every = len(expected)
        for places in (np.arange(every), rng.sample(range(every), (every + 2) // 3)):
            nodes = forest.preorder().nodes[places]
            named = Named.like(forest, nodes, np.array(places), np.append(forest.types, -1))
            found: list[tuple[set[int], set[Hashable]]] = [(set(), set()) for _ in places]
            for row, kind in zip(*named.among(*np.nonzero(named.repeats())), strict=True):
                found[row][0].add(int(kind))
            row, above = named.among(*named.above_others())
            assert len(set(zip(row, above, strict=True))) == len(row)
            for i, label in zip(row, above, strict=True):
                found[i][1].add(None if label < 0 else TYPES[label])
            assert found == [expected[place] for place in places]


@pytest.mark.parametrize("number", [MOST, MOST + 1])
def test_a_name_below_very_many_labels_is_no_name(number: int):
    tree = Tree("f", [Tree(f"label {i}", [Tree("x")]) for i in range(number)])
    forest = Forest.from_trees([tree], Vocabulary.from_trees([tree]))
    leaf = forest.preorder().nodes[2:3]
    named = Named.like(forest, leaf, np.array([2]), np.append(forest.types, -1))
    row, above = named.among(*named.above_others())
    assert len(row) == len(set(above)) == (number - 1 if number <= MOST else 0)
    assert named.repeats()[:, :2].any(axis=1).all()


def test_labels_that_are_not_listed_are_told_apart_by_name():
    x, y, z = Tree("x"), Tree("y"), Tree("z")
    tree = Tree("f", [x, y, z, Tree("y", [y]), Tree("f", token="z"), Tree("f", token="x")])
    _, a, b, c, above_y, below_y, c_beside, a_beside = names_in(tree)
    assert b == above_y == below_y != c == c_beside and a == a_beside
    assert len({a, b, c}) == 3 and max(b, c) < -1
    assert set(names_in(tree, Vocabulary("f", "x", None, unknown=True))) == {*names_in(x), 2, -1}


def test_texts_with_the_same_words_keep_their_names():
    words = [Tree("a"), Tree("b")]
    one, other = Text("a b", words), Text("a, b", words)
    _, *names = names_in(Tree("f", [one, other, Tree("a b")]))
    assert names[0] == names[2] != names[1]


def test_numbers_read_by_value_are_named_by_it():
    vocabulary = Vocabulary("f", "x", arity=None, unknown=True, numbers=True, names=True)
    _, a, b, c = names_in(Tree("f", [Tree("2"), Tree("2.0"), Tree("3")]), vocabulary)
    assert a == b != c


def test_what_is_hidden_has_no_name():
    tree = Tree.fromstring("(g y (h y))")
    for alone in ((), (0, 2)):
        (forest,) = hidden_one_by_one(tree, OPEN, labels_alone=alone)
        order, names = forest.preorder(), names_of(forest)
        g, y, h, hidden = names[order.nodes[-4:]].tolist()  # the last node is hidden last
        assert len({g, y, h}) == 3 and hidden == -1 not in (g, y, h)
        variants = np.split(names[order.nodes], order.offsets[1:-1])
        assert [each.tolist() for each in variants] == (
            [[-1, y, h, y], [g, -1, h, y], [g, y, -1, y], [g, y, h, -1]]
            if alone
            else [[-1], [g, -1, h, y], [g, y, -1], [g, y, h, -1]]
        )
