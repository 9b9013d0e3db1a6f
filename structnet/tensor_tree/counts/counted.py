"""Things that are counted in trees, before the counts are turned into features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.trees.end_to_end import ranges
from structnet.trees.forest import Forest, Preorder
from structnet.trees.number_tokens import FIRST
from structnet.trees.repeats import MOST, by_name, names_of
from structnet.trees.vocabulary import NONE, Vocabulary

# A name was there before in the tree, in preorder; it comes again; or neither. In a pair of trees
# it is in both, or in one; from the last number on, it is in the other one below some label.
AGAIN, COMES, ALONE, BOTH, ONE, BELOW_LABEL = range(6)


def label_sizes(vocabulary: Vocabulary) -> dict[str, int | bool]:
    """The arguments of models of counts that say which labels there are."""
    return {
        "num_types": vocabulary.num_types,
        "num_tokens": vocabulary.num_tokens,
        "numbers": vocabulary.any_numbers,
    }


def words_of(tokens: np.ndarray, size: int) -> np.ndarray:
    """The tokens, where ``size - 1``, the last one, replaces all numbers. ``[n] -> [n]``."""
    return np.where(tokens >= FIRST, size - 1, tokens)


class Counted(NamedTuple):
    """Occurrences in trees of things that are counted, with their places.

    Attributes:
        entry: entry of the node in the preorder.
        word: for an occurrence in a text, its word's place among all words in preorder; else -1.
        code: column of the count or, before columns are assigned, a number for what occurs.

    Shapes:
        ``[m]`` each.
    """

    entry: np.ndarray
    word: np.ndarray
    code: np.ndarray

    def take(self, which: np.ndarray) -> Counted:
        """Some of the occurrences. ``[k]``."""
        return Counted(*(each[which] for each in self))

    def among(self, known: Tensor) -> Counted:
        """The occurrences with a known code, which is replaced by its place among the known."""
        place, there = places_among(self.code, known)
        return self._replace(code=place).take(there)


def places_among(codes: np.ndarray, known: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The places of codes among known ones, ascending, and a mask of those that are known.

    Shapes:
        codes ``[n]``; known ``[k]``; output ``[n]`` each.
    """
    these = known.cpu().numpy()
    place = np.searchsorted(these, codes)
    there = place < len(these)
    there[there] = these[place[there]] == codes[there]
    return place, there


def labels_met(forest: Forest, order: Preorder, num_types: int, num_labels: int) -> Counted:
    """All nodes, and then all words, with the numbers of their labels as codes. ``[m]``."""
    types, tokens = forest.types[order.nodes], words_of(forest.tokens, num_labels - num_types)
    entry, words = forest.words_at(order.nodes)
    number = np.arange(len(types))
    return Counted(
        np.concatenate((number, entry)),
        np.concatenate((np.full(len(number), NONE), np.arange(len(words)))),
        np.concatenate(
            (np.where(types >= 0, types, num_types + tokens[order.nodes]), num_types + words)
        ),
    )


def labels_counted(forest: Forest, order: Preorder, num_types: int, num_labels: int) -> Counted:
    """The labels in each tree: types, tokens of leaves and beside types, and words. ``[m]``."""
    kinds = forest.types[order.nodes]
    tokens = words_of(forest.tokens[order.nodes], num_labels - num_types)
    inner, leaf = np.flatnonzero(kinds >= 0), np.flatnonzero(tokens >= 0)
    entry, words = forest.words_at(order.nodes)
    own = np.full(len(inner) + len(leaf), NONE)
    return Counted(
        np.concatenate((inner, leaf, entry)),
        np.concatenate((own, np.arange(len(words)))),
        np.concatenate((kinds[inner], num_types + tokens[leaf], num_types + words)),
    )


def under(labels: Counted, parents: np.ndarray, num_labels: int) -> Counted:
    """The pairs of a label and the one above it, at the lower one: ``above * num_labels + below``.

    The words of a text are in pairs with the label of the node above it.

    Args:
        labels: labels of all nodes and words, from :func:`labels_met`.
        parents: entry of each node's parent, -1 for roots.
        num_labels: number of labels.

    Shapes:
        parents ``[nodes]``.
    """
    above = parents[labels.entry]
    found = labels._replace(code=labels.code[above] * num_labels + labels.code)
    return found.take(above >= 0)


