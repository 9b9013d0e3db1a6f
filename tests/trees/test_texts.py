"""Leaves that are texts: one node of a forest each, which keeps its words."""

from __future__ import annotations

import random

import numpy as np
import pytest
from forests import trees_of
from random_trees import VOCABULARY, random_trees, with_texts

from structnet.trees.forest import Forest
from structnet.trees.label_words import Text, own_nodes, with_words
from structnet.trees.texts import Texts
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary


def words_of(forest: Forest, node: int) -> list[int]:
    return forest.words_at(np.array([node]))[1].tolist()


@pytest.mark.parametrize("inner_tokens", [False, True])
@pytest.mark.parametrize("share", [True, False])
def test_a_forest_keeps_the_words_of_texts(share: bool, inner_tokens: bool) -> None:
    for seed in range(8):
        rng = random.Random(seed)
        trees = [with_texts(tree, rng) for tree in random_trees(rng, inner_tokens)]
        forest = Forest.from_trees(trees, VOCABULARY, share=share)
        assert trees_of(forest) == trees
        chosen = [len(trees) - 1, 0]
        assert trees_of(forest[chosen]) == [trees[i] for i in chosen]
        nodes = [node for tree in trees for node in own_nodes(tree)]
        order = forest.preorder().nodes
        assert len(order) == len(nodes)
        for v, node in zip(order.tolist(), nodes, strict=True):
            text = isinstance(node, Text)
            expected = [VOCABULARY.token_of(word.label) for word in node.children if text]
            assert words_of(forest, v) == expected


def test_texts_are_shared_if_their_labels_and_words_are_alike() -> None:
    x, y = Tree("x"), Tree("y")
    texts = [Text("x", [y, x]), Text("x", [Tree("y"), Tree("x")]), Text("x", [x, y]), x]
    forest = Forest.from_trees([Tree("A", texts[:3]), *texts], VOCABULARY)
    assert forest.num_nodes == 4
    assert forest.preorder().offsets.tolist() == [0, 4, 5, 6, 7, 8]


def test_the_words_of_several_nodes() -> None:
    texts = Texts.listed(np.array([1, -1, 0]), [[5], [7, 8, 7]])
    place, words = texts.words_at(np.array([2, 1, 0, 0]))
    assert place.tolist() == [0, 2, 2, 2, 3, 3, 3]
    assert words.tolist() == [5, 7, 8, 7, 7, 8, 7]
    assert texts.take(np.array([2])).words_at(np.array([0]))[1].tolist() == [5]


def test_a_vocabulary_lists_texts_and_their_words_as_tokens() -> None:
    trees = [Tree("f", [Text("ice cream", [Tree("ice"), Tree("cream")])]), Tree("ice")]
    vocabulary = Vocabulary.from_trees(trees)
    assert list(vocabulary.types) == ["f"] and vocabulary.arity == 1
    assert list(vocabulary.tokens) == ["ice cream", "ice", "cream"]
    assert list(Vocabulary.from_trees(trees, unknown=True, min_count=2).tokens) == ["ice"]


def test_texts_without_a_word_have_no_length() -> None:
    trees = [with_words(Tree("f", [Tree("ice cream"), Tree("x")])), Tree("f", [Text("y z", [])])]
    forest = Forest.from_trees(trees, Vocabulary.from_trees(trees), share=False)
    owner = forest.words_at(np.arange(forest.num_nodes))[0]
    assert forest.texts is not None
    nodes, count = forest.texts.lengths()
    assert np.array_equal(np.repeat(nodes, count), owner) and count.tolist() == [2]
