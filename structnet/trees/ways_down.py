"""A forest upside down, for what comes to nodes from above.

Turned over, a root is what a leaf was, and each node of each tree has one child, its parent. So
whatever sweeps a forest sweeps the ways from the roots down to the nodes.
"""

from __future__ import annotations

import numpy as np

from structnet.trees import _kernels
from structnet.trees.forest import Forest


def upside_down(forest: Forest) -> tuple[Forest, np.ndarray]:
    """The way from its root down to each node of each tree, as a forest of these ways.

    A node's only child is its parent, in the place that the node has among its parent's children.
    Subtrees that a forest stores once have a node wherever they stand, as the ways there differ.

    Args:
        forest: the trees.

    Returns:
        The ways, root i of which is the node of entry i of ``forest.preorder()``, and the number
        in ``forest`` of each of its nodes.

    Shapes:
        ``[nodes of all trees]``.

    Raises:
        ValueError: written out, the trees do not fit in memory.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> x = Tree("x")
        >>> trees = [Tree("f", [Tree("g", [Tree("h", [x])]), x])]  # f, g, h, x, x in preorder
        >>> ways, nodes = upside_down(Forest.from_trees(trees, Vocabulary.from_trees(trees)))
        >>> ways.tree(2)
        <Tree (h (g f))>
        >>> ways.height[ways.roots].tolist(), nodes[ways.roots].tolist()  # x is node 0, f node 3
        ([0, 1, 2, 3, 1], [3, 2, 1, 0, 0])
    """
    order = forest.preorder().nodes
    size = _kernels.sizes(forest.offsets, forest.children).astype(np.int64)
    parent, place, depth = _kernels.ways_down(
        order, size, forest.offsets, forest.children, forest.pos
    )
    entry = np.lexsort((forest.types[order], depth))  # of each node: by height, then type
    roots = np.empty(len(order), np.int64)
    roots[entry] = np.arange(len(order))
    below = entry[depth[entry] > 0]
    offsets = np.concatenate(([0], np.cumsum(depth[entry] > 0)))
    nodes = order[entry]
    ways = Forest.__new__(Forest)._hold(
        forest.types[nodes],
        forest.tokens[nodes],
        depth[entry],
        offsets,
        roots[parent[below]],
        place[below],
        roots,
        int(place.max(initial=-1)) + 1,
        forest.vocabulary,
        forest.device,
    )
    return ways, nodes
