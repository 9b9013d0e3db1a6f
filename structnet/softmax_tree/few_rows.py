"""A single leaf for few dense rows: solved, not trained, as their tenths tell more than a part."""

from __future__ import annotations

import numpy as np

from structnet.estimators.discriminant_analysis import Shrinkage
from structnet.estimators.few_rows import FEW, Regularisation, regularisation, solvable, solved
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Leaf
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import SoftmaxTreeSettings


def may_be_solved(points: Points, settings: SoftmaxTreeSettings) -> bool:
    """True for fewer than 400 dense rows, and settings that leave the whole tree open.

    Args:
        points: samples to learn from.
        settings: settings of a user.
    """
    given = settings.depth or None, settings.k, settings.start, settings.leaf_penalty
    few = len(points) < FEW and not points.sparse
    return few and given == (None,) * 4 and solvable(points.x, points.num_classes)


def how_solved(points: Points, seed: int) -> tuple[float, ...]:
    """The numbers of the regularisation that is best by cross-validation.

    Args:
        points: samples to learn from.
        seed: seed of the choice of held-out samples.
    """
    shrinkage, *others = regularisation(points.checked, points.num_classes, seed)
    return (*shrinkage, *others)


def solved_draft(points: Points, how: tuple[float, ...]) -> Draft:
    """The tree of a single leaf whose weights are those of :func:`.solved`.

    Args:
        points: samples to learn from.
        how: regularisation, from :func:`how_solved`.
    """
    way, share, certainty, penalty, wide = how
    told = Regularisation(Shrinkage(int(way), share, certainty), penalty, bool(wide))
    weight, bias = solved(points.checked, points.num_classes, how=told)
    classes = np.unique(points.y)
    weight = np.ascontiguousarray(weight[classes].T)
    return Draft([()], [Leaf(classes, weight, bias[classes], points.num_classes)])
