"""Trees as binary trees with the same content, and back.

================  ============================================================================
``how``           ``(A b c d)`` becomes
================  ============================================================================
``"right"``       ``(A b (A| c d))``: a node has its first child, and a part with the rest
``"left"``        ``(A (A| b c) d)``: a node has its last child, and a part with the rest
``"head"``        with ``c`` as the head ``(A b (A| c d))``: parts grow from the head, first over
                  the children after it, then over those before it
``"siblings"``    ``(A (<leaf>/b <nothing> (<leaf>/c <nothing> d)) <nothing>)``: the first child is
                  on the left, the next sibling on the right
================  ============================================================================

In the first three, a node with one or two children stays as it is, and a part has the label of its
node followed by ``|``. In the last (left child, right sibling), every inner node has two children;
a leaf with a next sibling becomes a node ``<leaf>`` whose token is the leaf's label, so that words
stay inputs.

References:
    Chomsky, "On certain formal properties of grammars", Information and Control 1959.
    Knuth, "The Art of Computer Programming", volume 1, section 2.3.2: left child, right sibling.
    Collins, "Three Generative, Lexicalised Models for Statistical Parsing", ACL 1997: heads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from structnet.checks import check_one_of
from structnet.trees.label_words import without_words
from structnet.trees.tree import Tree

PART = "|"  # follows the label in a node that holds some of another node's children
NOTHING = Tree("<nothing>")  # stands for a missing child or sibling
LEAF = "<leaf>"  # a leaf with a next sibling

_HOW = ("right", "left", "head", "siblings")


def binarize(
    tree: Tree,
    how: Literal["right", "left", "head", "siblings"] = "right",
    *,
    head: Callable[[Tree], int] | None = None,
) -> Tree:
    """A tree whose nodes have at most two children; :func:`unbinarize` restores the original.

    The words of texts are left out, so call :func:`structnet.trees.with_words` afterwards.

    Args:
        tree: any tree.
        how: "right", "left", "head" or "siblings", as shown at the top of this module.
        head: for "head", a function of a node that returns the place of its head child.

    Raises:
        ValueError: ``how`` is none of these; "head" comes without the function, or the function
            without "head"; or a label looks like one that binarisation adds.
        IndexError: the function returns a place where there is no child.

    Example:
        >>> tree = Tree.fromstring("(NP the big cat)")
        >>> binarize(tree)
        <Tree (NP the (NP| big cat))>
        >>> binarize(tree, "left")
        <Tree (NP (NP| the big) cat)>
        >>> binarize(tree, "head", head=lambda node: 1)
        <Tree (NP the (NP| big cat))>
        >>> print(binarize(Tree.fromstring("(VP cats (V sleep))"), "siblings"))
        (VP (<leaf>/cats <nothing> (V sleep <nothing>)) <nothing>)
    """
    check_one_of("how", how, _HOW, "binarize")
    if (how == "head") != (head is not None):
        raise ValueError(
            "how='head' needs a function as head, and the other ways take none; "
            f"got how={how!r} and head={head!r}"
        )
    tree = without_words(tree)
    made: dict[int, Tree] = {}  # a subtree in several places is made once
    for node in tree.postorder(once=True):
        _check_label(node, how)
        children = [made[id(child)] for child in node.children]
        if how == "siblings":
            made[id(node)] = _row(node.children, made)
        elif len(children) <= 2:
            made[id(node)] = Tree(node.label, children, node.token)
        else:
            place = 0 if how == "left" else len(children) - 1 if head is None else head(node)
            made[id(node)] = _factored(node, children, _checked_place(node, place))
    if how == "siblings":
        return _with_sibling(tree, made[id(tree)], NOTHING)
    return made[id(tree)]


def unbinarize(tree: Tree) -> Tree:
    """The original of a tree that :func:`binarize` returned, in any of its ways.

    A tree that was not binarised is returned as it is.

    Args:
        tree: binary tree from :func:`binarize`.

    Raises:
        ValueError: the tree was changed, so that a part or a sibling belongs to no node.

    Example:
        >>> unbinarize(Tree.fromstring("(NP (NP| the big) cat)"))
        <Tree (NP the big cat)>
    """
    siblings = bool(tree.children) and tree.children[-1] == NOTHING
    below = _siblings_below if siblings else _children_below
    if tree.label == LEAF or (_is_part(tree) and not siblings):
        raise ValueError(f"the root of a binarised tree must be a whole node; got {tree.label!r}")
    made: dict[int, Tree] = {}
    for node in tree.postorder(once=True):
        if siblings and node.label == LEAF:
            made[id(node)] = Tree(node.token)
        elif siblings or not _is_part(node):
            children = [made[id(child)] for child in below(node)]
            made[id(node)] = Tree(node.label, children, node.token)
    return made[id(tree)]


def _factored(node: Tree, children: Sequence[Tree], place: int) -> Tree:
    """Parts from the head outward: first over the children after it, then over those before."""
    part = f"{node.label}{PART}"
    built = children[place]
    for child in children[place + 1 :]:
        built = Tree(part, [built, child])
    for child in reversed(children[:place]):
        built = Tree(part, [child, built])
    return Tree(node.label, built.children, node.token)  # the last part is the node itself


def _row(children: Sequence[Tree], made: dict[int, Tree]) -> Tree:
    """The first of some siblings, followed by the others."""
    row = NOTHING
    for child in reversed(children):
        row = _with_sibling(child, made[id(child)], row)
    return row


def _with_sibling(node: Tree, row: Tree, sibling: Tree) -> Tree:
    """A node with the row of its children on the left and its next sibling on the right."""
    if node.children:
        return Tree(node.label, [row, sibling], node.token)
    if sibling is NOTHING:
        return node
    if node.token is None:
        return Tree(LEAF, [NOTHING, sibling], node.label)
    return Tree(node.label, [NOTHING, sibling], node.token)


def _children_below(node: Tree) -> list[Tree]:
    """The children of a node, those of its parts in their places."""
    children, stack = [], list(reversed(node.children))
    while stack:
        child = stack.pop()
        if _is_part(child):
            stack.extend(reversed(child.children))
        else:
            children.append(child)
    return children


def _siblings_below(node: Tree) -> list[Tree]:
    """The first child of a node, and its siblings."""
    siblings = []
    child = node.children[0] if node.children else NOTHING
    while child != NOTHING:
        siblings.append(child)
        child = child.children[1] if child.children else NOTHING
    return siblings


def _is_part(node: Tree) -> bool:
    return bool(node.children) and isinstance(node.label, str) and node.label.endswith(PART)


def _check_label(node: Tree, how: str) -> None:
    if node.label in (NOTHING.label, LEAF) or (how != "siblings" and _is_part(node)):
        raise ValueError(
            f"the label {node.label!r} has a special meaning in a binarised tree "
            f"(parts end in {PART!r}); relabel the tree first"
        )


def _checked_place(node: Tree, place: int) -> int:
    if not 0 <= place < len(node.children):
        raise IndexError(
            f"node {node.label!r} has {len(node.children)} children; got {place!r} for its head"
        )
    return place
