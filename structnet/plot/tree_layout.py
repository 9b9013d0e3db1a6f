"""Where the nodes of a drawn tree go, and which nodes a picture has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structnet.checks import check_integer
from structnet.trees.tree import Tree

GAP = 1.0  # between two trees side by side


@dataclass(frozen=True)
class Collapsed:
    """Stands in a picture for nodes there is no room for.

    Args:
        size: the number of nodes that it stands for.
    """

    size: int


class Layout(NamedTuple):
    """The nodes of a picture, level by level and from left to right.

    Attributes:
        nodes: the nodes that are drawn.
        parent: the place in ``nodes`` of each node's parent, -1 for a root.
        depth: edges up to the root.
        x: the middle of each node.
        width: the room each node takes, centred on ``x``.

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
    """Leaves from left to right, parents in the middle over their first and last child.

    Nodes of one depth never overlap, and no node stands over another tree's or subtree's: each
    subtree has a range of x to itself. The work is linear in the nodes drawn.

    Args:
        trees: one tree, or several to stand side by side.
        max_nodes: draw at most so many nodes, those nearest to the root; what is left out is
            collapsed into one more node where it hung.
        max_depth: the same for nodes with more edges than this up to their root.
        width: the room a node needs; by default all need 1, and the leaves of one tree stand at
            x = 0, 1, 2, ...

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
            if hidden == 1:  # the leaf itself takes no more room than its stand-in
                shown, hidden = len(children), 0
            below: list[Tree | Collapsed] = [*children[:shown], *[Collapsed(hidden)] * (hidden > 0)]
            nodes += below
            parent += [v] * len(below)
            depth += [depth[v] + 1] * len(below)
            room = max(room - shown, 0)
        v += 1
    return nodes, parent, depth


def _positions(parent: Sequence[int], width: Sequence[float], num_roots: int) -> np.ndarray:
    """The x of each node; children follow their parents and are in a row."""
    n = len(parent)
    children: list[list[int]] = [[] for _ in range(n)]
    for v in range(num_roots, n):
        children[parent[v]].append(v)
    left = [w / 2 for w in width]  # how far each subtree reaches to both sides of its root
    right = left.copy()
    shift = np.zeros(n)  # of a node from its parent
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
    """Places for subtrees side by side from 0 on, and where the last one ends."""
    places = [left[nodes[0]]]
    for u, v in pairwise(nodes):
        places.append(places[-1] + right[u] + left[v])
    return places, places[-1] + right[nodes[-1]]
