"""The outputs of models of counts for a tree with each of its subtrees hidden in turn.

Counts add up: those of a tree without a subtree are the whole tree's minus the subtree's, and the
pair of its root and the next sibling. Of a name in it, the next one outside may become the first,
or the one before it the last. The pieces of words are counted by the words that have them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from structnet.tensor_tree.counts.counted import (
    AGAIN,
    ALONE,
    COMES,
    Counted,
    NamesMet,
    beside,
    names_code,
    under,
)
from structnet.tensor_tree.counts.extra_trees import ExtraTrees
from structnet.tensor_tree.counts.label_bag import LabelBag
from structnet.trees.end_to_end import ranges
from structnet.trees.forest import Forest, Preorder
from structnet.trees.texts import Texts
from structnet.trees.vocabulary import NONE
from structnet.trees.ways_down import sizes_of

MOST = 2**20  # counts of subtrees that are held at once
PIECES = 16  # counts of pieces that a word is expected to have


class _Places(NamedTuple):
    """The places of the nodes and words of a tree in preorder, where words follow their text.

    Attributes:
        nodes, words: place of each node, and of each word.
        ends: for each place, the place after all that is at and below it.

    Shapes:
        nodes ``[nodes]``; words ``[words]``; ends ``[nodes and words]``.
    """

    nodes: np.ndarray
    words: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, forest: Forest, order: np.ndarray) -> _Places:
        """The places of one tree, from its nodes in preorder."""
        sizes = sizes_of(forest)[order]
        text, _ = forest.words_at(order)
        number, nth = np.arange(len(order)), np.arange(len(text))
        nodes, words = number + np.searchsorted(text, number), text + 1 + nth
        ends = np.empty(len(nodes) + len(words), np.int64)
        ends[nodes] = np.append(nodes, len(ends))[number + sizes]
        ends[words] = words + 1
        return cls(nodes, words, ends)

    def at(self, met: Counted) -> np.ndarray:
        """The place of each thing that is counted, ``[m]``."""
        found = self.nodes[met.entry]
        found[met.word >= 0] = self.words[met.word[met.word >= 0]]
        return found


def outputs_without_each(
    bag: LabelBag, forest: Forest, hidden: int, extra: ExtraTrees | None = None
) -> tuple[Tensor, ...]:
    """The models' outputs for a tree with each of its nodes and words hidden, in preorder.

    Args:
        bag: linear model, of examples of one tree.
        forest: the tree.
        hidden: token that replaces what is hidden.
        extra: decision trees on the same counts, whose outputs follow; None for no trees.

    Shapes:
        output: ``[nodes and words, num_outputs]`` each, float64.
    """
    order, simple = forest.preorder(), bag.simple
    places = _Places.of(forest, order.nodes)
    number, met = len(places.ends), bag.counted(forest, order)
    # A hidden part counts as a leaf, and in the pairs with the node above it and those beside it.
    leaf, size = bag.num_types + hidden, bag.num_labels
    labels, parents = bag.labels_met(forest, order), forest.parents(order)
    above, (before, right) = under(labels, parents, size), beside(labels, parents, size)
    pairs = itertools.chain(
        (
            (before, -1),
            (before._replace(code=(size + leaf) * size + before.code % size), 1),
            (above._replace(code=above.code // size * size + leaf), 1),
            (right._replace(code=right.code // size * size + leaf), 1),
        ),
        _names_without_each(labels, forest, order, parents, size),
    )
    other_at, other, other_by = _summed(bag, places, pairs)
    at = places.at(met)
    rows = np.argsort(at, kind="stable")
    column, whole = met.code[rows], np.bincount(met.code, minlength=bag.num_counts).astype(float)
    begin, end = (np.searchsorted(at[rows], each) for each in (np.arange(number), places.ends))
    weight, bias = (each.cpu().double().numpy() for each in (bag.weight, bag.bias))
    counted, outputs, by_extra = weight[: bag.num_counts], [], []
    for first, last in _parts(end - begin):
        count = (end - begin)[first:last]
        below = column[ranges(begin[first:last], count)]
        some, every = slice(*np.searchsorted(other_at, (first, last))), np.arange(last - first)
        variant = np.concatenate((np.repeat(every, count), other_at[some] - first, every))
        change = np.concatenate((np.full(len(below), -1), other_by[some], np.ones(len(every))))
        where = variant, np.concatenate((below, other[some], np.full(len(every), leaf)))
        changes = csr_matrix((change, where), (last - first, bag.num_counts))
        outputs.append(_output(counted, whole, changes, bag.in_form, bag.form == "tf-idf"))
        if extra is not None:
            same, changed = (extra.rows(x[:, simple]) for x in (csr_matrix(whole), changes))
            by_extra.append(extra(same + changed).double())
    found = np.concatenate(outputs) + bias
    if bag.sums is not None:
        entry, which, share = bag.sums.added(forest, order, bag.form)
        sums = np.zeros((number + 1, len(bias)))  # up to each place
        np.add.at(sums, places.nodes[entry] + 1, share[:, None] * weight[bag.num_counts :][which])
        sums = np.cumsum(sums, axis=0)
        found += sums[-1] - (sums[places.ends] - sums[:-1])
    if bag.pieces is not None and forest.texts is not None:
        found += _of_pieces(bag, forest, forest.texts, places)
    return (torch.from_numpy(found), *([torch.cat(by_extra)] if by_extra else []))


def _summed(
    bag: LabelBag, places: _Places, pairs: Iterable[tuple[Counted, int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs that are added (1) to what is counted, or taken away (-1), where a part is hidden.

    Returns:
        The place of the part, ascending, the column, and how often, summed up: there may be as many
        pairs as names times nodes above them.

    Shapes:
        ``[m]`` each.
    """
    columns = max(len(bag.pairs), 1)
    keys, counts, added = np.empty(0, np.int64), np.empty(0), 0
    new: list[tuple[np.ndarray, int]] = []

    def joined() -> tuple[np.ndarray, np.ndarray]:
        each = np.concatenate([keys, *(key for key, _ in new)])
        by = np.concatenate([counts, *(np.full(len(key), change) for key, change in new)])
        key, place = np.unique(each, return_inverse=True)
        return key, np.bincount(place, by, len(key))

    for met, change in pairs:
        known = met.among(bag.pairs)
        new.append((places.at(known) * columns + known.code, change))
        added += len(known.code)
        if added > MOST:
            keys, counts = joined()
            new, added = [], 0
    keys, counts = joined()
    at, column = np.divmod(keys, columns)
    return at, bag.num_labels + column, counts


