"""A forest upside down, by which nodes receive messages from above.

Upside down, a root is like a leaf, and each node of each tree has one child, its parent. So any
sweep of a forest also sweeps the paths from the roots down to the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structnet.trees import _kernels
from structnet.trees.arrays import ForestArrays
from structnet.trees.end_to_end import offsets_of
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import NONE


class WaysDown(NamedTuple):
    """The path from its root down to each node of each tree of a forest.

    Attributes:
        forest: the paths: a node's only child is its parent, in the place that the node has among
            its parent's children. Root i is the node of entry i.
        nodes: for each node of ``forest``, its number in the original forest, which stores equal
            subtrees once; here they are not shared, as their paths differ.
        left, right: for each node of ``forest``, the number in the original forest of the sibling
            just before it, and just after it; -1 if there is none.

    Shapes:
        ``[entries]`` each.
    """

    forest: Forest
    nodes: np.ndarray
    left: np.ndarray
    right: np.ndarray


class Entries(NamedTuple):
    """Some nodes of the trees of a forest; the parent of each is among them.

    Attributes:
        nodes: number of each in the forest.
        parent: entry of its parent; -1 for a root.
        edge: edge of the forest from its parent; -1 for a root.
        depth: number of edges from the root.
        place: place among all nodes of the forest's trees, tree after tree in preorder; -1 for a
            node that is only on the way to another.

    Shapes:
        ``[entries]`` each.
    """

    nodes: np.ndarray
    parent: np.ndarray
    edge: np.ndarray
    depth: np.ndarray
    place: np.ndarray


def all_entries(forest: Forest) -> Entries:
    """All nodes of the trees, tree after tree in preorder.

    Args:
        forest: the trees.
    """
    nodes, size = forest.preorder().nodes, sizes_of(forest)
    parent, edge, depth = _kernels.ways_down(nodes, size, forest.offsets, forest.children)
    return Entries(nodes, parent, edge, depth, np.arange(len(nodes)))


def sizes_of(forest: Forest) -> np.ndarray:
    """The number of nodes at and below each stored node, ``[num_nodes]``, int64.

    Args:
        forest: trees that fit in memory without sharing.
    """
    return _kernels.sizes(forest.offsets, forest.children).astype(np.int64)


def entries_along(forest: Forest, steps: Sequence[int]) -> Entries:
    """The nodes on one path down each tree, tree after tree from the root.

    Args:
        forest: trees that have this path.
        steps: place of each node below the root among the children of the one above it, from 0.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> trees = [Tree.fromstring("(f a (g b))"), Tree.fromstring("(f a (g c))")]
        >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
        >>> found = entries_along(forest, [1, 0])
        >>> found.depth.tolist(), found.parent.tolist()
        ([0, 1, 2, 0, 1, 2], [-1, 0, 1, -1, 3, 4])
        >>> found.place.tolist()
        [-1, -1, 3, -1, -1, 7]
    """
    shape, size = (len(forest), 1 + len(steps)), sizes_of(forest)
    before = offsets_of(size[forest.children])  # nodes below the edges before each
    nodes, (edges, places) = np.empty(shape, np.int64), np.full((2, *shape), NONE)
    nodes[:, 0], place = forest.roots, offsets_of(size[forest.roots])[:-1]
    for depth, step in enumerate(steps):
        first = forest.offsets[nodes[:, depth]]
        edges[:, depth + 1] = first + step
        nodes[:, depth + 1] = forest.children[first + step]
        place = place + 1 + before[first + step] - before[first]
    places[:, -1] = place
    parents = np.arange(nodes.size).reshape(shape) - 1
    parents[:, 0] = NONE
    depths = np.tile(np.arange(shape[1]), shape[0])
    return Entries(nodes.ravel(), parents.ravel(), edges.ravel(), depths, places.ravel())


def upside_down(forest: Forest, entries: Entries | None = None) -> WaysDown:
    """The paths down to nodes of a forest's trees.

    Args:
        forest: the trees.
        entries: the nodes; by default :func:`all_entries`.

    Raises:
        ValueError: without sharing, the trees do not fit in memory.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> x = Tree("x")
        >>> trees = [Tree("f", [Tree("g", [Tree("h", [x])]), x])]  # f, g, h, x, x in preorder
        >>> ways = upside_down(Forest.from_trees(trees, Vocabulary.from_trees(trees)))
        >>> ways.forest.tree(2)
        <Tree (h (g f))>
        >>> at = ways.forest.roots
        >>> ways.nodes[at].tolist(), ways.left[at].tolist()  # x is node 0, f node 3
        ([3, 2, 1, 0, 0], [-1, -1, -1, -1, 2])
    """
    of, parent, edge, depth, _ = entries or all_entries(forest)
    entry = np.lexsort((forest.types[of], depth))  # of each node: by height, then type
    roots = np.empty(len(of), np.int64)
    roots[entry] = np.arange(len(of))
    nodes, edge = of[entry], edge[entry]
    has = edge >= 0
    pos = forest.pos[edge[has]]
    offsets, children = offsets_of(has), roots[parent[entry[has]]]
    of_nodes = forest.types[nodes], forest.tokens[nodes], depth[entry]
    arrays = ForestArrays(*of_nodes, offsets, children, pos, roots)
    arity = int(pos.max(initial=-1)) + 1
    ways = Forest.of(arrays, arity, forest.vocabulary, forest.device)
    return WaysDown(ways, nodes, *(beside[edge] for beside in siblings(forest)))


def siblings(forest: Forest) -> tuple[np.ndarray, np.ndarray]:
    """The siblings just before and just after the child of each edge, -1 for none.

    Shapes:
        ``[num_edges + 1]`` each; the last entry is for roots, which have no edge.
    """
    parent = np.repeat(np.arange(forest.num_nodes), np.diff(forest.offsets))
    left, right = np.full((2, len(parent) + 1), NONE)
    same = np.flatnonzero(parent[1:] == parent[:-1])  # edges with another one after them
    left[same + 1], right[same] = forest.children[same], forest.children[same + 1]
    return left, right
