"""Vocabulary: numbers of labels, its inverse, and what it says of labels it does not know."""

from __future__ import annotations

import json

import pytest
from forests import exactly
from hypothesis import given
from random_trees import doubled, tree_lists

from structnet.trees.forest import Forest
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary, VocabularyError

LISTOPS = Vocabulary(["MAX", "MIN"], "0123456789", arity=5)
TREES = [
    Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("2"), Tree("9")])]),
    Tree("nsubj", [Tree("det", token="the")], token="cat"),
]


def test_numbers_follow_the_order_given():
    assert [LISTOPS.type_of(label) for label in ("MAX", "MIN")] == [0, 1]
    assert [LISTOPS.token_of(str(k)) for k in range(10)] == list(range(10))
    assert (LISTOPS.num_types, LISTOPS.num_tokens, LISTOPS.arity) == (2, 10, 5)


def test_from_trees_numbers_in_order_of_first_occurrence():
    vocabulary = Vocabulary.from_trees(TREES)
    assert list(vocabulary.types) == ["MAX", "MIN", "nsubj", "det"]
    assert list(vocabulary.tokens) == ["2", "4", "9", "cat", "the"]
    assert vocabulary.arity == 3


def test_encode():
    vocabulary = Vocabulary.from_trees(TREES)
    assert vocabulary.encode(TREES[0]) == (0, -1)
    assert vocabulary.encode(Tree("9")) == (-1, 2)
    assert vocabulary.encode(TREES[1]) == (2, 3)
    assert vocabulary.encode(Tree("det", token="the")) == (3, 4)


def test_untyped_gives_every_inner_node_type_zero():
    vocabulary = Vocabulary.from_trees(TREES, typed=False)
    assert vocabulary.types is None
    assert vocabulary.num_types == 1
    assert vocabulary.encode(Tree("never seen", [Tree("2")])) == (0, -1)
    assert vocabulary.encode(Tree("2")) == (-1, 0)


def test_no_trees():
    vocabulary = Vocabulary.from_trees([])
    assert (vocabulary.num_types, vocabulary.num_tokens, vocabulary.arity) == (0, 0, 0)


@given(tree_lists)
def test_from_trees_knows_every_node(trees: list[Tree]):
    vocabulary = Vocabulary.from_trees(trees)
    for tree in trees:
        for node in tree.preorder():
            type_, token = vocabulary.encode(node)
            assert -1 <= type_ < vocabulary.num_types
            assert -1 <= token < vocabulary.num_tokens
            assert (type_ >= 0) == bool(node.children or node.token is not None)
            assert (token >= 0) == bool(not node.children or node.token is not None)


def test_numbers_are_said_where_they_are_taken_by_value():
    """Folders of runs are compared by what is said."""
    assert "numbers" not in Vocabulary(["a"], ["b"], 2).to_dict()
    assert Vocabulary(["a"], ["b"], 2, numbers=True).to_dict()["numbers"] is True


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("typed", [False, True])
def test_to_dict_through_json(typed: bool, unknown: bool):
    vocabulary = Vocabulary.from_trees(TREES, typed=typed, unknown=unknown)
    again = Vocabulary.from_dict(json.loads(json.dumps(vocabulary.to_dict())))
    assert again == vocabulary
    assert again.num_types == vocabulary.num_types
    assert again.token_of("the") == vocabulary.token_of("the")


def test_equality():
    assert Vocabulary("ab", "x", 2) == Vocabulary(["a", "b"], ["x"], 2)
    for other in (
        Vocabulary("ba", "x", 2),
        Vocabulary("ab", "xy", 2),
        Vocabulary("ab", "x", 3),
        Vocabulary("ab", "x", 2, unknown=True),
        Vocabulary(None, "x", 2),
        "ab",
    ):
        assert Vocabulary("ab", "x", 2) != other


def test_repr():
    assert repr(LISTOPS) == "Vocabulary(2 types, 10 tokens, arity 5)"
    assert "unknown allowed" in repr(Vocabulary("a", "x", 1, unknown=True))


# -------------------------------------------------------------------------------- unknown


def test_unknown_labels_share_the_last_number():
    vocabulary = Vocabulary("ab", "xyz", 2, unknown=True)
    assert (vocabulary.num_types, vocabulary.num_tokens) == (3, 4)
    assert vocabulary.type_of("c") == vocabulary.type_of(("d", 1)) == 2
    assert vocabulary.token_of("w") == vocabulary.token_of(None) == 3
    assert vocabulary.type_of("b") == 1


