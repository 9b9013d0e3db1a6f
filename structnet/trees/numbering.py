"""Numbers for the nodes of trees, children first, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary


def renumbered(
    order: np.ndarray,
    types: np.ndarray,
    tokens: np.ndarray,
    offsets: np.ndarray,
    children: np.ndarray,
    pos: np.ndarray,
    roots: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """The arrays of a forest whose i-th node is to be the one that has number ``order[i]``.

    Shapes:
        order: ``[n]``; the others as those of a :class:`~structnet.trees.forest.Forest`.
    """
    rank = np.empty_like(order)  # [n] the new number of each node
    rank[order] = np.arange(len(order))
    sizes = np.diff(offsets)[order]
    begins = offsets[:-1][order]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    edges = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], sizes)  # where each was
    return types[order], tokens[order], offsets, rank[children[edges]], pos[edges], rank[roots]


def add_shared(trees: Sequence[Tree], vocabulary: Vocabulary) -> tuple[np.ndarray, ...]:
    """Number distinct subtrees, children first (hash-consing).

    Shapes:
        output: types and tokens ``[n]``; offsets ``[n + 1]`` of children ``[edges]``; roots.
    """
    nodes: dict[tuple, int] = {}  # (type, token, numbers of the children) -> number
    # A parser may reuse one object for equal subtrees; those need not be walked twice.
    number: dict[int, int] = {}  # id of a Tree -> number
    for tree in trees:
        stack = [tree]
        while stack:
            node = stack[-1]
            try:
                below = [number[id(child)] for child in node.children]
            except KeyError:
                stack.extend([c for c in reversed(node.children) if id(c) not in number])
                continue
            stack.pop()
            if id(node) not in number:
                key = (*vocabulary.encode(node), *below)
                number[id(node)] = nodes.setdefault(key, len(nodes))
    roots = [number[id(tree)] for tree in trees]
    return _to_arrays(nodes, roots)


def add_unshared(trees: Sequence[Tree], vocabulary: Vocabulary) -> tuple[np.ndarray, ...]:
    """Number every node of every tree, children first; arrays ``[n]`` as of :func:`add_shared`."""
    nodes: list[tuple] = []
    roots = []
    for tree in trees:
        open_nodes: list[int] = []  # numbers of the subtrees that still wait for their parent
        for node in tree.postorder():
            first = len(open_nodes) - len(node.children)
            nodes.append((*vocabulary.encode(node), *open_nodes[first:]))
            open_nodes[first:] = [len(nodes) - 1]
        roots.extend(open_nodes)
    return _to_arrays(nodes, roots)


def _to_arrays(nodes: Sequence[tuple] | dict, roots: Sequence[int]) -> tuple[np.ndarray, ...]:
    # A node is (type, token, *children); all of them, end to end, are taken apart at once.
    sizes = np.fromiter(map(len, nodes), np.int64, len(nodes)) - 2  # children of each node
    flat = np.fromiter(
        (x for node in nodes for x in node), np.int64, int(sizes.sum()) + 2 * len(nodes)
    )
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    starts = offsets[:-1] + 2 * np.arange(len(nodes))  # where each node's type stands
    children = np.delete(flat, np.concatenate((starts, starts + 1)))
    return flat[starts], flat[starts + 1], offsets, children, np.asarray(roots, np.int64)


def positions(indices: object, length: int) -> np.ndarray:
    """What ``indices`` chooses of ``length`` things: numbers from 0, ``[n]``, int64.

    Args:
        indices: an int, a slice, or a sequence or array of ints or of ``length`` booleans.
        length: the number of things.

    Raises:
        IndexError: indices of another kind, or out of range.
    """
    if not isinstance(indices, slice):
        indices = np.asarray(indices.cpu() if hasattr(indices, "cpu") else indices)
        if indices.size == 0 and indices.dtype != bool:
            indices = indices.astype(np.int64)
        if indices.ndim > 1 or indices.dtype.kind not in "iub":
            raise IndexError(
                f"indices must be an int, a slice or one row of ints or booleans; got an array of "
                f"{indices.dtype} of shape {list(indices.shape)}"
            )
    return np.ascontiguousarray(np.atleast_1d(np.arange(length)[indices]))
