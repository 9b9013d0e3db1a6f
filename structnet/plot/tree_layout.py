"""Places the nodes of a drawn tree, and chooses those that a picture has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structnet.checks import check_integer
from structnet.trees.tree import Tree

GAP = 1.0  # between trees side by side


@dataclass(frozen=True)
class Collapsed:
    """Stands for nodes that a picture has no room for.

    Args:
        size: number of nodes that it stands for.
    """

    size: int


class Layout(NamedTuple):
    """The nodes of a picture, level by level and from left to right.

    Attributes:
        nodes: nodes to draw.
        parent: place of each node's parent in ``nodes``; -1 for a root.
        depth: number of edges from each node up to its root.
        x: middle of each node.
        width: width of each node.

    Shapes:
        all ``[n]``.
    """

    nodes: list[Tree | Collapsed]
    parent: np.ndarray
    depth: np.ndarray
    x: np.ndarray
    width: np.ndarray


def layout(
    trees: Tree | Sequence[Tree],
    max_nodes: int | None = None,
    max_depth: int | None = None,
    width: Callable[[Tree | Collapsed], float] | None = None,
) -> Layout:
    """Places leaves from left to right, and parents midway between their first and last child.

    Each subtree has a range of x to itself, so nodes of the same depth never overlap. The time is
    linear in the number of nodes drawn.

    Args:
        trees: tree, or several trees to place side by side.
        max_nodes: largest number of nodes to draw, nearest to the root first; the hidden children
            of a node are replaced by one more node, :class:`Collapsed`.
        max_depth: largest number of edges from the root, with the same effect.
        width: function that returns the width of a node; by default all have width 1, and the
            leaves of a single tree are at x = 0, 1, 2, ...

    Raises:
        ValueError: there is no tree, or ``max_nodes`` or ``max_depth`` is too small to draw the
            roots.

    Example:
        >>> tree = Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("7")])])
        >>> result = layout(tree)
        >>> [node.label for node in result.nodes]
        ['MAX', '2', 'MIN', '4', '7']
        >>> result.x.tolist()
        [0.75, 0.0, 1.5, 1.0, 2.0]
    """
    roots = [trees] if isinstance(trees, Tree) else list(trees)
    if not roots:
        raise ValueError("there is no tree to lay out; expected at least one")
    check_integer("max_nodes", max_nodes, len(roots), optional=True)
    check_integer("max_depth", max_depth, 0, optional=True)
    nodes, parent, depth = _choose(roots, max_nodes, max_depth)
    widths = [1.0] * len(nodes) if width is None else [float(width(node)) for node in nodes]
    x = _positions(parent, widths, len(roots))
    return Layout(nodes, np.array(parent), np.array(depth), x, np.array(widths))


def _choose(
    roots: Sequence[Tree], max_nodes: int | None, max_depth: int | None
) -> tuple[list[Tree | Collapsed], list[int], list[int]]:
    """The nodes to draw, breadth first, with their parents and depths."""
    nodes: list[Tree | Collapsed] = list(roots)
    parent, depth = [-1] * len(roots), [0] * len(roots)
    room = float("inf") if max_nodes is None else max_nodes - len(roots)
    v = 0
    while v < len(nodes):  # the list is its own queue
        node = nodes[v]
        if isinstance(node, Tree) and node.children:
            children = node.children
            shown = 0 if depth[v] == max_depth else int(min(room, len(children)))
            hidden = sum(child.size for child in children[shown:])
            if hidden == 1:  # a leaf takes no more room than its stand-in
                shown, hidden = len(children), 0
            below: list[Tree | Collapsed] = [*children[:shown], *[Collapsed(hidden)] * (hidden > 0)]
            nodes += below
            parent += [v] * len(below)
            depth += [depth[v] + 1] * len(below)
            room = max(room - shown, 0)
        v += 1
    return nodes, parent, depth


def _positions(parent: Sequence[int], width: Sequence[float], num_roots: int) -> np.ndarray:
    """The x of each node; children come after their parents, and siblings are adjacent."""
    n = len(parent)
    children: list[list[int]] = [[] for _ in range(n)]
    for v in range(num_roots, n):
        children[parent[v]].append(v)
    left = [w / 2 for w in width]  # extent of each subtree to the left of its root
    right = left.copy()
    shift = np.zeros(n)  # from a node's parent to the node
    for v in range(n - 1, -1, -1):
        if children[v]:
            places, end = _in_a_row(children[v], left, right)
            middle = (places[0] + places[-1]) / 2
            shift[children[v]] = np.array(places) - middle
            left[v] = max(left[v], middle)
            right[v] = max(right[v], end - middle)
    roots = range(num_roots)
    x = np.empty(n)
    x[:num_roots] = np.array(_in_a_row(roots, left, right)[0]) + GAP * np.arange(num_roots) - 0.5
    for v in range(num_roots, n):
        x[v] = x[parent[v]] + shift[v]
    return x


def _in_a_row(
    nodes: Sequence[int], left: Sequence[float], right: Sequence[float]
) -> tuple[list[float], float]:
    """Places of subtrees side by side, from 0, and the right end of the last one."""
    places = [left[nodes[0]]]
    for u, v in pairwise(nodes):
        places.append(places[-1] + right[u] + left[v])
    return places, places[-1] + right[nodes[-1]]
