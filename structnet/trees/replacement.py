"""Copies of one tree, each with another of its subtrees replaced."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structnet.trees.end_to_end import offsets_of, ranges
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import NONE


def each_replaced(
    forest: Forest,
    nodes: np.ndarray,
    by: np.ndarray,
    before: Sequence[int] = (),
    behind: Sequence[int] = (),
    *,
    labels_alone: np.ndarray | None = None,
) -> Forest:
    """Copies of a forest's first tree, in each of which another node is replaced by a tree.

    The copies share everything below and beside the path down to the replaced node; only the nodes
    on that path are copied for each of them.

    Args:
        forest: trees in which no subtree is shared.
        nodes: nodes of the first tree to replace, one in each copy.
        by: number of the tree in the forest that replaces each node.
        before, behind: numbers of trees that precede and follow each copy, as parts of its example.
        labels_alone: True where a node only takes the label of the tree's root, and keeps its
            children; it has some.

    Shapes:
        nodes, by, labels_alone ``[n]`` -> a forest of n copies, each with the trees before and
        behind it.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> trees = [Tree.fromstring("(f (g x) y)"), Tree("z")]
        >>> pair = Forest.from_trees(trees, Vocabulary.from_trees(trees), share=False)
        >>> found = each_replaced(pair, pair.preorder().nodes[:4], np.array([1] * 4))
        >>> [str(found.tree(i)) for i in range(4)], found.num_nodes
        (['z', '(f z y)', '(f (g z) y)', '(f (g x) z)'], 9)
    """
    n, sizes = forest.num_nodes, np.diff(forest.offsets)
    parent, edge = np.full(n, NONE), np.full(n, NONE)  # of each node; the edge to its parent
    parent[forest.children] = np.repeat(np.arange(n), sizes)
    edge[forest.children] = np.arange(len(forest.children))
    # Of each tree, all of which go up a step at a time: the node that it has come to, what stands
    # in its place, and the tree's own number.
    at, instead, tree = nodes, forest.roots[by], np.arange(len(nodes))
    alone = np.flatnonzero(labels_alone) if labels_alone is not None else tree[:0]
    labelled, count = instead[alone], n + len(alone)
    instead[alone] = np.arange(n, count)
    roots = instead.copy()
    copied, edges, below = [np.arange(n), nodes[alone]], [edge[:0]], [edge[:0]]
    while len(at):
        roots[tree] = instead
        going = parent[at] != NONE
        at, instead, tree = at[going], instead[going], tree[going]
        edges.append(edge[at])
        below.append(instead)
        at = parent[at]
        copied.append(at)
        instead = count + np.arange(len(at))
        count += len(at)
    of = np.concatenate(copied)  # [count] the node that each is a copy of
    offsets = offsets_of(sizes[of])
    shift = offsets[:-1] - forest.offsets[of]  # of the edges of each
    source = ranges(forest.offsets[of], sizes[of])
    children = forest.children[source]
    children[np.concatenate(edges) + shift[n + len(alone) :]] = np.concatenate(below)
    types, tokens = forest.types[of], forest.tokens[of]
    for each, label in ((types, forest.types), (tokens, forest.tokens)):
        each[n : n + len(alone)] = label[labelled]
    first, last = (np.tile(forest.roots[list(each)], (len(roots), 1)) for each in (before, behind))
    roots = np.hstack((first, roots[:, None], last)).ravel()
    arrays = types, tokens, offsets, children, forest.pos[source], roots
    named = of.copy()
    named[n : n + len(alone)] = labelled  # inner nodes, which have no words
    texts = forest.texts and forest.texts.take(named)
    return Forest._sorted(arrays, forest.arity, forest.vocabulary, texts).to(forest.device)
