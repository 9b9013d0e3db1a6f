"""Trees from text in brackets, nodes by their places, labels mapped, leaves counted."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import chain, doubled, mixed_trees, plain_trees

from structnet.trees import Tree, leaf_spans

EXAMPLE = Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("7")]), Tree("0")])
DEEP = 100_000


# ---------------------------------------------------------------------------------- fromstring


@given(mixed_trees)
def test_fromstring_is_the_inverse_of_str(tree: Tree):
    assert Tree.fromstring(str(tree), separator="/") == tree
    assert Tree.fromstring(str(tree).replace(" ", "\n\t").replace(")", " ) "), "/") == tree


@given(plain_trees)
def test_labels_are_whole_without_a_separator(tree: Tree):
    assert Tree.fromstring(str(tree.map(lambda node: f"{node.label}/x"))) == tree.map(
        lambda node: f"{node.label}/x"
    )


def test_fromstring_corners():
    assert Tree.fromstring(" x\n") == Tree("x")
    assert Tree.fromstring("(x)") == Tree("x")
    odd = Tree("a", [Tree("hello world (x)")])  # as the docstring says, its label does not survive
    assert Tree.fromstring(str(odd)) == Tree("a", list(map(Tree, ["hello", "world", "x"])))
    assert Tree.fromstring("( (S x))") == Tree("", [Tree("S", [Tree("x")])])
    assert Tree.fromstring("(S x/y/z)", separator="/")[0] == Tree("x", token="y/z")
    assert Tree.fromstring("(S x/)", separator="/")[0] == Tree("x", token="")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a tree in brackets, .*; got no tree"),
        ("(S (NP x)", r"character 1 of a tree in brackets: 1 unclosed '\(', at '\(S \(NP x\)'"),
        ("(S x))", r"character 6 of .*: unopened '\)', at '\)'"),
        (")", r"character 1 of .*: unopened '\)'"),
        ("(S x) y", "character 7 of .*: text after the end of the tree, at 'y'"),
        ("(S ())", "character 4 of .*: an empty bracket"),
        ("a" * 50 + " b", "character 52 of"),
        ("x " + "y" * 50, r"at 'y{40}\.\.\.'"),
    ],
)
def test_text_that_is_no_tree(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        Tree.fromstring(text)


def test_fromstring_of_a_subclass():
    class Mine(Tree):
        def words(self) -> list:
            return [leaf.label for leaf in self.leaves()]

    tree = Mine.fromstring("(NP the cat)")
    assert isinstance(tree, Mine)
    assert tree.words() == ["the", "cat"]
    assert tree == Tree.fromstring("(NP the cat)")
    assert hash(tree) == hash(Tree.fromstring("(NP the cat)"))
    with pytest.raises(AttributeError, match="a Tree is immutable"):
        tree.label = "VP"


# ---------------------------------------------------------------------------------- places


def test_places():
    assert EXAMPLE[0] == Tree("2")
    assert EXAMPLE[-1] == Tree("0")
    assert EXAMPLE[1, 1] == EXAMPLE[1][1] == EXAMPLE[np.int64(1), -1] == Tree("7")
    assert EXAMPLE[()] is EXAMPLE


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        (3, IndexError, "place 3: node 'MAX' has 3 children; got 3"),
        ((1, 0, -1), IndexError, r"place \(1, 0, -1\): node '4' has 0 children; got -1"),
        ("0", TypeError, "a place in a tree is an int, or a tuple of ints .*; got '0'"),
        ((0.0,), TypeError, r"got \(0\.0,\)"),
        (slice(1), TypeError, "got slice"),
    ],
)
def test_wrong_places(place: object, error: type, message: str):
    with pytest.raises(error, match=message):
        EXAMPLE[place]


def test_a_tree_is_no_list_of_its_children():
    assert bool(Tree("x"))
    for use in (iter, list, len, lambda tree: Tree("2") in tree):
        with pytest.raises(TypeError):
            use(EXAMPLE)
    assert np.array([EXAMPLE, Tree("x")], dtype=object).shape == (2,)
    assert np.asarray(EXAMPLE).shape == ()


# ---------------------------------------------------------------------------------- map, relabel


@given(mixed_trees)
def test_map_is_recursion(tree: Tree):
    def slow(node: Tree) -> Tree:
        children = [slow(child) for child in node.children]
        return Tree((node.label, node.size), children, f"<{node.token}>")

    mapped = tree.map(lambda node: (node.label, node.size), lambda node: f"<{node.token}>")
    assert mapped == slow(tree)
    assert tree.map() == tree


@given(mixed_trees, st.dictionaries(st.sampled_from("ABxyz"), st.sampled_from("CDEwv")))
def test_relabel_is_map(tree: Tree, labels: dict):
    assert tree.relabel(labels) == tree.map(lambda node: labels.get(node.label, node.label))


def test_map_takes_shared_subtrees_once():
    called = []
    mapped = doubled(60).map(lambda node: called.append(node) or node.label * 2)
    assert len(called) == 61
    assert (mapped.size, mapped.label) == (2**61 - 1, "ff")
    assert mapped[0] is mapped[1]


def test_postorder_once():
    tree = doubled(3)
    assert [node.height for node in tree.postorder(once=True)] == [0, 1, 2, 3]
    assert [node.label for node in EXAMPLE.postorder(once=True)] == [
        node.label for node in EXAMPLE.postorder()
    ]


# ---------------------------------------------------------------------------------- spans


@given(mixed_trees)
def test_spans_are_those_of_the_leaves(tree: Tree):
    leaves = list(tree.leaves())
    spans = list(leaf_spans(tree))
    assert [span.node for span in spans] == list(tree.preorder())
    for node, start, end in spans:
        assert list(map(id, leaves[start:end])) == list(map(id, node.leaves()))


# ---------------------------------------------------------------------------------- depth


def test_deep_chains():
    tree = chain(DEEP)
    assert Tree.fromstring(str(tree)) == tree
    assert tree[(0,) * (DEEP - 1)] == Tree("x")
    assert tree.relabel({"A": "C"}).height == DEEP - 1
    assert {(start, end) for _, start, end in leaf_spans(tree)} == {(0, 1)}
    assert sum(1 for _ in tree.postorder(once=True)) == DEEP
    assert pickle.loads(pickle.dumps(tree)) == tree
