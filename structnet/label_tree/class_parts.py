"""How many parts each class of a dense table has: see :mod:`structnet.estimators.parts`.

The tree knows nothing of it: it learns parts as if they were labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from structnet.checks import wrong
from structnet.estimators.discriminant_analysis import discriminant
from structnet.estimators.parts import of_classes, parts_within
from structnet.label_tree.choice import chosen, filled_in, one_node
from structnet.label_tree.examples import Examples
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.trials import BETTER, SURE, Trials, Tried
from structnet.training.gains import is_better
from structnet.training.progress import Progress

NUMBERS = (2, 3, 4, 8, 16)  # numbers of parts that are tried
WORSE = 2  # numbers in a row without a gain, after which no larger one is tried
ERRORS = 2.5  # standard errors by which the loss of held-out examples is lower, if parts are taken


class Parted(NamedTuple):
    """Examples whose labels are parts of classes.

    Attributes:
        examples: examples, labelled with their parts.
        part_classes: class of each part, ascending.
        settings: settings of the tree of parts.

    Shapes:
        part_classes ``[parts]``.
    """

    examples: Examples
    part_classes: np.ndarray
    settings: LabelTreeSettings


def choose_parts(
    examples: Examples,
    num_classes: int,
    settings: LabelTreeSettings,
    parts: int | None,
    progress: Progress,
    held_out: Examples | None = None,
) -> Parted:
    """Divides classes into parts, and chooses the settings that are not given.

    By default a class has one part. More are tried on a dense table of at least 400 rows, or with
    held-out examples, if the kind of tree, its arity and its epochs are not given: they are taken
    if a discriminant analysis of parts has a lower loss of held-out examples than the best tree of
    classes, by more than chance, and is not more often wrong.

    Args:
        examples: examples to learn from, whose labels are classes.
        num_classes: number of classes.
        settings: settings; those that are given are kept.
        parts: number of parts of each class; None to choose it.
        progress: progress that reports the trials.
        held_out: examples by which trials are compared, instead of a tenth of the others.

    Raises:
        ValueError: more than one part of examples that are no dense table, or with vectors.
    """
    one = np.arange(num_classes)
    if parts is None or parts == 1:
        settled, trials = chosen(examples, num_classes, settings, progress, held_out)
        given = settings.arity, settings.epochs, settings.vector_size or None
        free = settings.is_free and given == (None, None, None)
        if parts is None and free and trials is not None and trials.learn.features.is_table:
            parts = _number(trials, settled, settings, examples)
        if parts is None or parts == 1:
            return Parted(examples, one, settled)
    if not examples.features.is_table or settings.vector_size:
        raise wrong("parts", "1 or None, except for a dense table without vectors", parts)
    place, part_classes = parts_within(examples.checked, num_classes, parts, settings.seed)
    of_parts = replace(examples, labels=place)
    settled, _ = chosen(of_parts, len(part_classes), settings, progress, held_out, part_classes)
    return Parted(of_parts, part_classes, settled)


def divided(examples: Examples, part_classes: np.ndarray, seed: int) -> Examples:
    """Examples, labelled with the parts that :func:`choose_parts` found with the same seed.

    Args:
        examples: examples, whose labels are classes.
        part_classes: class of each part, ascending.
        seed: seed of the settings.

    Shapes:
        part_classes ``[parts]``.
    """
    number = np.bincount(part_classes)
    if number.max() == 1:
        return examples
    place, _ = parts_within(examples.checked, len(number), int(number.max()), seed)
    return replace(examples, labels=place)


def _number(
    trials: Trials, settled: LabelTreeSettings, wanted: LabelTreeSettings, examples: Examples
) -> int:
    """The number of parts with the least loss of held-out examples; 1 if none is surely better."""
    held, weights = trials.held, trials.weights
    before = next(each for each in trials.tried if each.settings == settled)
    best, number, worse = before, 1, 0
    for parts in NUMBERS:
        after = _tried(trials, parts, wanted, examples)
        if after is None:
            break
        if is_better(best.losses, after.losses, SURE, weights, held.groups):
            best, number, worse = after, parts, 0
        else:
            worse += 1
        if worse == WORSE:
            break
    surer = is_better(before.losses, best.losses, ERRORS, weights, held.groups)
    return number if surer and not is_better(best.wrong, before.wrong, BETTER, weights) else 1


def _tried(
    trials: Trials, parts: int, wanted: LabelTreeSettings, examples: Examples
) -> Tried | None:
    """A discriminant analysis of parts; None if a single node of so many would take long."""
    learn, held, seed = trials.learn, trials.held, wanted.seed
    place, part_classes = parts_within(learn.checked, trials.num_classes, parts, seed)
    size = len(part_classes)
    usual = filled_in(examples, size, wanted)
    assert usual.arity is not None
    if size > usual.arity and one_node(wanted, size, examples, usual) is None:
        return None
    weight, bias = discriminant(learn.checked._replace(y=place), size, seed)

    def log_prob_of(rows: slice) -> np.ndarray:
        return log_softmax(held.features.table[rows] @ weight.T + bias, axis=1)

    log_prob = of_classes(log_prob_of, len(held), part_classes)
    return trials.measured(wanted, log_prob.argmax(1), log_prob[np.arange(len(held)), held.labels])
