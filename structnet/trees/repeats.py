"""Where else in its tree a node's name occurs, as the uses of a variable in a program.

A name is the token that a node carries or, without one, its label. Two labels that no training tree
has are the same to all parameters, but not here, if the vocabulary tells names apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.trees import _kernels
from structnet.trees.end_to_end import ranges
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import NONE
from structnet.trees.ways_down import sizes_of

BEFORE, AFTER, ABOVE, BELOW, ELDER, YOUNGER = range(6)  # where a name occurs again
MOST = 16  # different labels above a name, beyond which it is a word of the grammar


def names_of(forest: Forest) -> np.ndarray:
    """A number for the name of each stored node, -1 for none. ``[num_nodes]``.

    Args:
        forest: trees with a vocabulary.

    Example:
        >>> from structnet.trees import Tree, Vocabulary
        >>> trees = [Tree.fromstring("(f x y z (g z x))")]
        >>> known = Vocabulary(["f", "g"], ["x", "g"], arity=4, unknown=True, names=True)
        >>> forest = Forest.from_trees(trees, known)
        >>> names_of(forest)[forest.preorder().nodes].tolist()  # f, x, y, z, g, z, x
        [3, 0, -2, -3, 1, -3, 0]
    """
    known, types, tokens = forest.vocabulary, forest.types, forest.tokens
    assert known is not None
    # An inner label has the number of the same label at a leaf; the last one is of type -1.
    inner = np.full(known.num_types + 1, NONE)
    for label, place in (known.types or {}).items():
        inner[place] = known.tokens.get(label, known.num_tokens + place)
    found = np.where(tokens >= 0, tokens, inner[types])
    found[(tokens == len(known.tokens)) & known.unknown] = NONE
    if forest.texts is not None:
        unlisted = np.flatnonzero(found == NONE)
        found[unlisted] -= 1 + forest.texts.names_of(unlisted)
    return found


class Named(NamedTuple):
    """Nodes of trees, tree after tree in preorder, by name.

    Attributes:
        tree: number of each node's tree.
        name: number of its name.
        parent: place of the node above it in the preorder of all trees, -1 for none.
        place: its own place there.
        end: place after all nodes at and below it.
        above: label above it.
        asked: row of the node among those that were asked for, -1 if it is none of them.

    Shapes:
        ``[n]`` each.
    """

    tree: np.ndarray
    name: np.ndarray
    parent: np.ndarray
    place: np.ndarray
    end: np.ndarray
    above: np.ndarray
    asked: np.ndarray

    @classmethod
    def like(
        cls, forest: Forest, nodes: np.ndarray, places: np.ndarray, labels: np.ndarray
    ) -> Named:
        """The nodes that have the name of one of some nodes.

        Args:
            forest: trees with a vocabulary.
            nodes: numbers of the nodes in the forest.
            places: their places in the preorder of all trees; -1 for those that are not asked for.
            labels: a label of each stored node and, at the end, one for the place above roots.

        Shapes:
            nodes, places ``[m]``; labels ``[num_nodes + 1]``.
        """
        names, size = names_of(forest), sizes_of(forest)
        row = np.flatnonzero((places >= 0) & (names[nodes] != NONE))
        wanted = np.isin(names, np.unique(names[nodes[row]]))
        tree, node, above, place, parent = _kernels.wanted_places(
            forest.roots, forest.offsets, forest.children, size, wanted
        )
        asked = np.full(len(place), NONE)
        asked[np.searchsorted(place, places[row])] = row
        return cls(tree, names[node], parent, place, place + size[node], labels[above], asked)

    def repeats(self) -> np.ndarray:
        """Whether a node's name occurs again in its tree.

        Shapes:
            ``[n, 6]``, bool: among all nodes that come before it in preorder, among those after it,
            among those above it, among those below it, among its siblings before it, and among
            those after it.

        Example:
            >>> from structnet.trees import Tree, Vocabulary
            >>> trees = [Tree.fromstring("(f x (g x x))")]
            >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
            >>> one, place = np.array([0]), np.array([1])  # x is node 0
            >>> found = Named.like(forest, one, place, np.zeros(forest.num_nodes + 1))
            >>> found.repeats().astype(int).tolist()  # of each x
            [[0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1], [1, 0, 0, 0, 1, 0]]
        """
        found = np.zeros((len(self.name), 6), bool)
        rows, same = by_name(self.tree, self.name)
        earlier, later = rows[:-1], rows[1:]
        found[later, BEFORE] = found[earlier, AFTER] = same
        # What is below a node are the places up to its end.
        group = (self.end.max(initial=0) + 1) * np.append(0, np.cumsum(~same))[: len(rows)]
        latest = np.maximum.accumulate(group + self.end[rows])[:-1] - group[1:]
        found[later, ABOVE] = same & (latest > self.place[later])
        found[earlier, BELOW] = same & (self.place[later] < self.end[earlier])
        rows = np.lexsort((self.place, self.name, self.parent))
        earlier, later = rows[:-1], rows[1:]
        same = (self.name[earlier] == self.name[later]) & (self.parent[later] >= 0)
        same &= self.parent[earlier] == self.parent[later]
        found[later, ELDER] = found[earlier, YOUNGER] = same
        return found

    def above_others(self) -> tuple[np.ndarray, np.ndarray]:
        """The labels above other nodes with a node's name in its tree, each once.

        For the name of a parameter, say, these are the labels of the expressions that use it. Names
        below more than 16 labels are left out.

        Returns:
            The row of the node, ascending, and the label.

        Shapes:
            ``[m]`` each.

        Example:
            >>> from structnet.trees import Tree, Vocabulary
            >>> trees = [Tree.fromstring("(f x (g x y) (h x))")]
            >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
            >>> types = np.append(forest.types, -1)  # 0, 1, 2 of f, g, h
            >>> found = Named.like(forest, forest.preorder().nodes[1:2], np.array([1]), types)
            >>> [each.tolist() for each in found.above_others()]
            [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
        """
        # One row for each tree, name and label above it.
        order = np.lexsort((self.above, self.name, self.tree))
        of_name, keys = _new(self.tree[order], self.name[order]), self.above[order]
        of_label = of_name | _new(keys)
        starts = np.flatnonzero(of_label)
        number, label = np.diff(np.append(starts, len(order))), keys[starts]  # of nodes in each row
        row, name = np.empty((2, len(order)), np.int64)
        row[order], name[order] = np.cumsum(of_label) - 1, np.cumsum(of_name) - 1
        first = np.append(np.flatnonzero(of_name[starts]), len(starts))
        count = np.diff(first)
        few = np.flatnonzero(count[name] <= MOST)
        found = ranges(first[name[few]], count[name[few]])
        node = np.repeat(few, count[name[few]])
        others = (found != row[node]) | (number[found] > 1)  # not the node alone
        return node[others], label[found[others]]

    def among(self, node: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What was found at some nodes, and their rows, for those that were asked for.

        Shapes:
            node, found ``[m]``; output ``[k]`` each.
        """
        row = self.asked[node]
        return row[row >= 0], found[row >= 0]


def by_name(tree: np.ndarray, name: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes by tree and name, and which of them have those of the next one.

    Args:
        tree: tree of each node, tree after tree in preorder.
        name: number of its name.

    Shapes:
        tree, name ``[n]``; output: ``[n]``, the places of nodes of one name in one tree side by
        side, in preorder; and ``[n - 1]``, bool.
    """
    rows = np.lexsort((name, tree))  # stable
    earlier, later = rows[:-1], rows[1:]
    return rows, (name[earlier] == name[later]) & (tree[earlier] == tree[later])


def _new(*keys: np.ndarray) -> np.ndarray:
    """Where one of some keys differs from the row before, ``[n]``."""
    found = np.ones(len(keys[0]), bool)
    found[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return found
