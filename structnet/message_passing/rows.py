"""A forest for cells that read one row of a tensor at each node, whatever the labels."""

from __future__ import annotations

import numpy as np

from structnet.trees.forest import Forest


def with_own_rows(forest: Forest, places: int = 1) -> Forest:
    """The same trees with type 0 at every node, and the node's own number as its token.

    A cell can then read row v of any ``[num_nodes, ..]`` tensor at node v; all nodes share one set
    of parameters, and leaves are nodes like any other.

    Args:
        forest: trees to convert.
        places: number of different places; the children beyond the last place are moved to it.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> trees = [Tree("f", [Tree("x"), Tree("y"), Tree("x")])]
        >>> rows = with_own_rows(Forest.from_trees(trees, Vocabulary.from_trees(trees)), places=2)
        >>> rows.types.tolist(), rows.tokens.tolist(), rows.pos.tolist()
        ([0, 0, 0], [0, 1, 2], [0, 1, 1])
    """
    arrays = forest.arrays._replace(
        types=np.zeros_like(forest.types),
        tokens=np.arange(forest.num_nodes),
        pos=np.minimum(forest.pos, places - 1),
    )
    return Forest.of(arrays, places, None, forest.device)
