"""Numbers for the nodes of trees, children first, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structnet.trees.tree import Tree
from structnet.trees.vocabulary import Vocabulary


def permuted(offsets: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the same lists in another order, and where each of their entries was.

    Shapes:
        offsets: ``[n + 1]``, order ``[n]``; output: ``[n + 1]`` and ``[entries]``.
    """
    sizes = np.diff(offsets)[order]
    new = np.concatenate(([0], np.cumsum(sizes)))
    return new, np.arange(new[-1]) + np.repeat(offsets[:-1][order] - new[:-1], sizes)


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
    starts = np.concatenate(([0], np.cumsum(sizes + 2)))[:-1]  # where each node's type stands
    is_child = np.ones(len(flat), bool)
    is_child[starts] = is_child[starts + 1] = False
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    return flat[starts], flat[starts + 1], offsets, flat[is_child], np.asarray(roots, np.int64)


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
