"""Where a name occurs again, by walks over the tree itself."""

from __future__ import annotations

from collections.abc import Hashable

from structnet.trees.label_words import own_children
from structnet.trees.repeats import ABOVE, AFTER, BEFORE, BELOW, ELDER, MOST, YOUNGER
from structnet.trees.tree import Tree


def name_of(node: Tree) -> Hashable:
    return node.label if node.token is None else node.token


def repeated(tree: Tree) -> list[tuple[set[int], set[Hashable]]]:
    """For each node in preorder, where its name occurs again and the labels above it there."""
    nodes: list[tuple[Tree, tuple[int, ...]]] = []  # each with its path of places from the root

    def visit(node: Tree, path: tuple[int, ...]) -> None:
        nodes.append((node, path))
        for i, child in enumerate(own_children(node)):
            visit(child, (*path, i))

    visit(tree, ())
    label_at = {path: node.label for node, path in nodes}
    found = []
    for i, (node, path) in enumerate(nodes):
        flags, above, others = set(), set(), set()
        for j, (other, way) in enumerate(nodes):
            if name_of(other) != name_of(node):
                continue
            upper = label_at[way[:-1]] if way else None
            others.add(upper)
            if i == j:
                continue
            above.add(upper)
            flags.add(BEFORE if j < i else AFTER)
            if way == path[: len(way)]:
                flags.add(ABOVE)
            if path == way[: len(path)]:
                flags.add(BELOW)
            if path and way and way[:-1] == path[:-1]:
                flags.add(ELDER if j < i else YOUNGER)
        found.append((flags, above if len(others) <= MOST else set()))
    return found
