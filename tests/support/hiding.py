"""Trees of which something is hidden, as explanations ask about them."""

from __future__ import annotations

from structnet.tensor_tree.explanation import HIDDEN
from structnet.trees.tree import Tree


def without(tree: Tree, place: int) -> Tree:
    """The tree without the subtree whose root is the node at a place in preorder, by recursion."""
    if place == 0:
        return HIDDEN
    children, start = [], 1
    for child in tree.children:
        inside = start <= place < start + child.size
        children.append(without(child, place - start) if inside else child)
        start += child.size
    return type(tree)(tree.label, children, tree.token)