def _names_without_each(
    labels: Counted, forest: Forest, order: Preorder, parents: np.ndarray, num_labels: int
) -> Iterator[tuple[Counted, int]]:
    """What no longer holds (-1), and what does (1), of names outside each part that is hidden.

    A part is a range of the preorder. If the first of a name is in it, the next one behind it is
    now the first; if the last is in it, the one before it is now the last.

    Args:
        labels: labels of all nodes and words of one tree.
        forest: the tree.
        order: its nodes in preorder.
        parents: entry of each node's parent, -1 for roots.
        num_labels: number of labels.

    Shapes:
        parents ``[nodes]``; output ``[m]`` each, with the entry of the part as entry.
    """
    n, names = len(order.nodes), NamesMet.in_trees(labels, forest, order, parents)
    size = sizes_of(forest)[order.nodes]
    starts = np.flatnonzero(np.append(True, ~names.same)[: len(names.entry)])
    ends = np.append(starts, len(names.entry))[1:]
    name = np.repeat(np.arange(len(starts)), ends - starts)
    in_order = name * (n + 1) + names.entry
    for kind, at in ((AGAIN, names.entry[starts]), (COMES, names.entry[ends - 1])):
        of = np.arange(len(starts))
        while len(at):
            behind = at + size[at]
            if kind == AGAIN:
                left = np.searchsorted(in_order, of * (n + 1) + behind)
            else:
                left = np.searchsorted(in_order, of * (n + 1) + at) - 1
            # Where no other is left, none is left of the larger parts above either.
            some = (starts[of] <= left) & (left < ends[of])
            at, of, left = at[some], of[some], left[some]
            only = left == (ends[of] - 1 if kind == AGAIN else starts[of])
            for some, what, change in ((left >= 0, kind, -1), (only, ALONE, 1)):
                code = names_code(what, names.above[left[some]], num_labels)
                yield Counted(at[some], np.full(len(code), NONE), code), change
            at = parents[at]  # of the root, nothing is left


