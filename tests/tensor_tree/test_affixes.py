"""The beginnings and endings of words, by which nodes with new words are classified."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from structnet import Forest, Tree, TreeLSTMNodeClassifier
from structnet.trees import with_words
from structnet.trees.number_tokens import number_of
from structnet.trees.spelling import affixes_of, with_affixes
from structnet.trees.texts import Texts
from structnet.trees.vocabulary import Vocabulary

ENDINGS = {"ly": "adverb", "ing": "verb", "ness": "noun"}
FEW = {"hidden_size": 16, "epochs": 6, "random_state": 0}


def sentences(number: int, stems: int) -> tuple[list[Tree], list[list[str | None]]]:
    """Words whose classes only their endings tell, and one of the same few before them."""
    rng, X, y = random.Random(0), [], []
    for _ in range(number):
        ends = [rng.choice(list(ENDINGS)) for _ in range(5)]
        stem = [np.base_repr(rng.randrange(stems), 26).lower() for _ in ends]
        words = [Tree(a + b) for a, b in zip(stem, ends, strict=True)]
        X.append(Tree("s", [Tree(2.5), *words]))
        y.append([None, None, *(ENDINGS[end] for end in ends)])
    return X, y


def test_nodes_with_new_words(tmp_path: Path):
    X, y = sentences(200, 10**6)
    model = TreeLSTMNodeClassifier(**FEW).fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > 0.95
    assert "beginnings and endings of words" in model.summary()
    model.save(tmp_path / "model.safetensors")
    again = TreeLSTMNodeClassifier.load(tmp_path / "model.safetensors")
    for one, other in zip(model.predict_proba(X), again.predict_proba(X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("given", [{"words": False}, {"cell": "sum"}])
def test_affixes_are_not_read_if_words_are_not(given: dict):
    X, y = sentences(150, 10**6)
    model = TreeLSTMNodeClassifier(**FEW, **given).fit(X, y)
    assert not model.trained_.affixes
    assert "endings" not in model.summary()


def test_affixes_are_not_read_of_few_words():
    X, y = sentences(150, 30)
    assert not TreeLSTMNodeClassifier(**FEW).fit(X, y).trained_.affixes


@pytest.mark.parametrize("share", [True, False])
def test_a_word_with_affixes_is_one_node_in_a_forest(share: bool):
    tree = Tree("s", [Tree("walking"), Tree("x", token="y"), Tree("2.5"), Tree(7), Tree("")])
    read = with_affixes(tree)
    assert [str(child) for child in read.children[1:]] == [str(c) for c in tree.children[1:]]
    assert with_affixes(read) is read
    assert with_affixes(with_words(Tree("f", [Tree("a b")]))) == with_words(
        Tree("f", [Tree("a b")])
    )
    vocabulary = Vocabulary.from_trees([read], numbers=True)
    forest = Forest.from_trees([read], vocabulary, share=share)
    assert forest.num_nodes == 6
    assert isinstance(forest.texts, Texts)
    words = forest.texts.words_at(forest.preorder().nodes)[1]
    tokens = list(vocabulary.tokens)
    assert tuple(tokens[word] for word in words) == affixes_of("walking")


@pytest.mark.parametrize("word", ["7", "-1", "x", "1e5x", "e\u0301", "\U0001f600", " ", "+.5"])
def test_no_affix_is_a_number(word: str):
    assert affixes_of(word)
    assert not any(number_of(affix) is not None for affix in affixes_of(word))
    assert affixes_of("e\u0301") == affixes_of("\u00e9")  # one letter, however it is coded


def test_a_form_is_short():
    assert affixes_of("aB1" * 100)[-1] == "~xX0xX0xX"


def test_an_affix_is_one_object():
    walking, talking = (with_affixes(Tree(word)).children for word in ("walking", "talking"))
    assert walking[0] is talking[0]  # words of a large vocabulary share most of theirs
