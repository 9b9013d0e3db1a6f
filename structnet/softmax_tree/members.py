"""Several trees in place of one, whose probabilities are averaged.

A sample near the border of two leaves may reach the wrong one, and in narrow leaves, few samples
tell classes apart. Trees that start elsewhere and learn from other samples go wrong elsewhere.

Reference:
    Breiman, "Bagging Predictors", Machine Learning 1996; of trees that are trained by alternating
    optimisation: Carreira-Perpinan, Zharmagambetov, "Ensembles of Bagged TAO Trees Consistently
    Improve over Random Forests, AdaBoost and Gradient Boosting", FODS 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import resample

from structnet.softmax_tree.probabilities import TINY, Choices
from structnet.softmax_tree.training import Trained, train
from structnet.softmax_tree.tree import Predictor, SoftmaxTree

BATCH = 10_000_000  # largest number of rows x classes whose probabilities are averaged at once


def further(
    first: Trained, number: int, x: Any, y: np.ndarray, weights: np.ndarray | None, **how: Any
) -> list[Trained]:
    """Further trees, trained like the first, with its settings, on a bootstrap sample each.

    Args:
        first: the first tree, which was trained on all samples.
        number: number of further trees.
        x, y, weights: samples, classes and weights that the first was trained with.
        how: other arguments of :func:`.train`.

    Shapes:
        x ``[n, D]``; y, weights ``[n]``.
    """
    found = []
    for seed in np.random.SeedSequence(first.settings.seed).generate_state(number).tolist():
        # Each class keeps its number of samples, so that all members know all classes.
        rows = resample(np.arange(len(y)), stratify=y, random_state=seed)
        counts = np.bincount(rows, minlength=len(y))
        own = counts if weights is None else counts * weights
        again = train(x, y, replace(first.settings, seed=seed), first.growth, weights=own, **how)
        again.tree.shares.copy_(first.tree.shares)  # as `mean_of` expects
        found.append(again)
    return found


def mean_choices(trees: Sequence[SoftmaxTree], x: Any) -> Choices:
    """The mean probabilities of the trees. ``[n, D]``."""
    return mean_of([tree.choices(x) for tree in trees])


def likeliest(trees: Sequence[SoftmaxTree], x: Any) -> np.ndarray:
    """The likeliest class of each sample among those of the leaves that it reaches.

    Shapes:
        ``[n, D] -> [n]``, int64.
    """
    if len(trees) == 1:
        return trees[0].classes_of(x)
    size = max(1, BATCH // trees[0].num_classes)
    batches = (x[start : start + size] for start in range(0, x.shape[0], size))
    return np.concatenate([mean_choices(trees, batch).likeliest() for batch in batches])


def choices_about(predictors: Sequence[Predictor], *row: np.ndarray) -> Choices:
    """The mean probabilities of the trees for one row, dense or sparse."""
    return mean_of([each.choices(*row) for each in predictors])


def mean_of(found: Sequence[Choices]) -> Choices:
    """The mean of several trees' probabilities, with the classes of all leaves that a row reaches.

    Classes that no leaf has share the rest by their frequency, as in each of the trees.

    Args:
        found: choices of each tree about the same rows, with the same shares.

    Example:
        >>> def about(classes, prob, rest):
        ...     starts, shares = np.array([0, len(classes)]), np.ones(3)
        ...     return Choices(np.array(classes), np.log(prob), starts, np.array([rest]), shares)
        >>> mean = mean_of([about([0], [0.8], 0.2), about([0, 1], [0.5, 0.5], 0.0)])
        >>> np.exp(mean.dense(3)).round(3).tolist()
        [[0.65, 0.3, 0.05]]
    """
    if len(found) == 1:
        return found[0]
    shares = found[0].shares
    number, num_classes, places, more = len(found[0].rest), len(shares), [], []
    unit = np.zeros(number)  # what the trees give to a class that their leaves lack, by its share
    for choices in found:
        own = choices.rest / np.maximum(choices.lacked(), TINY)
        rows = np.repeat(np.arange(number), np.diff(choices.starts))
        places.append(rows * num_classes + choices.classes)
        more.append(np.exp(choices.log_prob) - own[rows] * shares[choices.classes])
        unit += own
    there, place = np.unique(np.concatenate(places), return_inverse=True)
    rows, classes = there // num_classes, there % num_classes
    prob = np.bincount(place, np.concatenate(more)) + unit[rows] * shares[classes]
    starts = np.searchsorted(rows, np.arange(number + 1))
    log_prob = np.log(np.maximum(prob, TINY) / len(found))
    mean = Choices(classes, log_prob, starts, unit, shares)
    return mean._replace(rest=unit * np.maximum(mean.lacked(), 0) / len(found))
