"""Numbers for the nodes of trees, children first, as arrays."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from structnet.trees.end_to_end import offsets_of, ranges
from structnet.trees.label_words import Text, own_children, spelled
from structnet.trees.spelling import Spelling
from structnet.trees.texts import Texts
from structnet.trees.tree import Tree
from structnet.trees.vocabulary import NONE, Vocabulary


def renumbered(
    order: np.ndarray,
    types: np.ndarray,
    tokens: np.ndarray,
    offsets: np.ndarray,
    children: np.ndarray,
    pos: np.ndarray,
    roots: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """The arrays of a forest after renumbering, where the old node ``order[i]`` becomes node i.

    Shapes:
        order: ``[n]``; the others as in a :class:`~structnet.trees.forest.Forest`.
    """
    rank = np.empty_like(order)  # [n] the new number of each node
    rank[order] = np.arange(len(order))
    sizes = np.diff(offsets)[order]
    edges = ranges(offsets[:-1][order], sizes)  # where each was
    offsets = offsets_of(sizes)
    return types[order], tokens[order], offsets, rank[children[edges]], pos[edges], rank[roots]


class _Texts(dict[tuple, int]):
    """The numbers of texts, by the tokens of their words, and by letters and names if read."""

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self.names: dict[Hashable, int] = {}

    def number(self, node: Tree) -> int:
        """The number of a node's text, -1 if it has no words, letters or name that are read."""
        words = tuple(self.vocabulary.token_of(word.label) for word in _words(node))
        letters = spelled(node, self.vocabulary.numbers) if self.vocabulary.letters else ()
        name = self.vocabulary.name_of(node) if self.vocabulary.names else None
        if not words and not letters and name is None:
            return NONE
        number = NONE if name is None else self.names.setdefault(name, len(self.names))
        return self.setdefault((words, letters, number), len(self))

    def listed(self, of: np.ndarray) -> Texts | None:
        """The texts, from the number of each node's; None if there are none."""
        if not self:
            return None
        words, letters, names = zip(*self, strict=True)
        spelling = Spelling.of(letters) if self.vocabulary.letters else None
        return Texts.listed(of, words, spelling, names if self.vocabulary.names else None)


def _words(node: Tree) -> tuple[Tree, ...]:
    return node.children if isinstance(node, Text) else ()


def add_shared(
    trees: Sequence[Tree], vocabulary: Vocabulary
) -> tuple[tuple[np.ndarray, ...], Texts | None]:
    """Numbers distinct subtrees, children first (hash-consing).

    Shapes:
        output: types and tokens ``[n]``; offsets ``[n + 1]`` of children ``[edges]``; roots; and
        the texts, or None.
    """
    texts = _Texts(vocabulary)
    nodes: dict[tuple, int] = {}  # (type, token, text, numbers of the children) -> number
    # A parser may reuse one object for equal subtrees; those need not be walked twice.
    number: dict[int, int] = {}  # id of a Tree -> number
    for tree in trees:
        stack = [tree]
        while stack:
            node = stack[-1]
            try:
                below = [number[id(child)] for child in own_children(node)]
            except KeyError:
                stack.extend([c for c in reversed(node.children) if id(c) not in number])
                continue
            stack.pop()
            if id(node) not in number:
                key = (*vocabulary.encode(node), texts.number(node), *below)
                number[id(node)] = nodes.setdefault(key, len(nodes))
    roots = [number[id(tree)] for tree in trees]
    return _to_arrays(nodes, texts, roots)


def add_unshared(
    trees: Sequence[Tree], vocabulary: Vocabulary
) -> tuple[tuple[np.ndarray, ...], Texts | None]:
    """Numbers every node of every tree, children first; arrays ``[n]`` as in :func:`add_shared`."""
    texts = _Texts(vocabulary)
    nodes: list[tuple] = []
    roots = []
    for tree in trees:
        open_nodes: list[int] = []  # numbers of the subtrees that still wait for their parent
        postorder, stack = [], [tree]  # from its end on
        while stack:
            postorder.append(stack.pop())
            stack.extend(own_children(postorder[-1]))
        for node in reversed(postorder):
            first = len(open_nodes) - len(own_children(node))
            below = open_nodes[first:]
            nodes.append((*vocabulary.encode(node), texts.number(node), *below))
            open_nodes[first:] = [len(nodes) - 1]
        roots.extend(open_nodes)
    return _to_arrays(nodes, texts, roots)


def _to_arrays(
    nodes: Sequence[tuple] | dict, texts: _Texts, roots: Sequence[int]
) -> tuple[tuple[np.ndarray, ...], Texts | None]:
    # A node is (type, token, text, *children); all, end to end, are taken apart at once.
    sizes = np.fromiter(map(len, nodes), np.int64, len(nodes)) - 3  # children of each node
    flat = np.fromiter(
        (x for node in nodes for x in node), np.int64, int(sizes.sum()) + 3 * len(nodes)
    )
    offsets = offsets_of(sizes)
    starts = offsets[:-1] + 3 * np.arange(len(nodes))  # where each node's type stands
    children = np.delete(flat, np.concatenate((starts, starts + 1, starts + 2)))
    arrays = flat[starts], flat[starts + 1], offsets, children, np.asarray(roots, np.int64)
    return arrays, texts.listed(flat[starts + 2])


def positions(indices: object, length: int) -> np.ndarray:
    """The places that ``indices`` chooses out of ``length``: numbers from 0, ``[n]``, int64.

    Args:
        indices: an int, a slice, or a sequence or array of ints or of ``length`` booleans.
        length: number of places.

    Raises:
        IndexError: the indices are of another kind, or out of range.
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


def node_numbers(nodes: object, num_nodes: int) -> np.ndarray:
    """The numbers of chosen nodes, ``[n]``, int64: as :func:`positions`, but none below 0.

    Raises:
        IndexError: they are of another kind, or out of range.
    """
    numbers = positions(nodes, num_nodes)
    if not isinstance(nodes, slice):
        least = np.asarray(nodes.cpu() if hasattr(nodes, "cpu") else nodes).min(initial=0)
        if least < 0:
            raise IndexError(f"nodes must be numbers from 0 to {num_nodes - 1}. Got {least}.")
    return numbers
