"""Texts and names at leaves, with their words below them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structnet.trees import Forest, Tree, Vocabulary, binarize, unbinarize, with_words
from structnet.trees.label_words import without_words


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("getElementById", "get element by id"),
        ("HTTPServer2Error", "http server #2 error"),
        ("snake_case", "snake case"),
        ("'Call me now!'", "call me now"),
        ("Éric à Paris", "éric à paris"),
        ("ÉcoleNormale", "école normale"),
        ("ÉCOLE", ""),
        ("МояПеременная", "моя переменная"),
        ("e\u0301cole", ""),
        ("हिन्दी", ""),
        ("हिन्दी भाषा", "हिन्दी भाषा"),
        ("2020-01-02", "#2020 #01 #02"),
        ("0 0 24.5 -3", "#0 #0 #24.5 #3"),
        ("Error 404", "error #404"),
        ("lr 1e-5, 2E3", "lr #1e-5 #2e3"),
        ("0 .5 -.5", "#0 #.5 #.5"),
        ("pages 1..5", "pages #1 #5"),
        ("wait...404", "wait #404"),
        ("10,20 1,000", "#10 #20 #1 #000"),
        ("1_000 of a.1 v1.2.3 3e", "#1 #000 of a #1 v #1 #2 #3 #3 e"),
        ("192.168.1.1 is up", "#192.168.1.1 is up"),
        ("x1 4px 2.5em", "x #1 #4 px #2 #5 em"),
        ("version 1.x", "version #1 x"),
        ("٣ كتب", "#٣ كتب"),
        ("$5", ""),
        ("1e-5", ""),
        ("x1", ""),
        ("word", ""),
        ("NOT", ""),
        ("", ""),
    ],
)
def test_words(label: str, words: str) -> None:
    leaf = Tree(label)
    assert with_words(leaf) == Tree(label, [Tree(word) for word in words.split()])


def test_a_text_has_at_most_fifty_words() -> None:
    assert len(with_words(Tree("so on " * 40)).children) == 50


def test_numbers_in_a_text_are_words_whatever_other_numbers_are() -> None:
    trees = [with_words(Tree("f", [Tree(f"{n % 3} {n % 2}"), Tree(str(n / 8))])) for n in range(90)]
    vocabulary = Vocabulary.from_trees(trees, unknown=True, min_count=2, numbers=None)
    assert vocabulary.numbers
    assert sorted(label for label in vocabulary.tokens if len(label) < 3) == ["#0", "#1", "#2"]
    forest = Forest.from_trees(trees, vocabulary)
    assert forest.texts is not None and forest.texts.words.max() < vocabulary.num_tokens


def test_text_of_numpy_is_text() -> None:
    label = np.array(["two words"])[0]
    assert with_words(Tree(label)) == Tree("two words", [Tree("two"), Tree("words")])


def test_a_pickled_text_stays_one() -> None:
    tree = with_words(Tree("f", [Tree("two words"), Tree("word")]))
    again = pickle.loads(pickle.dumps(tree))
    vocabulary = Vocabulary.from_trees([tree])
    assert Vocabulary.from_trees([again]) == vocabulary
    assert Forest.from_trees([tree, again], vocabulary).num_nodes == 3
    assert with_words(again) is again


def test_other_labels_stay() -> None:
    tree = Tree("innerNode", [Tree(7), Tree("two words", (), "a token"), Tree("word")])
    assert with_words(tree) is tree
    shared = Tree("two words")
    found = with_words(Tree("f", [shared, Tree("g", [shared])]))
    assert str(found) == "(f (two words two words) (g (two words two words)))"
    assert found[0] is found[1, 0]


@example(Tree("İa b"))  # two characters in small letters
@given(st.recursive(st.text().map(Tree), lambda of: st.builds(Tree, st.text(), st.lists(of))))
def test_words_have_no_words(tree: Tree) -> None:
    found = with_words(tree)
    assert with_words(found) is found
    assert without_words(found) == tree and without_words(tree) is tree
    assert [n.label for n in found.preorder()][:1] == [tree.label]


def test_a_text_with_other_labels_stays_one() -> None:
    tree = with_words(Tree("f", [Tree("two Words"), Tree("word"), Tree("two Words")]))
    again = tree.map(lambda node: node.label.upper())
    assert str(again) == "(F (TWO WORDS TWO WORDS) WORD (TWO WORDS TWO WORDS))"
    assert type(again[0]) is type(tree[0]) and again[0] is again[2] and type(again[1]) is Tree
    assert without_words(again) == Tree("F", [Tree("TWO WORDS"), Tree("WORD"), Tree("TWO WORDS")])
    assert type(tree.relabel({"words": "nouns"})[0]) is type(tree[0])
    carrying = tree.map(token=lambda node: "t" if node.children else None)
    assert type(carrying[0]) is Tree and carrying[0].token == "t"


@pytest.mark.parametrize("how", ["right", "left", "siblings"])
def test_a_binary_tree_has_no_words(how: str) -> None:
    tree = Tree("f", [Tree("these three words"), Tree("x"), Tree("two words")])
    assert binarize(with_words(tree), how) == binarize(tree, how)
    assert unbinarize(binarize(with_words(tree), how)) == tree
