"""Binarised trees: the forms that are shown, two children at most, and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import chain, copied, doubled, mixed_trees

from structnet.trees import Tree, binarize, unbinarize
from structnet.trees.binarization import LEAF, NOTHING

WAYS = {
    "right": {"how": "right"},
    "left": {"how": "left"},
    "head first": {"how": "head", "head": lambda node: 0},
    "head middle": {"how": "head", "head": lambda node: len(node.children) // 2},
    "siblings": {"how": "siblings"},
}
# Labels that look like those of parts, in places where they are not; and labels of other types.
labels = st.sampled_from(["A", "B|C", "|A", "", None, 3, ("a", 1)])
wide_trees = st.recursive(
    st.builds(Tree, st.sampled_from(["x", "a|", None, 3]), token=st.sampled_from([None, "t"])),
    lambda below: st.builds(
        Tree, labels, st.lists(below, max_size=6), token=st.sampled_from([None, "t|", "u"])
    ),
    max_leaves=20,
)


def factored(tree: Tree, first: str) -> Tree:
    """Left or right factoring by recursion, one part after the other."""
    below = [factored(child, first) for child in tree.children]
    while len(below) > 2:
        part = f"{tree.label}|"
        if first == "left":
            below[:2] = [Tree(part, below[:2])]
        else:
            below[-2:] = [Tree(part, below[-2:])]
    return Tree(tree.label, below, tree.token)


@pytest.mark.parametrize("way", WAYS)
@given(tree=st.one_of(wide_trees, mixed_trees))
def test_the_way_back_is_exact(way: str, tree: Tree):
    binary = binarize(tree, **WAYS[way])
    assert max(len(node.children) for node in binary.preorder()) <= 2
    assert unbinarize(binary) == tree
    assert unbinarize(copied(binary)) == tree  # told by what is in it, not by which objects


@given(wide_trees)
def test_left_and_right_agree_with_recursion(tree: Tree):
    for how in ("left", "right"):
        assert binarize(tree, how) == factored(tree, how)


@given(wide_trees)
def test_left_child_right_sibling_has_two_children_or_none(tree: Tree):
    binary = binarize(tree, "siblings")
    assert {len(node.children) for node in binary.preorder()} <= {0, 2}
    # Every node of the tree is one of the binary tree; the rest are places without one.
    real = sum(1 for node in binary.preorder() if node != NOTHING)
    assert real == tree.size


def test_parts_grow_from_the_head():
    tree = Tree.fromstring("(S a b H c d)")
    binary = binarize(tree, "head", head=lambda node: 2)
    assert str(binary) == "(S a (S| b (S| (S| H c) d)))"


def test_tokens_stay_with_their_nodes():
    tree = Tree("root", [Tree("a", token="1"), Tree("b", token="2"), Tree("c")], token="0")
    assert str(binarize(tree)) == "(root/0 a/1 (root| b/2 c))"
    assert str(binarize(tree, "siblings")) == (
        "(root/0 (a/1 <nothing> (b/2 <nothing> c)) <nothing>)"
    )


def test_a_tree_that_was_never_binarised_comes_back():
    tree = Tree.fromstring("(A b (C d e f))")
    assert unbinarize(tree) == tree
    assert unbinarize(Tree("x")) == Tree("x")


@pytest.mark.parametrize("way", WAYS)
def test_chains_and_wide_nodes(way: str):
    for tree in (chain(20_000), Tree("A", [Tree("x"), Tree("y")] * 10_000)):
        assert unbinarize(binarize(tree, **WAYS[way])) == tree


@pytest.mark.parametrize("way", WAYS)
def test_shared_subtrees_are_made_once(way: str):
    tree = doubled(60)
    binary = binarize(Tree("A", [tree, tree, tree]), **WAYS[way])
    assert len({id(node) for node in binary.postorder(once=True)}) <= 250
    assert unbinarize(binary) == Tree("A", [tree, tree, tree])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"how": "middle"}, r"'how' .*\['right', 'left', 'head', 'siblings'\]\. Got 'middle'"),
        ({"how": "head"}, "how='head' needs a function as head, .*; got how='head' and head=No"),
        ({"how": "left", "head": len}, "the other ways take none; got how='left'"),
    ],
)
def test_wrong_arguments(arguments: dict, message: str):
    with pytest.raises(ValueError, match=message):
        binarize(Tree("A", [Tree("x")]), **arguments)


def test_a_head_that_is_none_of_the_children():
    with pytest.raises(IndexError, match="node 'A' has 3 children; got 3 for its head"):
        binarize(Tree.fromstring("(A b c d)"), "head", head=lambda node: len(node.children))


@pytest.mark.parametrize("label", ["<nothing>", LEAF, "A|"])
def test_labels_that_would_be_read_as_something_else(label: str):
    with pytest.raises(ValueError, match="has a special meaning in a binarised tree"):
        binarize(Tree("A", [Tree(label, [Tree("x")])]))


def test_a_part_of_nothing():
    for text in ("(A| b c)", f"({LEAF} b c)"):
        with pytest.raises(ValueError, match="the root of a binarised tree must be a whole node"):
            unbinarize(Tree.fromstring(text))