def beside(labels: Counted, parents: np.ndarray, num_labels: int) -> tuple[Counted, Counted]:
    """The pairs of adjacent siblings, at the left one and, in the same order, at the right one.

    The number of a pair is ``(num_labels + left) * num_labels + right``, above those of
    :func:`under`, whose arguments these are. Words of a text are siblings of each other.

    Shapes:
        parents ``[nodes]``.
    """
    # Siblings have one parent, and words one text, which is told apart from a parent.
    family = np.where(labels.word < 0, parents[labels.entry], len(parents) + labels.entry)
    rows = np.argsort(family, kind="stable")
    left, right = rows[:-1], rows[1:]
    siblings = (family[left] == family[right]) & (family[left] >= 0)
    left, right = left[siblings], right[siblings]
    code = (num_labels + labels.code[left]) * num_labels + labels.code[right]
    return labels.take(left)._replace(code=code), labels.take(right)._replace(code=code)


class NamesMet(NamedTuple):
    """Names in trees, those of leaves and those beside a label, by tree and name, in preorder.

    Attributes:
        entry: entry of the node that has the name.
        same: mask of those whose next one is of the same name in the same tree.
        above: label above it.
        tree: number of its tree.
        name: number of the name.

    Shapes:
        entry, above, tree, name ``[n]``; same ``[n - 1]``, bool.
    """

    entry: np.ndarray
    same: np.ndarray
    above: np.ndarray
    tree: np.ndarray
    name: np.ndarray

    @classmethod
    def in_trees(
        cls, labels: Counted, forest: Forest, order: Preorder, parents: np.ndarray
    ) -> NamesMet:
        """The names in a forest; those of roots are left out.

        Args:
            labels: labels of all nodes and words, from :func:`labels_met`.
            forest: the trees.
            order: their nodes in preorder.
            parents: entry of each node's parent, -1 for roots.

        Shapes:
            parents ``[nodes]``.
        """
        name = names_of(forest)[order.nodes]
        there = np.flatnonzero((forest.tokens[order.nodes] >= 0) & (name != NONE) & (parents >= 0))
        tree = order.trees
        rows, same = by_name(tree[there], name[there])
        entry = there[rows]
        return cls(entry, same, labels.code[parents[entry]], tree[entry], name[entry])

    def repeats(self, num_labels: int) -> Counted:
        """Which names were there before, which come again, and which do neither. ``[m]``."""
        n = len(self.entry)
        again, comes = np.append(False, self.same)[:n], np.append(self.same, False)[:n]
        kind, at = np.nonzero(np.stack((again, comes, ~again & ~comes)))
        code = names_code(kind, self.above[at], num_labels)
        return Counted(self.entry[at], np.full(len(at), NONE), code)

    def across(self, num_labels: int) -> Counted:
        """Which names are in both trees of a pair and which in one, and what is above the others.

        A name with more than 16 labels above it in the other tree is only in both. ``[m]``.
        """
        _, name = np.unique(self.name, return_inverse=True)
        size = name.max(initial=0) + 1
        one, other = ((tree * size + name) for tree in (self.tree, self.tree ^ 1))
        met = np.unique(one * num_labels + self.above)  # name of a tree, label
        begin, end = (np.searchsorted(met, each * num_labels) for each in (other, other + 1))
        kind = np.where(begin < end, BOTH, ONE)
        few = np.flatnonzero(end - begin <= MOST)
        count = (end - begin)[few]
        node = np.append(np.arange(len(kind)), np.repeat(few, count))
        below = met[ranges(begin[few], count)] % num_labels
        kind = np.append(kind, BELOW_LABEL + self.above[node[len(kind) :]])
        code = names_code(kind, np.append(self.above, below), num_labels)
        return Counted(self.entry[node], np.full(len(node), NONE), code)


def names_code(kind: np.ndarray | int, above: np.ndarray, num_labels: int) -> np.ndarray:
    """Numbers for what becomes of a name below a label, above those of :func:`beside`.

    Args:
        kind: ``AGAIN`` and so on; or ``BELOW_LABEL``, plus the label above the name, where
            ``above`` is one that is above it in the other tree.
        above: labels.
        num_labels: number of labels.

    Shapes:
        kind ``[n]``, or one for all; above ``[n]``; output ``[n]``.
    """
    return (2 * num_labels + kind) * num_labels + above


def numbers_met(forest: Forest, order: Preorder) -> Counted:
    """The occurrences of numbers in all trees, with their tokens as codes. ``[m]``."""
    tokens = forest.tokens[order.nodes]
    entry = np.flatnonzero(tokens >= FIRST)
    return Counted(entry, np.full(len(entry), NONE), tokens[entry])


def of_two_trees(order: Preorder, met: Counted) -> Tensor:
    """The codes that at least two trees have, ascending. ``[codes]``."""
    both = np.unique(np.stack((met.code, order.trees[met.entry])), axis=1)[0]
    code, count = np.unique(both, return_counts=True)
    return torch.from_numpy(code[count >= 2])
