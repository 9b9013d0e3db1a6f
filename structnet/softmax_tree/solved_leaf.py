"""A single leaf that is solved, not trained: of dense rows, or naive Bayes of sparse ones.

Tenths of few rows tell more than a part of them. Of more rows, a discriminant analysis may be best:
where columns vary together, or many columns and few rows are known of each class. Naive Bayes needs
few rows of each class. Where words depend on each other, a trained leaf is better; as the two err
about other rows, their mean is better still, unless one is far behind.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from structnet.estimators.columns_of_parts import columns_in_words
from structnet.estimators.discriminant_analysis import Shrinkage, best_shrinkage
from structnet.estimators.few_rows import FEW, Regularisation, regularisation, solvable, solved
from structnet.estimators.naive_bayes import (
    Assumptions,
    bayes_weights,
    best_assumptions,
    one_node,
)
from structnet.estimators.softmax_of_parts import Division, parts_told
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Leaf
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenSettings, GrowthSettings, SoftmaxTreeSettings

ROOM = 30_000_000  # largest number of weights of naive Bayes: hardly any is 0
PRODUCTS = 1_000_000_000  # largest number for covariances of dense rows: some seconds
NUMBER = 5  # place of the number of columns, 0 for all, in the numbers of a solved leaf
READ = 64  # columns of which the covariance takes as long as reading the rows


def may_be_solved(
    points: Points, settings: SoftmaxTreeSettings, growth: GrowthSettings | None = None
) -> bool:
    """True for dense rows, or sparse ones like counts, if settings leave the whole tree open.

    Dense ones must be solved in some seconds; counts are not negative. Of sparse rows, a tree
    that is to grow from a single leaf is not open, as a solved leaf does not grow.

    Args:
        points: samples to learn from.
        settings: settings of a user.
        growth: settings of growth, whose start is in ``settings.depth``; None without growth.
    """
    start_k = None if growth is None else growth.start_k
    given = settings.depth or None, settings.k, start_k, settings.start, settings.leaf_penalty
    if any(each is not None for each in given):
        return False
    if points.sparse:
        if growth is not None and settings.depth is not None:
            return False
        fits = points.num_classes * points.num_features <= ROOM
        return fits and points.x.nnz > 0 and not (points.x.data < 0).any()
    number, columns = points.x.shape
    return are_few(points) or (number + columns) * columns * max(columns, READ) <= PRODUCTS


def are_few(points: Points) -> bool:
    """True for so few dense rows that what is held out of them tells little."""
    dense = not points.sparse
    return dense and len(points) < FEW and solvable(points.x, points.num_classes)


def how_solved(points: Points, seed: int) -> tuple[float, ...]:
    """The numbers of the regularisation, or of naive Bayes, that is best by cross-validation.

    Args:
        points: samples to learn from.
        seed: seed of the choice of held-out samples.
    """
    if points.sparse:
        number = points.num_classes
        return tuple(best_assumptions(points.checked, one_node(number), number, seed))
    if are_few(points):
        how = regularisation(points.checked, points.num_classes, seed)
    else:  # a logistic regression, too, takes longer
        shrinkage = best_shrinkage(points.checked, points.num_classes, seed)
        how = Regularisation(shrinkage, penalty=0.0, wide=False)
    shrinkage, *others = how
    return (*shrinkage, *others)


def solved_draft(points: Points, how: tuple[float, ...], number: int = 1, seed: int = 0) -> Draft:
    """The tree of a single leaf whose weights are those of :func:`.solved` or of naive Bayes.

    Args:
        points: samples to learn from; they may be sparse where those of :func:`how_solved` were
            not, and the other way round.
        how: numbers from :func:`how_solved`, or :func:`in_parts`.
        number: largest number of parts of each class.
        seed: seed by which parts are drawn.

    Raises:
        ValueError: naive Bayes of negative numbers.
    """
    rows, columns, classes = points.checked, None, np.arange(points.num_classes)
    if len(how) == len(Assumptions._fields):
        x: Any = csr_matrix(points.x)
        if (x.data < 0).any():
            raise ValueError(
                "the settings say that the leaf is naive Bayes, which is for numbers that are not "
                f"negative. Got {x.data.min():g}."
            )
        rows = rows._replace(x=x)
        more, less, bias = bayes_weights(rows, one_node(points.num_classes), Assumptions(*how))
        weight = more.toarray() - less[:, None]
        unseen = np.ones(points.num_features, bool)
        unseen[more.indices] = False
        weight[:, unseen] = 0  # nothing is known of them
    else:
        way, share, certainty, penalty, wide, number_of_columns, *told_by = how
        shrinkage = Shrinkage(int(way), share, certainty)
        by = Regularisation(shrinkage, penalty, bool(wide), int(number_of_columns))
        rows = rows._replace(x=points.x.toarray() if points.sparse else points.x)
        if number > 1:
            within = tuple(int(column) for column in told_by)
            division = Division(number, shrinkage, penalty, within)
            told = parts_told(rows, points.num_classes, division, seed)
            classes, weight, bias = told.part_classes, told.weight, told.bias
            rows = rows._replace(y=told.place)
        else:
            weight, bias = solved(rows, points.num_classes, how=by)
    if points.sparse:
        columns = np.arange(points.num_features, dtype=np.int32)
    there = np.unique(rows.y)
    weight = np.ascontiguousarray(weight[there].T)
    bias = bias[there].astype(np.float32)
    return Draft([()], [Leaf(classes[there], weight, bias, points.num_classes, columns)])


def leaf_in_words(settings: ChosenSettings, columns: int) -> str:
    """What the single leaf of a tree is, in words.

    Args:
        settings: settings of the tree.
        columns: number of columns of the table.
    """
    if len(settings.solved) != len(Assumptions._fields):
        parts = f", of up to {settings.parts} parts each" * (settings.parts > 1)
        told = int(settings.solved[NUMBER]) if settings.solved else 0
        return f"a softmax over all classes{parts}{columns_in_words(told, columns)}"
    half = "half of it trained, half " * (not settings.is_solved)
    return f"a softmax over all classes, {half}naive Bayes"


def half_solved(draft: Draft, points: Points, settings: ChosenSettings) -> Draft:
    """A tree whose single leaf is the mean of a trained one and a solved one, if settings say so.

    Args:
        draft: trained tree, which is returned if it has more leaves, is wholly solved, or lacks
            classes.
        points: samples that it was trained on.
        settings: settings of the training.
    """
    if not settings.solved or settings.is_solved or len(draft.nodes) > 1:
        return draft
    own, other = draft.leaf(0), solved_draft(points, settings.solved).leaf(0)
    if not np.array_equal(own.classes, other.classes):
        return draft
    weight = other.weight / 2
    weight[slice(None) if own.columns is None else own.columns] += own.weight / 2
    return Draft([()], [replace(other, weight=weight, bias=(own.bias + other.bias) / 2)])
