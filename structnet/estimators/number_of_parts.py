"""How many parts the classes of a dense table have, by their losses on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import (
    Shrinkage,
    best_shrinkage,
    discriminant,
    with_weights,
)
from structnet.estimators.few_rows import Regularisation, regularisation, solved
from structnet.estimators.held_out import tenths
from structnet.estimators.parts import of_classes, parts_within
from structnet.training.gains import is_better

NUMBERS = (2, 3, 4, 8, 16)  # numbers of parts that are tried
WORSE = 2  # numbers in a row without a gain, after which no larger one is tried
# Standard errors by which the loss falls if a larger number is taken, and by which mistakes do if
# classes are divided at all; then, the loss falls by more.
SURE, ERRORS = 1.0, 2.5
MOST = 50.0  # largest loss of a row


class Answers(NamedTuple):
    """What is said of held-out rows.

    Attributes:
        losses: negative log-probability of the class of each row, at most 50.
        wrong: True where another class is likelier.

    Shapes:
        both ``[n]``.
    """

    losses: np.ndarray
    wrong: np.ndarray

    @classmethod
    def of(cls, log_prob: np.ndarray, y: np.ndarray) -> Answers:
        """The answers of log-probabilities, ``[n, classes]``, about rows of classes ``[n]``."""
        losses = np.minimum(-log_prob[np.arange(len(y)), y], MOST)
        return cls(losses, log_prob.argmax(1) != y)

    @classmethod
    def joined(cls, some: Sequence[Answers]) -> Answers:
        """The answers about the rows of several parts, one after the other."""
        return cls(*map(np.concatenate, zip(*some, strict=True)))


class Division(NamedTuple):
    """How classes are divided, and what keeps the weights of a model of the parts small.

    Attributes:
        number: largest number of parts of a class.
        shrinkage: shrinkage of a discriminant analysis of the parts.
    """

    number: int
    shrinkage: Shrinkage


def best_division(
    pairs: Sequence[tuple[Checked, Checked]],
    num_classes: int,
    first: Answers,
    whole: Callable[[], Answers],
    seed: int = 0,
    fits: Callable[[int], bool] = lambda size: True,
) -> Division | None:
    """The division of classes with the least loss of held-out rows; None if they stay whole.

    Classes are divided if a discriminant analysis of their parts has a lower loss than a model of
    whole classes and makes fewer mistakes, by more than chance.

    Args:
        pairs: dense rows to learn from and held-out rows, labelled with classes.
        num_classes: number of classes.
        first: answers of a model of whole classes about all held-out rows.
        whole: function that gives those of the best one; it is not asked if parts gain nothing
            over the first.
        seed: seed of the parts, and of the choice of rows.
        fits: function that says whether so many parts are few enough.
    """
    held = [held for _, held in pairs]
    weights, groups = _joined([x.weights for x in held]), _joined([x.groups for x in held])
    found, best, worse = None, first, 0
    for number in NUMBERS:
        tried = _analysed(pairs, num_classes, number, seed, fits)
        if tried is None:
            break
        answers, shrinkage = tried
        if is_better(best.losses, answers.losses, SURE, weights, groups):
            found, best, worse = Division(number, shrinkage), answers, 0
        elif (worse := worse + 1) == WORSE:
            break
    if found is None:
        return None
    before = whole()
    surer = is_better(before.losses, best.losses, ERRORS, weights, groups)
    # Where classes lie far apart, parts are no more right, but surer than few rows warrant.
    return found if surer and is_better(before.wrong, best.wrong, SURE, weights, groups) else None


def best_of_few(
    rows: Checked,
    num_classes: int,
    seed: int = 0,
    fits: Callable[[int], bool] = lambda size: True,
) -> tuple[Division | None, Regularisation | None]:
    """The best division of the classes of few rows, and what solves them best if they are whole.

    A tenth of few rows tells little: tenths are held out in turn. Parts are compared with
    :func:`.solved` classes.

    Args:
        rows: dense rows, labelled with classes.
        num_classes, seed, fits: arguments of :func:`best_division`.

    Returns:
        The division, None if classes stay whole; and the regularisation, None if it was not asked
        for, as parts gain nothing over a discriminant analysis of whole classes.
    """
    rows = with_weights(rows)
    of = tenths(rows.y, seed, rows.groups)
    pairs = [(rows.take(learn), rows.take(held)) for learn, held in of]
    first = _analysed(pairs, num_classes, 1, seed, lambda size: True)
    how: Regularisation | None = None

    def whole() -> Answers:
        nonlocal how
        how = regularisation(rows, num_classes, seed)
        answers = []
        for learn, held in pairs:
            weight, bias = solved(learn, num_classes, seed, how)
            answers.append(Answers.of(log_softmax(held.x @ weight.T + bias, axis=1), held.y))
        return Answers.joined(answers)

    division = first and best_division(pairs, num_classes, first[0], whole, seed, fits)
    return division, how


def _analysed(
    pairs: Sequence[tuple[Checked, Checked]],
    num_classes: int,
    number: int,
    seed: int,
    fits: Callable[[int], bool],
) -> tuple[Answers, Shrinkage] | None:
    """The answers of a discriminant analysis of parts about held-out rows, and its shrinkage.

    The shrinkage is that which suits the rows of the first pair, as it suits all. None if there are
    too many parts, or nothing is held out.
    """
    how: Shrinkage | None = None
    answers = []
    for learn, held in pairs:
        place, part_classes = parts_within(learn, num_classes, number, seed)
        size, rows = len(part_classes), learn._replace(y=place)
        if not fits(size):
            return None
        how = how or best_shrinkage(rows, size, seed)
        weight, bias = discriminant(rows, size, seed, how)

        def log_prob_of(some: slice, x: np.ndarray = held.x, of: Any = (weight.T, bias)) -> Any:
            return log_softmax(x[some] @ of[0] + of[1], axis=1)

        answers.append(Answers.of(of_classes(log_prob_of, len(held.y), part_classes), held.y))
    return (Answers.joined(answers), how) if how else None


def _joined(some: list[np.ndarray | None]) -> np.ndarray | None:
    """One array after the other, None if they are None. ``[n_i] -> [n]``."""
    given = [each for each in some if each is not None]
    return np.concatenate(given) if given else None
