"""The leaves that each node of a tree covers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from structnet.trees.tree import Tree


class Span(NamedTuple):
    """A node and the leaves below it, numbered from 0 and from the left.

    Attributes:
        node: the node; a leaf covers itself.
        start: number of its first leaf.
        end: number after that of its last leaf.
    """

    node: Tree
    start: int
    end: int


def leaf_spans(tree: Tree) -> Iterator[Span]:
    """Every node of a tree in preorder, with the leaves that it covers.

    Args:
        tree: any tree, such as the parse of a sentence, whose leaves are its words.

    Example:
        >>> for node, start, end in leaf_spans(Tree.fromstring("(S (NP the cat) sleeps)")):
        ...     print(node.label, start, end)
        S 0 3
        NP 0 2
        the 0 1
        cat 1 2
        sleeps 2 3
    """
    widths: dict[int, int] = {}
    for node in tree.postorder(once=True):
        widths[id(node)] = sum(widths[id(child)] for child in node.children) or 1
    start = 0
    for node in tree.preorder():
        yield Span(node, start, start + widths[id(node)])
        start += not node.children
