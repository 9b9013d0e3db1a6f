"""How many parts each class of a dense table has: see :mod:`structnet.estimators.parts`.

The tree knows nothing of it: it learns parts as if they were labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from structnet.checks import wrong
from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import discriminant
from structnet.estimators.few_rows import FEW, Regularisation, Solve, regularisation, solved
from structnet.estimators.held_out import PARTS, check_several, tenths
from structnet.estimators.number_of_parts import Answers, best_division, best_of_few
from structnet.estimators.parts import parts_within
from structnet.estimators.softmax_of_parts import Division, parts_told
from structnet.label_tree.choice import choose, chosen, filled_in, one_node
from structnet.label_tree.examples import Examples
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.shapes import check_depth
from structnet.label_tree.trials import Trials
from structnet.training.progress import Progress

TOLD, MOST = 400, 3  # held-out examples up to which further tenths are; their largest number
WIDE = 1e8  # products of a covariance of columns from which on there is one


class Parted(NamedTuple):
    """Examples whose labels are parts of classes.

    Attributes:
        examples: examples, labelled with their parts.
        part_classes: class of each part, ascending.
        settings: settings of the tree of parts.
        solve: function that solves a single node.

    Shapes:
        part_classes ``[parts]``.
    """

    examples: Examples
    part_classes: np.ndarray
    settings: LabelTreeSettings
    solve: Solve = solved


def choose_parts(
    examples: Examples,
    num_classes: int,
    settings: LabelTreeSettings,
    parts: int | None,
    progress: Progress,
    held_out: Examples | None = None,
) -> Parted:
    """Divides classes into parts, and chooses the settings that are not given.

    By default a class has one part. More are tried on a dense table, if the kind of tree, its arity
    and its epochs are not given: they are taken if a discriminant analysis of parts has a lower
    loss of held-out examples than the best tree of classes and makes fewer mistakes, by more than
    chance. Of fewer than 400 rows, tenths are held out in turn.

    Args:
        examples: examples to learn from, whose labels are classes.
        num_classes: number of classes.
        settings: settings; those that are given are kept.
        parts: number of parts of each class; None to choose it.
        progress: progress that reports the trials.
        held_out: examples by which trials are compared, instead of a tenth of the others.

    Raises:
        ValueError: more than one part of examples that are no dense table, or with vectors; or more
            parts than fit into a tree of the given arity and depth.
    """
    if parts is None or parts == 1:
        settled, trials = chosen(examples, num_classes, settings, progress, held_out)
        whole = Parted(examples, np.arange(num_classes), settled)
        given = settings.arity, settings.epochs, settings.vector_size or None
        free = settings.is_free and given == (None, None, None) and examples.features.is_table
        how = None
        if parts is None and free:
            fits = partial(_fits, examples, settings)
            if trials is not None:
                how = _by_trials(examples, trials, settled, held_out, fits)
            elif not settled.epochs and len(examples) < FEW:
                check_several(examples.groups)
                of = examples.checked, num_classes, settings.seed, fits
                how, regularised = best_of_few(*of)
                whole = whole._replace(solve=partial(solved, how=regularised))
        return _told(examples, num_classes, how, settings) if how else whole
    if not examples.features.is_table or settings.vector_size:
        raise wrong("parts", "1 or None, except for a dense table without vectors", parts)
    place, part_classes = parts_within(examples.checked, num_classes, parts, settings.seed)
    size = len(part_classes)
    if settings.arity is not None and settings.max_depth is not None:
        what = f"parts of {num_classes:,} labels"
        check_depth(size, settings.arity, settings.max_depth, what)
    of_parts = replace(examples, labels=place)
    solve = solved if size == num_classes else discriminant
    settled, _ = chosen(of_parts, size, settings, progress, held_out, part_classes, solve)
    return Parted(of_parts, part_classes, settled, solve)


def divided(examples: Examples, part_classes: np.ndarray, seed: int) -> Examples:
    """Examples, labelled with the parts that :func:`choose_parts` found with the same seed.

    Args:
        examples: examples, whose labels are classes.
        part_classes: class of each part, ascending, of a tree that is trained.
        seed: seed of the settings.

    Shapes:
        part_classes ``[parts]``.
    """
    number = np.bincount(part_classes)
    if number.max() == 1:
        return examples
    place, _ = parts_within(examples.checked, len(number), int(number.max()), seed)
    return replace(examples, labels=place)


def _by_trials(
    examples: Examples,
    trials: Trials,
    settled: LabelTreeSettings,
    held_out: Examples | None,
    fits: Callable[[int], bool],
) -> Division | None:
    """The division that is better than the tree of classes that was the best in its trial.

    Where a tenth tells little, that tree is tried on several.
    """
    number, seed = trials.num_classes, settled.seed
    several = -(-TOLD * PARTS // len(examples)) if held_out is None else 1
    if several == 1 or len(examples) * examples.features.size**2 > WIDE:
        best = next(each for each in trials.tried if each.settings == settled)
        pairs = [(trials.learn.checked, trials.held.checked)]
        whole = Answers(best.losses, best.wrong)
        return best_division(pairs, number, whole, lambda: whole, seed, fits)
    of = tenths(examples.labels, seed, examples.groups)
    some = [(examples[learn], examples[held]) for learn, held in islice(of, min(several, MOST))]

    @cache
    def how() -> Regularisation:  # that suits the first suits all
        return regularisation(some[0][0].checked, number, seed)

    def solve(rows: Checked, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        return solved(rows, size, seed, how())

    def answers() -> Answers:
        tried = [Trials(*each, number, trials.progress, solve=solve).run(settled) for each in some]
        return Answers.joined([Answers(each.losses, each.wrong) for each in tried])

    pairs = [(learn.checked, held.checked) for learn, held in some]
    return best_division(pairs, number, None, answers, seed, fits)


def _told(
    examples: Examples, num_classes: int, how: Division, settings: LabelTreeSettings
) -> Parted:
    """Examples of parts, and their node as it is solved.

    It tells classes, whichever of their parts; training would learn to tell parts as they are.
    """
    told = parts_told(examples.checked, num_classes, how, settings.seed)
    size, of_parts = len(told.part_classes), replace(examples, labels=told.place)
    node = choose(of_parts, size, replace(settings, tree="huffman", arity=size, epochs=0))
    return Parted(of_parts, told.part_classes, node, lambda *_: (told.weight, told.bias))


def _fits(examples: Examples, wanted: LabelTreeSettings, size: int) -> bool:
    """True if a single node of so many parts does not take long."""
    usual = filled_in(examples, size, wanted)
    assert usual.arity is not None
    return size <= usual.arity or one_node(wanted, size, examples, usual) is not None