@pytest.mark.parametrize(
    ("look_up", "message"),
    [
        (lambda: LISTOPS.type_of("MINN"), "unknown inner label 'MINN'; did you mean 'MIN'?"),
        (lambda: LISTOPS.type_of("?"), "unknown inner label '?'; 2 are known"),
        (lambda: LISTOPS.token_of("cat"), "unknown token 'cat'; 10 are known"),
        (lambda: LISTOPS.token_of(7), "unknown token 7; did you mean '7'?"),
        (lambda: LISTOPS.encode(Tree("MAX", token="1", children=[])), None),
        (lambda: LISTOPS.encode(Tree("2", [Tree("1")])), "unknown inner label '2'; 2 are known"),
        (lambda: LISTOPS.encode(Tree("MAX")), "unknown token 'MAX'; 10 are known"),
        (
            lambda: LISTOPS.encode(Tree("MAX", [Tree("1")] * 6)),
            "node 'MAX' has 6 children; the vocabulary's arity is 5",
        ),
        (lambda: Vocabulary("aba", "", 1), "inner label 'a' is listed twice in a vocabulary"),
        (lambda: Vocabulary("", "xyzy", 1), "token 'y' is listed twice in a vocabulary"),
    ],
)
def test_sentences(look_up, message: str | None):
    if message is None:
        look_up()
        return
    with pytest.raises(VocabularyError, match=exactly(message)):
        look_up()


def test_a_vocabulary_error_is_a_value_error():
    assert issubclass(VocabularyError, ValueError)


def test_too_many_children_are_refused_even_with_unknown():
    vocabulary = Vocabulary("f", "x", 1, unknown=True)
    with pytest.raises(VocabularyError, match="node 'g' has 2 children"):
        vocabulary.encode(Tree("g", [Tree("x")] * 2))


# ------------------------------------------------------------------------- known defects


@pytest.mark.parametrize("arity", [-1, "2", 1.5])
def test_wrong_arity_is_refused(arity: object):
    with pytest.raises(ValueError, match="arity"):
        Vocabulary("f", "x", arity)


def test_from_trees_walks_shared_objects_once():
    looked_at = 0

    class Label(str):
        __slots__ = ()

        def __hash__(self) -> int:
            nonlocal looked_at
            looked_at += 1
            return str.__hash__(self)

    tree = Tree(Label("x"))
    for _ in range(12):
        tree = Tree(Label("f"), [tree, tree])
    assert tree == doubled(12)
    looked_at = 0
    Vocabulary.from_trees([tree])
    assert looked_at < 1_000


def test_trees_that_are_made_one_by_one_are_all_read():
    found = Vocabulary.from_trees(Tree(f"f{i}", [Tree(f"x{i}")]) for i in range(300))
    assert (found.num_types, found.num_tokens) == (300, 300)


def test_rare_labels_are_left_out_for_the_unknown():
    often, once = Tree("S", [Tree("the"), Tree("cat")]), Tree("S", [Tree("the"), Tree("emu")])
    rare = Tree("NP", [Tree("the"), Tree("the"), Tree("the")])
    vocabulary = Vocabulary.from_trees([often, often, once, rare], unknown=True, min_count=2)
    assert (list(vocabulary.types), list(vocabulary.tokens)) == (["S"], ["the", "cat"])
    assert vocabulary.token_of("emu") == vocabulary.token_of("yak") == 2
    assert vocabulary.type_of("NP") == 1


def test_a_label_counts_once_a_tree_even_where_its_object_is_shared():
    leaf = Tree("x")
    trees = [Tree("f", [leaf, leaf]), Tree("g", [leaf])]
    vocabulary = Vocabulary.from_trees(trees, unknown=True, min_count=2)
    assert (list(vocabulary.types), list(vocabulary.tokens)) == ([], ["x"])


def test_rare_labels_need_an_unknown():
    with pytest.raises(VocabularyError, match="min_count=2 needs unknown=True"):
        Vocabulary.from_trees([Tree("x")], min_count=2)


def test_any_arity():
    vocabulary = Vocabulary.from_trees([Tree("f", [Tree("x")])], any_arity=True)
    assert vocabulary.arity is None and "any arity" in repr(vocabulary)
    wide = Tree("f", [Tree("x")] * 9)
    forest = Forest.from_trees([wide], vocabulary)
    assert (forest.arity, forest.tree(0)) == (9, wide)
    assert Vocabulary.from_dict(json.loads(json.dumps(vocabulary.to_dict()))) == vocabulary
