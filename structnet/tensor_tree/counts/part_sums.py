"""Sums over each part of a tree, a node and all below it, of what stands at places in columns.

On the way up from a place, the sum of a column only changes where something stands, or where two
ways up meet. A function of all sums is therefore known from its values there: what the next ones
below do not have of a value is what its place adds, and the value of every part is the sum of what
its places add. This takes little more time than there are places with something, however deep the
tree is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from structnet.tensor_tree.counts.counted import Counted
from structnet.trees.forest import Forest, Preorder
from structnet.trees.vocabulary import NONE
from structnet.trees.ways_down import sizes_of


class Places(NamedTuple):
    """The places of the nodes and words of a tree in preorder, where words follow their text.

    Attributes:
        nodes, words: place of each node, and of each word.
        ends: for each place, the place after all that is at and below it.
        parents: place of the node above each, -1 for the root.
        lowest: the least of the parents of 1, 2, 4, .. places from each on.

    Shapes:
        nodes ``[nodes]``; words ``[words]``; ends, parents ``[nodes and words]``.
    """

    nodes: np.ndarray
    words: np.ndarray
    ends: np.ndarray
    parents: np.ndarray
    lowest: list[np.ndarray]

    @classmethod
    def of(cls, forest: Forest, order: Preorder) -> Places:
        """The places of a forest's only tree, from its nodes in preorder."""
        sizes, parent = sizes_of(forest)[order.nodes], forest.parents(order)
        text, _ = forest.words_at(order.nodes)
        number, nth = np.arange(len(sizes)), np.arange(len(text))
        nodes, words = number + np.searchsorted(text, number), text + 1 + nth
        ends, parents = np.empty((2, len(nodes) + len(words)), np.int64)
        ends[nodes] = np.append(nodes, len(ends))[number + sizes]
        ends[words] = words + 1
        parents[nodes] = np.append(nodes, NONE)[parent]
        parents[words] = nodes[text]
        lowest = [parents]
        while 2 ** len(lowest) <= len(parents):
            last, half = lowest[-1], 2 ** (len(lowest) - 1)
            lowest.append(np.minimum(last[:-half], last[half:]))
        return cls(nodes, words, ends, parents, lowest)

    def at(self, met: Counted) -> np.ndarray:
        """The place of each thing that is counted, ``[m]``."""
        found = self.nodes[met.entry]
        found[met.word >= 0] = self.words[met.word[met.word >= 0]]
        return found

    def meet(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Where the ways up from two places meet, of which the first is not behind the second.

        It is the least parent of all places behind the first up to the second.

        Shapes:
            ``[m]`` each.
        """
        found, level = first.copy(), np.frexp(second - first)[1] - 1
        for i, table in enumerate(self.lowest):
            some = np.flatnonzero(level == i)
            begin, end = first[some] + 1, second[some] + 1
            found[some] = np.minimum(table[begin], table[end - 2**i])
        return found


class Amounts(NamedTuple):
    """What stands at places of a tree.

    Shapes:
        ``[m]`` each.
    """

    place: np.ndarray
    column: np.ndarray
    amount: np.ndarray

    @classmethod
    def along(
        cls, begin: np.ndarray, end: np.ndarray, column: np.ndarray, amount: float
    ) -> Amounts:
        """What adds an amount to the sums of all parts on some ways up.

        Args:
            begin: place of the lowest part on each way.
            end: place above the highest one, -1 above the root.
            column: column of the sums.
            amount: amount that is added.

        Shapes:
            begin, end, column ``[m]``.
        """
        some = end >= 0
        place, columns = np.append(begin, end[some]), np.append(column, column[some])
        return cls(place, columns, np.repeat([amount, -amount], (len(begin), some.sum())))


class PartSums:
    """The sums of each column over each part.

    Args:
        places: places of a tree.
        amounts: amounts that stand there, in any order.
        columns: number of columns.

    Attributes:
        column: column of each different sum, ascending.
        total: the sum.

    Shapes:
        column, total ``[k]``.
    """

    def __init__(self, places: Places, amounts: Amounts, columns: int):
        self.places, self.columns, self.size = places, columns, len(places.ends) + 1
        keys, at = np.unique(self._keys(amounts.column, amounts.place), return_inverse=True)
        amount = np.bincount(at, amounts.amount, len(keys))
        self.keys = np.union1d(keys, self._meetings(keys)[1])
        self.column, self.place = np.divmod(self.keys, self.size)
        self.sums = np.zeros(len(self.keys) + 1)
        self.sums[np.searchsorted(self.keys, keys) + 1] = amount
        self.sums = np.cumsum(self.sums)
        self.total = self._summed(self.column, self.place)
        self.below, above = self._meetings(self.keys)
        self.above = np.searchsorted(self.keys, above)

    def _keys(self, column: np.ndarray | int, place: np.ndarray) -> np.ndarray:
        return column * self.size + place

    def _meetings(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For all places but the first of each column, where the way up meets that of the last.

        Shapes:
            ``[k]``, ascending -> ``[m]`` each: which of the keys, and the key of the meeting.
        """
        column, place = np.divmod(keys, self.size)
        some = np.flatnonzero(column[1:] == column[:-1]) + 1
        return some, self._keys(column[some], self.places.meet(place[some - 1], place[some]))

    def _summed(self, column: np.ndarray | int, place: np.ndarray) -> np.ndarray:
        """The sums of the parts at some places, ``[m]``."""
        ends = self._keys(column, self.places.ends[place])
        begin, end = (np.searchsorted(self.keys, x) for x in (self._keys(column, place), ends))
        return self.sums[end] - self.sums[begin]

    def at(self, first: int, last: int, column: int) -> np.ndarray:
        """The sums of a column over the parts of a range of places, ``[last - first]``."""
        return self._summed(column, np.arange(first, last))

    def over_columns(self, first: int, last: int, columns: int) -> np.ndarray:
        """The sums of the first columns together, ``[last - first]``."""
        some = self.column < columns
        each = np.bincount(self.place[some], np.diff(self.sums)[some], self.size)
        sums = np.append(0, np.cumsum(each))
        return sums[self.places.ends[first:last]] - sums[first:last]

    def weighted(self, values: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """For each part, the weighted sum over all columns of a function of their sums.

        Args:
            values: the function at each ``total``; of 0 it must be 0.
            weight: weights of each column.

        Shapes:
            values ``[k]``; weight ``[columns, outputs]`` -> ``[places, outputs]``.
        """
        added = values - np.bincount(self.above, values[self.below], len(values))
        shape = len(self.places.ends), self.columns
        rows = csr_matrix((added, (self.place, self.column)), shape) @ weight
        sums = np.zeros((len(rows) + 1, weight.shape[1]))  # up to each place
        np.cumsum(rows, axis=0, out=sums[1:])
        return sums[self.places.ends] - sums[:-1]
