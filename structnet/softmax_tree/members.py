"""Several trees in place of one, whose probabilities are averaged.

A sample near the border of two leaves may reach the wrong one, and in narrow leaves, few samples
tell classes apart. Trees that start elsewhere and learn from other samples go wrong elsewhere.

Reference:
    Breiman, "Bagging Predictors", Machine Learning 1996; of trees that are trained by alternating
    optimisation: Carreira-Perpinan, Zharmagambetov, "Ensembles of Bagged TAO Trees Consistently
    Improve over Random Forests, AdaBoost and Gradient Boosting", FODS 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import resample

from structnet.checks import num_threads
from structnet.softmax_tree.optimisation import mapper
from structnet.softmax_tree.predictor import Predictor
from structnet.softmax_tree.probabilities import TINY, Choices, joined
from structnet.softmax_tree.training import Trained, train
from structnet.softmax_tree.tree import SoftmaxTree

BATCH = 2_000_000  # largest number of probabilities that are averaged at once


def further(
    first: Trained,
    number: int,
    x: Any,
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    state_file: Path | None = None,
    **how: Any,
) -> list[Trained]:
    """Further trees, trained like the first, with its settings, on a bootstrap sample each.

    As many are trained at a time as ``n_jobs`` of the settings asks for.

    Args:
        first: the first tree, which was trained on all samples.
        number: number of further trees.
        x, y, weights: samples, classes and weights that the first was trained with.
        state_file: file of the first tree's state, beside which each of the others has its own.
        how: other arguments of :func:`.train`.

    Shapes:
        x ``[n, D]``; y, weights ``[n]``.
    """
    seeds = np.random.SeedSequence(first.settings.seed).generate_state(number).tolist()
    threads = num_threads(first.settings.n_jobs)
    each = max(1, threads // max(number, 1))  # left for the nodes of a tree

    def trained(place: int) -> Trained:
        # Each class keeps its number of samples, so that all members know all classes.
        rows = resample(np.arange(len(y)), stratify=y, random_state=seeds[place])
        counts = np.bincount(rows, minlength=len(y))
        own = counts if weights is None else counts * weights
        settings = replace(first.settings, seed=seeds[place], n_jobs=each)
        state = state_file and state_file.with_stem(f"{state_file.stem}-{place + 1}")
        found = train(x, y, settings, first.growth, weights=own, state_file=state, **how)
        found.tree.shares.copy_(first.tree.shares)  # as `mean_of` expects
        return found

    with mapper(threads) as mapped:
        return list(mapped(trained, range(number)))


def mean_log_proba(trees: Sequence[SoftmaxTree], x: Any) -> np.ndarray:
    """The logarithms of the trees' mean probabilities. ``[n, D] -> [n, K]``, float64."""
    if len(trees) == 1:
        return trees[0].choices(x).dense(trees[0].num_classes)
    found = np.empty((x.shape[0], trees[0].num_classes))
    for rows in _batches(x.shape[0], trees[0].num_classes):
        mean = found[rows]
        mean[:] = -np.inf
        for tree in trees:
            np.logaddexp(mean, tree.choices(x[rows]).dense(tree.num_classes), out=mean)
        mean -= np.log(len(trees))
    return found


def mean_choices(trees: Sequence[SoftmaxTree], x: Any) -> Choices:
    """The mean probabilities of the trees, in the leaves that each sample reaches. ``[n, D]``."""
    if len(trees) == 1:
        return trees[0].choices(x)
    batches = _batches(x.shape[0], len(trees) * trees[0].num_classes)
    return joined([mean_of([tree.choices(x[rows]) for tree in trees]) for rows in batches])


def likeliest(trees: Sequence[SoftmaxTree], x: Any) -> np.ndarray:
    """The likeliest class of each sample among those of the leaves that it reaches.

    Shapes:
        ``[n, D] -> [n]``, int64.
    """
    return trees[0].classes_of(x) if len(trees) == 1 else mean_choices(trees, x).likeliest()


def choices_about(predictors: Sequence[Predictor], *row: np.ndarray) -> Choices:
    """The mean probabilities of the trees for one row, dense or sparse."""
    taken = predictors[0].taken(*row)
    return mean_of([each.choices_of(taken) for each in predictors])


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
    number, num_classes, shares = len(found[0].rest), len(found[0].shares), found[0].shares
    places = [
        np.repeat(np.arange(number), np.diff(choices.starts)) * num_classes + choices.classes
        for choices in found
    ]
    there = _union(places, number * num_classes)
    rows, classes = there // num_classes, there % num_classes
    prob, unit = np.zeros(len(there)), np.zeros(number)
    for choices, own in zip(found, places, strict=True):
        # What the tree gives to a class that its leaf lacks, by the share of the class.
        less = choices.rest / np.maximum(choices.lacked(), TINY)
        more = less[rows] * shares[classes]
        more[np.searchsorted(there, own)] = np.exp(choices.log_prob)
        prob, unit = prob + more, unit + less
    starts = np.searchsorted(rows, np.arange(number + 1))
    with np.errstate(divide="ignore"):
        mean = Choices(classes, np.log(prob / len(found)), starts, unit, shares)
    return mean._replace(rest=unit * np.maximum(mean.lacked(), 0) / len(found))


def _union(places: Sequence[np.ndarray], size: int) -> np.ndarray:
    """All of some ascending numbers below ``size``, each once, ascending. ``[all]``."""
    if sum(map(len, places)) < size // 8:
        return np.unique(np.concatenate(places))
    marked = np.zeros(size, bool)  # which takes less time and room than to sort them
    for own in places:
        marked[own] = True
    return np.flatnonzero(marked)


def _batches(number: int, each: int) -> Iterator[slice]:
    """Slices of some rows, each of which takes this many numbers; at least one slice."""
    size = max(1, BATCH // each)
    for start in range(0, max(number, 1), size):
        yield slice(start, start + size)