def _of_pieces(bag: LabelBag, forest: Forest, texts: Texts, places: _Places) -> np.ndarray:
    """What the pieces of words add to each of the outputs, ``[nodes and words, num_outputs]``."""
    assert bag.pieces is not None
    nodes, pieces = forest.preorder().nodes, bag.pieces.pieces_of_words(texts)
    entry, word = texts.spelled_at(nodes)
    at, of_texts = places.nodes[entry], np.isin(entry, texts.words_at(nodes)[0])
    at[of_texts] = places.words  # of a text, words are spelled one by one
    rows = np.argsort(at, kind="stable")
    word = word[rows]
    begin, end = (np.searchsorted(at[rows], x) for x in (np.arange(len(places.ends)), places.ends))
    whole = np.bincount(word, minlength=pieces.shape[0]) @ pieces
    weight = bag.weight[bag.width - pieces.shape[1] : bag.width].cpu().double().numpy()
    outputs = []
    for first, last in _parts(PIECES * (end - begin)):
        count = (end - begin)[first:last]
        lost = word[ranges(begin[first:last], count)]
        where = np.repeat(np.arange(last - first), count), lost
        shape = (last - first, pieces.shape[0])
        without = csr_matrix((np.ones(len(lost)), where), shape) @ pieces
        outputs.append(_output(weight, whole, -without, bag.pieces.in_form, scaled=True))
    return np.concatenate(outputs) * bag.of_pieces


def _parts(counts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of variants whose changes fit in memory at once."""
    number = np.cumsum(counts) // MOST
    return itertools.pairwise([0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(number)])


def _output(
    weight: np.ndarray,
    whole: np.ndarray,
    changes: csr_matrix,
    form: Callable[[np.ndarray, np.ndarray], np.ndarray],
    scaled: bool,
) -> np.ndarray:
    """What a row of counts says, with some of them changed.

    Args:
        weight: weights of the counts.
        whole: counts of the whole tree.
        changes: what is added to them in each variant.
        form: form of counts in some columns.
        scaled: True if rows have length 1; rows of zeros then stay.

    Shapes:
        weight ``[counts, outputs]``; whole ``[counts]``; changes ``[variants, counts]`` ->
        ``[variants, outputs]``.
    """
    changes.sum_duplicates()
    at = changes.indices
    before, after = (form(count, at) for count in (whole[at], whole[at] + changes.data))
    row = form(whole, np.arange(len(whole)))

    def changed(by: np.ndarray) -> csr_matrix:
        return csr_matrix((by, at, changes.indptr), changes.shape)

    def in_sum(by: np.ndarray) -> np.ndarray:
        return np.asarray(changed(by).sum(axis=1))

    found = row @ weight + changed(after - before) @ weight
    if not scaled:
        return found
    left = np.count_nonzero(row) + in_sum((after != 0) * 1 - (before != 0))
    square = row @ row + in_sum(after**2 - before**2)
    length = np.sqrt(np.where(left, np.clip(square, 0, None), 1.0))
    return np.where(left, found / length, 0.0)
