"""The outputs of models of counts for a tree with each of its subtrees hidden in turn.

Counts add up: those of a tree without a subtree are the whole tree's minus the subtree's, and the
pair of its root and the next sibling. Of a name in it, the next one outside may become the first,
or the one before it the last. The pieces of words are counted by the words that have them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from structnet.tensor_tree.counts.counted import (
    AGAIN,
    ALONE,
    COMES,
    NamesMet,
    beside,
    names_code,
    places_among,
    under,
)
from structnet.tensor_tree.counts.extra_trees import ExtraTrees
from structnet.tensor_tree.counts.label_bag import LabelBag
from structnet.tensor_tree.counts.part_sums import Amounts, PartSums, Places
from structnet.trees.forest import Forest, Preorder
from structnet.trees.texts import Texts

MOST = 2**20  # counts that decision trees are asked about at once


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
    order = forest.preorder()
    places, met = Places.of(forest, order), bag.counted(forest, order)
    lost = Amounts(places.at(met), met.code, np.full(len(met.code), -1.0))
    changes = lost, *_changes_outside(bag, forest, order, places, hidden)
    amounts = Amounts(*map(np.concatenate, zip(*changes, strict=True)))
    sums = PartSums(places, amounts, bag.num_counts)
    whole = np.bincount(met.code, minlength=bag.num_counts).astype(float)
    weight, bias = (each.cpu().double().numpy() for each in (bag.weight, bag.bias))
    counted = weight[: bag.num_counts]
    found = _outputs(counted, whole, sums, bag.in_form, bag.form == "tf-idf") + bias
    if bag.sums is not None:
        entry, which, share = bag.sums.added(forest, order, bag.form)
        added = np.zeros((len(places.ends) + 1, len(bias)))  # up to each place
        np.add.at(added, places.nodes[entry] + 1, share[:, None] * weight[bag.num_counts :][which])
        added = np.cumsum(added, axis=0)
        found += added[-1] - (added[places.ends] - added[:-1])
    if bag.pieces is not None and forest.texts is not None:
        found += _of_pieces(bag, forest, forest.texts, places)
    others = [] if extra is None else [_of_trees(bag, extra, whole, sums)]
    return torch.from_numpy(found), *others


def _changes_outside(
    bag: LabelBag, forest: Forest, order: Preorder, places: Places, hidden: int
) -> Iterator[Amounts]:
    """What is counted more (1), or less (-1), outside each part if that is hidden.

    A hidden part counts as a leaf, and in the pairs with the node above it and those beside it.
    Arguments as above.
    """
    leaf, size = bag.num_types + hidden, bag.num_labels
    every = np.arange(len(places.ends))
    yield Amounts.along(every, places.parents, np.full(len(every), leaf), 1)
    labels, parents = bag.labels_met(forest, order), forest.parents(order)
    above, (before, right) = under(labels, parents, size), beside(labels, parents, size)
    for met, change in (
        (before, -1),
        (before._replace(code=(size + leaf) * size + before.code % size), 1),
        (above._replace(code=above.code // size * size + leaf), 1),
        (right._replace(code=right.code // size * size + leaf), 1),
    ):
        at = places.at(met)
        yield _known(bag, at, places.parents[at], met.code, change)
    names = NamesMet.in_trees(labels, forest, order, parents)
    for begin, end, code, change in _names_outside(names, places, size):
        yield _known(bag, begin, end, code, change)


def _known(
    bag: LabelBag, begin: np.ndarray, end: np.ndarray, code: np.ndarray, change: int
) -> Amounts:
    """A change of pairs in all parts on a way up, see :meth:`.Amounts.along`, if they are counted.

    Shapes:
        ``[m]`` each.
    """
    column, there = places_among(code, bag.pairs)
    return Amounts.along(begin[there], end[there], bag.num_labels + column[there], change)


def _names_outside(
    names: NamesMet, places: Places, num_labels: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
    """Ways up, and what no longer holds (-1), or does (1), of a name outside the parts on them.

    If the first of a name is in a part, the next one behind the part is now the first; if the last
    is in it, the one before it is now the last. It is the same one for all parts on a way up.

    Args:
        names: names in a tree.
        places: its places.
        num_labels: number of labels.

    Returns:
        The begin and the end of each way, a number for what changes, and the change.

    Shapes:
        ``[m]`` each.
    """
    n, at = len(names.entry), places.nodes[names.entry]
    first, last = (np.append(x, y)[:n] for x, y in ((True, ~names.same), (~names.same, True)))
    number = np.cumsum(first) - 1
    begin, end = at[first][number], at[last][number]  # the first and the last of each one's name
    from_first, from_last = places.meet(begin, at), places.meet(at, end)
    near, far = np.flatnonzero(names.same), np.flatnonzero(names.same) + 1
    for kind, inner, outer, meet, only in (
        (AGAIN, near, far, from_first, last),
        (COMES, far, near, from_last, first),
    ):
        ways = meet[inner], meet[outer]
        yield *ways, names_code(kind, names.above[outer], num_labels), -1
        some = only[outer]
        code = names_code(ALONE, names.above[outer[some]], num_labels)
        yield ways[0][some], ways[1][some], code, 1


def _of_trees(bag: LabelBag, extra: ExtraTrees, whole: np.ndarray, sums: PartSums) -> Tensor:
    """The outputs of decision trees, other arguments as below. ``[places, num_outputs]``."""
    columns = bag.simple[extra.columns.cpu().numpy()]
    size, step = len(sums.places.ends), max(1, MOST // (len(columns) + 1))
    found = []
    for first, last in itertools.pairwise([*range(0, size, step), size]):
        some = [whole[column] + sums.at(first, last, column) for column in columns]
        nodes = whole[: bag.num_labels].sum() + sums.over_columns(first, last, bag.num_labels)
        found.append(extra(np.stack((*some, nodes), axis=1)).double())
    return torch.cat(found)


def _of_pieces(bag: LabelBag, forest: Forest, texts: Texts, places: Places) -> np.ndarray:
    """What the pieces of words add to each of the outputs, ``[nodes and words, num_outputs]``."""
    assert bag.pieces is not None
    nodes, pieces = forest.preorder().nodes, bag.pieces.pieces_of_words(texts)
    entry, word = texts.spelled_at(nodes)
    at, of_texts = places.nodes[entry], np.isin(entry, texts.words_at(nodes)[0])
    at[of_texts] = places.words  # of a text, words are spelled one by one
    each = pieces[word].tocoo()  # of each word in the tree
    sums = PartSums(places, Amounts(at[each.row], each.col, -each.data), pieces.shape[1])
    whole = np.bincount(each.col, each.data, pieces.shape[1])
    weight = bag.weight[bag.width - pieces.shape[1] : bag.width].cpu().double().numpy()
    return _outputs(weight, whole, sums, bag.pieces.in_form, scaled=True) * bag.of_pieces


def _outputs(
    weight: np.ndarray,
    whole: np.ndarray,
    sums: PartSums,
    form: Callable[[np.ndarray, np.ndarray], np.ndarray],
    scaled: bool,
) -> np.ndarray:
    """What a row of counts says, with each part hidden.

    Args:
        weight: weights of the counts.
        whole: counts of the whole tree.
        sums: what is added to them.
        form: form of counts in some columns.
        scaled: True if rows have length 1; rows of zeros then stay.

    Shapes:
        weight ``[counts, outputs]``; whole ``[counts]`` -> ``[places, outputs]``.
    """
    at, one = sums.column, np.ones((len(whole), 1))
    before, after = (form(count, at) for count in (whole[at], whole[at] + sums.total))
    row = form(whole, np.arange(len(whole)))
    found = row @ weight + sums.weighted(after - before, weight)
    if not scaled:
        return found
    left = np.count_nonzero(row) + sums.weighted((after != 0) * 1.0 - (before != 0), one)
    square = row @ row + sums.weighted(after**2 - before**2, one)
    length = np.sqrt(np.where(left, np.clip(square, 0, None), 1.0))
    return np.where(left, found / length, 0.0)
