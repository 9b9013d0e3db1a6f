"""The letters of labels: words as they are written, their pieces, and forests that keep them."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import random_trees, with_texts

from structnet.trees import Forest, Tree, Vocabulary, with_words
from structnet.trees.label_words import Text, own_nodes, spelled
from structnet.trees.spelling import Spelling, pieces_of


@given(st.lists(st.text(alphabet="ab \U0001f600é\ud800", max_size=8), max_size=6))
def test_pieces_are_all_runs_of_one_to_four_letters(words: list[str]) -> None:
    place, code = pieces_of(words)
    runs = [
        (i, word[begin : begin + size])
        for i, word in enumerate(words)
        for size in range(1, 5)
        for begin in range(len(word) - size + 1)
    ]
    assert len(runs) == len(code) and (code >= 0).all()
    # One number for each run: as many of each as there are of it.
    numbers = Counter(zip(place.tolist(), code.tolist(), strict=True))
    assert sorted(numbers.values()) == sorted(Counter(runs).values())
    assert len(set(code.tolist())) == len({run for _, run in runs})


@given(st.text(max_size=30))
def test_a_word_is_spelled_with_what_is_beside_it(label: str) -> None:
    read = with_words(Tree(label))
    found = spelled(read)
    if not isinstance(read, Text):
        assert len(found) == 1
        return
    assert len(found) == len(read.children)
    for word, letters in zip(read.children, found, strict=True):
        assert letters[1:-1].lower() == str(word.label).removeprefix("#")


def test_of_words_that_were_changed_the_new_ones_are_spelled() -> None:
    text = with_words(Tree("getHTTP-code"))
    assert spelled(text) == (" getH", "tHTTP-", "-code ")
    changed = Text(text.label, [Tree("put"), Tree(object()), *text.children[2:]])
    assert spelled(changed) == (" put ", "", "-code ")
    assert spelled(Text(None, text.children)) == (" get ", " http ", " code ")
    assert spelled(Tree("Name", [], token="x1")) == (" Name ", " x1 ")
    assert spelled(Tree(3)) == () and spelled(Tree("3")) == (" 3 ",)


@pytest.mark.parametrize("share", [True, False])
def test_a_forest_keeps_the_letters_of_its_labels(share: bool) -> None:
    for seed in range(4):
        rng = random.Random(seed)
        trees = [with_texts(tree, rng) for tree in random_trees(rng, inner_tokens=True)]
        known = Vocabulary.from_trees(trees[:1], unknown=True, any_arity=True)
        forest = Forest.from_trees(trees, known.changed(letters=True), share=share)
        chosen = [len(trees) - 1, 0]
        for part, of in ((forest, trees), (forest[chosen], [trees[i] for i in chosen])):
            assert part.texts is not None and part.texts.spelling is not None
            nodes = [node for tree in of for node in own_nodes(tree)]
            place, words = part.texts.spelled_at(part.preorder().nodes)
            expected = [(i, word) for i, node in enumerate(nodes) for word in spelled(node)]
            listed = part.texts.spelling.listed
            assert expected == [
                (i, listed[word]) for i, word in zip(place.tolist(), words.tolist(), strict=True)
            ]
        # Words are found as without letters, and so is everything else.
        plain = Forest.from_trees(trees, known, share=share)
        found = [each.words_at(each.preorder().nodes) for each in (plain, forest)]
        for one, other in zip(*found, strict=True):
            np.testing.assert_array_equal(one, other)


def test_new_labels_are_only_told_apart_where_letters_are_read() -> None:
    trees = [Tree("f", [Tree("one"), Tree("two"), Tree("2")])]
    vocabulary = Vocabulary(["f"], [], None, unknown=True, numbers=True)
    assert Forest.from_trees(trees, vocabulary).num_nodes == 3
    lettered = vocabulary.changed(letters=True)
    forest = Forest.from_trees(trees, lettered)
    assert forest.num_nodes == 4 and not vocabulary.letters
    assert forest.texts is not None and forest.texts.spelling is not None
    assert forest.texts.spelling.listed == [" one ", " two ", " f "]  # a number has a value
    assert Vocabulary.from_dict(lettered.to_dict()) == lettered != vocabulary
    assert "letters" in repr(lettered)
    assert not Vocabulary.from_dict(vocabulary.to_dict()).letters


def test_no_words_have_no_pieces() -> None:
    empty = Spelling.of([(), ("",)])
    assert [len(each) for each in empty.pieces] == [0, 0]
    assert empty.offsets.tolist() == [0, 0, 1]
