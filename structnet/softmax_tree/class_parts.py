"""A solved leaf whose classes have several parts each, where held-out samples show that they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from structnet.estimators.number_of_parts import Answers, best_division
from structnet.softmax_tree.fold import Fold
from structnet.softmax_tree.settings import ChosenSettings

ROOM = 10_000_000  # largest number of weights


def in_parts(folds: Sequence[Fold], whole: ChosenSettings) -> ChosenSettings | None:
    """The settings of a solved leaf of parts; None if no number of them is better than one.

    Args:
        folds: dense samples to learn from and to test on; a leaf must know all classes.
        whole: settings of a solved leaf of whole classes.
    """
    learn = [fold.learn for fold in folds]
    classes, columns = learn[0].num_classes, learn[0].num_features
    lacking = any(len(np.unique(each.y)) < classes for each in learn)
    if lacking or any(fold.learn.sparse or fold.test.sparse for fold in folds):
        return None
    pairs = [(fold.learn.checked, fold.test.checked) for fold in folds]
    before = Answers.joined([Answers.of(fold.log_probs(whole), fold.test.y) for fold in folds])
    found = best_division(
        pairs, classes, before, lambda: before, whole.seed, lambda size: size * columns <= ROOM
    )
    if found is None:
        return None
    how = (*found.shrinkage, found.penalty, 0, len(found.columns), *found.columns)
    return replace(whole, solved=how, parts=found.number)
