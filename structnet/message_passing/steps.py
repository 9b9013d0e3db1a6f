"""A forest for cells that read the children of a node one after the other."""

from __future__ import annotations

import numpy as np

from structnet.trees import _kernels
from structnet.trees.arrays import ForestArrays
from structnet.trees.end_to_end import offsets_of
from structnet.trees.forest import Forest
from structnet.trees.numbering import renumbered


def child_by_child(forest: Forest) -> Forest:
    """The same trees with a node for each child of a node, which reads it after those before it.

    A node with k children becomes k nodes of its type. Each has a child at place 1 and, but for
    the first, the node that read the children before at place 0. A node of any number of children
    is so computed by one function of two. Root v of the result stands for node v.

    Args:
        forest: trees to convert.

    Reference: Carme, Niehren and Tommasi, "Querying Unranked Trees with Stepwise Tree Automata",
    RTA 2004.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> trees = [Tree("f", [Tree("x"), Tree("y"), Tree("x")])]
        >>> steps = child_by_child(Forest.from_trees(trees, Vocabulary.from_trees(trees)))
        >>> steps.num_nodes, len(steps), steps.height.tolist(), steps.pos.tolist()
        (5, 3, [0, 0, 1, 2, 3], [1, 0, 1, 0, 1])
    """
    counts = np.diff(forest.offsets)
    steps = np.maximum(counts, 1)
    last = np.cumsum(steps) - 1  # [num_nodes] the node that a node becomes
    of = np.repeat(np.arange(len(steps)), steps)  # [new nodes]
    reads = (counts > 0)[of]
    later = np.ones(len(of), bool)
    later[last - steps + 1] = False
    offsets = offsets_of(reads.astype(np.int64) + later)
    children, pos = np.empty((2, offsets[-1]), np.int64)
    at, before = offsets[1:][reads] - 1, offsets[:-1][later]  # the new children are edges in order
    children[at], pos[at] = last[forest.children], 1
    children[before], pos[before] = np.flatnonzero(later) - 1, 0
    height, types = _kernels.heights(offsets, children), forest.types[of]
    order = np.lexsort((types, height))
    types, tokens, offsets, children, pos, roots = renumbered(
        order, types, forest.tokens[of], offsets, children, pos, last
    )
    arrays = ForestArrays(types, tokens, height[order], offsets, children, pos, roots)
    return Forest.of(arrays, 2, None, forest.device)
