"""How many parts the classes of a dense table have, by their losses on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from structnet.estimators.checked import Checked
from structnet.estimators.columns_of_parts import most_gaining, parting_columns
from structnet.estimators.discriminant_analysis import (
    Shrinkage,
    best_shrinkage,
    discriminant,
    with_weights,
)
from structnet.estimators.few_rows import (
    PENALTIES,
    Regularisation,
    lowest,
    regularisation,
    solved,
)
from structnet.estimators.held_out import tenths
from structnet.estimators.parts import of_classes, parts_within
from structnet.estimators.softmax_of_parts import Division, fitted
from structnet.training.gains import is_better

NUMBERS = (2, 3, 4, 8, 16)  # numbers of parts that are tried
WORSE = 2  # numbers in a row without a gain over smaller ones, after which no larger one is tried
# Standard errors by which the loss falls if a larger number is taken, and by which mistakes do if
# classes are divided at all; then, the loss falls by more.
SURE, ERRORS = 1.0, 2.5
# Parts from which on weights are fitted, as those that are not needed lose theirs; the penalties,
# small ones for narrow bands, which need large weights; and the first one that is tried.
ENOUGH, STRENGTHS, FIRST = 4, (*PENALTIES, 0.01, 0.003, 0.001), 0.1
# Held-out rows after which fewer columns must be better, by some standard errors, to try all rows.
SOON, MAYBE = 80, 0.5
WORK = 5_000_000  # products of a step up to which weights are fitted: some seconds in all
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


def best_division(
    pairs: Sequence[tuple[Checked, Checked]],
    num_classes: int,
    first: Answers | None,
    whole: Callable[[], Answers],
    seed: int = 0,
    fits: Callable[[int], bool] = lambda size: True,
) -> Division | None:
    """The division of classes with the least loss of held-out rows; None if they stay whole.

    Numbers of parts are compared by discriminant analyses of them. Then weights of four parts and
    more are fitted if that does not take long: few parts that fit may be better than many that do
    not, and parts that no analysis tells, as among columns of noise, may still be fitted. At last
    all is tried again with fewer columns, if some seem to tell nothing. Classes are divided if the
    best has a lower loss than a model of whole classes and makes fewer mistakes, by more than
    chance.

    Args:
        pairs: dense rows to learn from and held-out rows, labelled with classes.
        num_classes: number of classes.
        first: answers of a model of whole classes about all held-out rows; by default those of a
            discriminant analysis.
        whole: function that gives those of the best one; it is not asked if parts gain nothing
            over the first.
        seed: seed of the parts, and of the choice of rows.
        fits: function that says whether so many parts are few enough.
    """
    search = _Search(pairs, num_classes, cache(whole), seed, fits)
    if first is None and (one := _Drafts.of(pairs, num_classes, 1, seed, fits)):
        first = one.answers()
    if first is None:
        return None
    division, best = search.with_fewer_columns(*search.best(None, first))
    if division is None:
        return None
    # Where classes lie far apart, parts are no more right, but surer than few rows warrant.
    before = search.whole()
    surer = search.better(before.losses, best.losses, ERRORS)
    return division if surer and search.better(before.wrong, best.wrong, SURE) else None


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
    how: Regularisation | None = None

    def whole() -> Answers:
        nonlocal how
        how = regularisation(rows, num_classes, seed)
        answers = []
        for learn, held in pairs:
            weight, bias = solved(learn, num_classes, seed, how)
            answers.append(Answers.of(log_softmax(held.x @ weight.T + bias, axis=1), held.y))
        return Answers.joined(answers)

    return best_division(pairs, num_classes, None, whole, seed, fits), how


class _Search(NamedTuple):
    """The search for the best division.

    Attributes:
        pairs, num_classes, whole, seed, fits: arguments of :func:`best_division`; ``whole`` is
            answered once.
    """

    pairs: Sequence[tuple[Checked, Checked]]
    num_classes: int
    whole: Callable[[], Answers]
    seed: int
    fits: Callable[[int], bool]

    def better(self, before: np.ndarray, after: np.ndarray, errors: float) -> bool:
        """True if held-out losses fall by more than some standard errors. ``[n], [n] -> bool``."""
        weights, groups = zip(*((held.weights, held.groups) for _, held in self.pairs), strict=True)
        return is_better(before, after, errors, _joined(weights), _joined(groups))

    def best(
        self, division: Division | None, best: Answers, errors: float = SURE
    ) -> tuple[Division | None, Answers]:
        """The best division, and its answers, if it is better than another; else that one.

        Args:
            division: division of the classes that is the best so far; None if they are whole.
            best: its answers.
            errors: standard errors by which the loss must fall.
        """

        @cache
        def drafts(number: int) -> _Drafts | None:
            return _Drafts.of(self.pairs, self.num_classes, number, self.seed, self.fits)

        before, worse = division, 0
        most: Answers | None = None  # those of the best number, which may be worse than the given
        for number in NUMBERS:
            if (tried := drafts(number)) is None:
                break
            answers = tried.answers()
            if most is None or self.better(most.losses, answers.losses, errors):
                most, worse = answers, 0
            elif (worse := worse + 1) == WORSE:
                break
            if self.better(best.losses, answers.losses, errors):
                division, best = Division(number, tried.shrinkage), answers
        penalty = before.penalty if before and before.penalty else FIRST
        likely = division.number if division else 0
        least = max(ENOUGH, before.number if before else 0)
        for number in NUMBERS[NUMBERS.index(least) :]:
            if (tried := drafts(number)) is None or tried.work > WORK:
                break
            if division is before:
                losses = tried.answers(penalty).losses
                if not self.better(best.losses, losses, errors):
                    break
                if not before and not self.better(self.whole().losses, losses, errors):
                    break
            penalty, answers = tried.best(penalty)
            if self.better(best.losses, answers.losses, errors):
                division, best = Division(number, tried.shrinkage, penalty), answers
            elif number >= likely:
                break
        return division, best

    def with_fewer_columns(
        self, division: Division | None, best: Answers
    ) -> tuple[Division | None, Answers]:
        """The division, and its answers, or a better one with fewer columns.

        Most tables need all their columns, which the first pairs show soon.
        """
        # Of a few mistakes, too few can be spared to show beyond chance.
        if not self.better(best.wrong, np.zeros_like(best.wrong), ERRORS):
            return division, best
        tried, choices = self._replace(pairs=[]), list[np.ndarray]()
        for learn, held in self.pairs:
            number = len(choices[0]) if choices else 0
            columns = parting_columns(learn, self.num_classes, number, self.seed)
            if len(columns) == learn.x.shape[1]:
                return division, best
            choices.append(columns)
            some = [*tried.pairs, (learn.of(columns), held.of(columns))]
            before, tried = tried.size, self._replace(pairs=some)
            if before < SOON <= tried.size and not tried.may_beat(division, best):
                return division, best
        found, answers = tried.best(division, best)
        if found is None or found is division:
            return division, best
        first = np.cumsum([0, *(len(held.y) for _, held in self.pairs)])[:-1]
        weights = _joined([held.weights for _, held in self.pairs])
        gained = best.losses - answers.losses
        gains = np.add.reduceat(gained if weights is None else weights * gained, first)
        return found._replace(columns=most_gaining(choices, gains)), answers

    @property
    def size(self) -> int:
        """The number of held-out rows."""
        return sum(len(held.y) for _, held in self.pairs)

    def may_beat(self, division: Division | None, best: Answers) -> bool:
        """True if any division seems better than one of more pairs, of which these are the first.

        Args:
            division, best: that one, None for whole classes, and its answers.
        """
        some = Answers(best.losses[: self.size], best.wrong[: self.size])
        return self._replace(whole=lambda: some).best(division, some, MAYBE)[0] is not division


class _Draft(NamedTuple):
    """A discriminant analysis of parts.

    Attributes:
        learn, held: rows to learn from and held-out rows, labelled with classes.
        part_classes: class of each part, ascending.
        start: weights and biases of the analysis.
    """

    learn: Checked
    held: Checked
    part_classes: np.ndarray
    start: tuple[np.ndarray, np.ndarray]

    def answers(self, penalty: float) -> Answers:
        """The answers about held-out rows; of the analysis for a penalty of 0."""
        weight, bias = self.start
        if penalty:
            weight, bias = fitted(self.learn, self.part_classes, self.start, penalty)
        x, y = self.held.x, self.held.y

        def log_prob_of(some: slice) -> np.ndarray:
            return log_softmax(x[some] @ weight.T + bias, axis=1)

        return Answers.of(of_classes(log_prob_of, len(y), self.part_classes), y)


class _Drafts(NamedTuple):
    """Discriminant analyses of parts, one for each pair of rows to learn from and held-out rows.

    Attributes:
        number: largest number of parts of a class.
        shrinkage: shrinkage, which suits the rows of the first pair, as it suits all.
        each: analyses.
        known: answers about all held-out rows, by penalty.
    """

    number: int
    shrinkage: Shrinkage
    each: list[_Draft]
    known: dict[float, Answers]

    @classmethod
    def of(
        cls,
        pairs: Sequence[tuple[Checked, Checked]],
        num_classes: int,
        number: int,
        seed: int,
        fits: Callable[[int], bool] = lambda size: True,
    ) -> _Drafts | None:
        """The analyses; None if there are too many parts, or nothing is held out."""
        how: Shrinkage | None = None
        drafts = []
        for learn, held in pairs:
            place, part_classes = parts_within(learn, num_classes, number, seed)
            size, rows = len(part_classes), learn._replace(y=place)
            if not fits(size):
                return None
            how = how or best_shrinkage(rows, size, seed)
            start = discriminant(rows, size, seed, how)
            drafts.append(_Draft(learn, held, part_classes, start))
        return cls(number, how, drafts, {}) if how else None

    @property
    def work(self) -> int:
        """The number of products that one step of fitting takes."""
        return sum(len(draft.part_classes) * draft.learn.x.size for draft in self.each)

    def answers(self, penalty: float = 0.0) -> Answers:
        """The answers about all held-out rows; of the analyses for a penalty of 0."""
        if penalty not in self.known:
            self.known[penalty] = Answers.joined([draft.answers(penalty) for draft in self.each])
        return self.known[penalty]

    def best(self, near: float) -> tuple[float, Answers]:
        """The penalty of the least loss, downhill from one of them, and its answers."""
        weights = _joined([draft.held.weights for draft in self.each])

        def loss(penalty: float) -> float:
            return float(np.average(self.answers(penalty).losses, weights=weights))

        best = lowest(loss, STRENGTHS.index(near), STRENGTHS)
        return best, self.answers(best)


def _joined(some: Iterable[np.ndarray | None]) -> np.ndarray | None:
    """One array after the other, None if they are None. ``[n_i] -> [n]``."""
    given = [each for each in some if each is not None]
    return np.concatenate(given) if given else None
