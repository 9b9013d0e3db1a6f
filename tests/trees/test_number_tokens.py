"""Numbers that are tokens by their values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from structnet.trees.forest import Forest
from structnet.trees.number_tokens import FIRST, are_many, number_of, token_of_number, values_of
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary, VocabularyError


@pytest.mark.parametrize(
    "label, value",
    [
        ("3", 3.0), ("-2.50", -2.5), ("+.5", 0.5), ("1.", 1.0), ("1e-3", 1e-3), ("2E5", 2e5),
        (7, 7.0), (np.int64(7), 7.0), (np.float32(0.5), 0.5), (Fraction(1, 4), 0.25),
    ],
)  # fmt: skip
def test_labels_that_are_numbers(label: object, value: float):
    assert number_of(label) == value


@pytest.mark.parametrize(
    "label",
    ["", "x", "1,000", "1_000", "nan", "inf", "-", ".", "e5", "1e", "1e999", " 1", "1\n", "٣",
     True, None, float("nan"), float("inf"), 10**400, (1,)],
)  # fmt: skip
def test_labels_that_are_none(label: object):
    assert number_of(label) is None


def test_tokens_hold_values_in_single_precision():
    given = np.array([0.0, -0.0, 1.5, -3e7, 1e-30, 1e300, -1e300])
    tokens = np.array([token_of_number(value) for value in given])
    largest = np.finfo(np.float32).max
    expected = np.float32([0, 0, 1.5, -3e7, 1e-30, largest, -largest])
    assert (tokens >= FIRST).all() and tokens[0] == tokens[1]
    np.testing.assert_array_equal(values_of(tokens), expected)


def test_few_numbers_and_rare_ones_beside_them_are_categories():
    digits = {str(digit): 50 for digit in range(10)}
    rare = {str(i): 1 for i in range(10, 40)}
    assert not are_many({}) and not are_many({"x": 9}) and not are_many(digits | rare)
    assert are_many({i / 7: 1 for i in range(30)} | {"word": 1000})


TREES = [
    Tree("+", [Tree("2.50"), Tree("x")]),
    Tree("+", [Tree(2.5), Tree("x")]),
    Tree("*", [Tree("-1e3"), Tree("y", token=7)]),
]


def test_a_forest_has_values_as_tokens():
    vocabulary = Vocabulary.from_trees(TREES, numbers=True)
    assert list(vocabulary.tokens) == ["x"] and vocabulary.num_tokens == 1
    assert repr(vocabulary).endswith("numbers by value)")
    assert Vocabulary.from_dict(vocabulary.to_dict()) == vocabulary
    forest = Forest.from_trees(TREES, vocabulary)
    assert forest.roots[0] == forest.roots[1]  # one value, however it is written
    assert forest[[2]].tree(0) == Tree("*", [Tree(-1000.0), Tree("y", token=7.0)])
    new = Forest.from_trees([Tree("+", [Tree("0.1"), Tree("x")])], vocabulary)
    assert new.tree(0) == Tree("+", [Tree(0.1), Tree("x")])


def test_inner_labels_may_be_numbers_too():
    trees = [Tree(i / 4, [Tree("x"), Tree("f", [Tree("y")])]) for i in range(50)]
    vocabulary = Vocabulary.from_trees(trees, unknown=True, numbers=None)
    assert list(vocabulary.types) == ["f"] and list(vocabulary.tokens) == ["x", "y"]
    assert Vocabulary.from_dict(vocabulary.to_dict()) == vocabulary
    assert "inner numbers by value" in repr(vocabulary)
    assert vocabulary.encode(trees[3]) == (1, token_of_number(0.75))
    assert vocabulary.encode(Tree("7.125", [Tree("x")])) == (1, token_of_number(7.125))
    assert vocabulary.encode(Tree("g", [Tree("x")])) == (1, -1)
    assert vocabulary.encode(trees[3].children[1]) == (0, -1)
    forest = Forest.from_trees(trees, vocabulary)
    assert forest.tree(3) == trees[3]
    # Where a label needs a type of its own, or has none, a number cannot be its token.
    for kept in ({"unknown": False}, {"unknown": True, "typed": False}):
        found = Vocabulary.from_trees(trees, numbers=None, **kept)
        assert not found.inner_numbers and found.encode(trees[3])[1] == -1
    with pytest.raises(VocabularyError, match="inner_numbers=True needs types and unknown=True"):
        Vocabulary(["f"], ["x"], 2, inner_numbers=True)
    # Leaves are read by their values only if these are many among them.
    codes = [Tree(i / 4, [Tree(str(i % 9))]) for i in range(50)]
    found = Vocabulary.from_trees(codes, unknown=True, numbers=None)
    assert found.inner_numbers and found.any_numbers and not found.numbers
    assert found.token_of("99") == found.token_of("x") == 9


def test_without_numbers_a_number_is_a_word():
    assert list(Vocabulary.from_trees(TREES).tokens) == ["2.50", "x", 2.5, "-1e3", 7]
    assert Vocabulary.from_trees(TREES) == Vocabulary.from_trees(TREES, numbers=None)
    many = [Tree("f", [Tree(str(i / 4))]) for i in range(50)]
    assert Vocabulary.from_trees(many, numbers=None).numbers
