"""Chooses the settings that the user leaves open, by the sizes of the data and held-out samples.

Several kinds of trees are trained briefly on samples that are not held out, or some of them:
complete trees of several depths, trees that start as a decision tree on single features, and that
decision tree itself. For each start, depths are tried from the deepest, whose leaves are the
narrowest and cost least, towards the flat softmax, until the error rises; if the flat softmax is
better, also upwards from there. So trees with wide leaves are tried only if they have a chance. All
are trained for one iteration, and the best few for longer, on several folds if there are few
samples.

The kind with the lowest error is then tried with stronger penalties, in units of the mean weight of
a sample, with a quadratic penalty in place of most of it and, if nothing helps, with weaker ones:
with few samples, and classes that differ a little in every column, a sufficient L1 penalty drops
most of the columns.

With few samples in each class, the best few kinds, the flat softmax and all penalties are trained
to the end, if possible on all samples, as overfitting shows late, and a brief training favours
narrow leaves. One kind is taken over a simpler one only if its advantage is not due to chance, and
over the flat softmax, if all samples are used, only if it is surely better. The plain decision tree
is the simplest, and a stronger penalty is simpler; so are fewer leaves, but if only some samples
are used, more leaves, which gain most from the others. Unless all this is cheap, trees that begin
surely behind the flat softmax, and stronger penalties that begin far behind, are given up after one
iteration, and kinds that begin nearly as well are compared once more with the penalties found; if
it is cheap, the flat softmax is, with penalties of its own. If only some samples are used, some of
the others are tested on besides those held out. The error is that of ``wrongness``, at the
temperature of each kind where trees get one. Of few dense rows, a solved leaf (``solved_leaf``) is
taken unless a tree is surely better; of more, and of sparse ones naive Bayes or its mean with a
flat softmax, if that is better by more than chance. At last, held-out samples tell how sure leaves
may be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.held_out import hold_out
from structnet.estimators.temperature import FEWEST, best_temperature
from structnet.softmax_tree.class_parts import in_parts
from structnet.softmax_tree.costs import axes_sums, flat_sums
from structnet.softmax_tree.fold import BETTER, Fold, Wrongness, least_wrong, lowest, name_of
from structnet.softmax_tree.penalties import Penalties
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import (
    ChosenGrowth,
    ChosenSettings,
    GrowthSettings,
    SoftmaxTreeSettings,
)
from structnet.softmax_tree.solved_leaf import are_few, how_solved, may_be_solved
from structnet.softmax_tree.start import most_classes, width
from structnet.softmax_tree.wrongness import odds_of
from structnet.training.progress import Progress

# Samples that a choice uses, or EACH for each class if that is more, but at most half of all. All
# are used up to FEW, or if training to the end is affordable with few samples in each class: half
# of them would need another penalty.
LARGEST = 8000
EACH = 20
SCARCE = 40  # mean number of samples in a class up to which trials are trained to the end
HELD_OUT = 0.25
TESTED = 4  # further samples to test on for each one used, if available, as testing is cheap
FEW, PARTS = 4000, 3  # samples below which the choice is made on several folds; their number
GOOD = 2  # kinds that are trained for more than one iteration, on all folds
CHEAP, MORE = 2e7, 4  # rows x features x classes up to which all kinds are tried, MORE of them long
DEPTHS = (0, 1, 2, 4, 6, 8)
DEEPEST = 1000  # depth of the plain decision tree
SHALLOW = 4  # largest depth of a tree that starts with single features
ITERATIONS = 3  # of a trial
# Standard errors, of the samples held out of those used, by which the weakest penalty must be
# better than a stronger one: it overfits in a long training, which a short one does not show.
SURE = 2.0
FAR = 4.0  # standard errors behind after one iteration, that no further ones make good
ALPHA, RHO = 0.7, 0.95
TOGETHER = 50  # smallest default limit on the classes of a leaf while a tree grows
FLAT = 4e10  # largest number of sums for a flat softmax in a trial: some seconds
# Number of sums of a short trial up to which deciding ones are trained to the end, a few seconds
# for each of eight or more. A sum over sparse rows, which is not vectorised, counts as SPARSE.
WHOLE, SPARSE = 1e10, 16
COST = 5e8  # largest number of sums for a decision tree on single features: about a second
# A costlier plain one, up to so many times, is first grown on one row of so many: at best, the odds
# of a mistake fall in proportion to the number of rows.
PROBED = 4

Kind = ChosenSettings


def chosen(
    points: Points,
    settings: SoftmaxTreeSettings,
    growth: GrowthSettings | None,
    progress: bool | Progress = False,
    held_out: Points | None = None,
) -> tuple[ChosenSettings, GrowthSettings | None]:
    """Settings in which nothing is None except limits.

    Args:
        points: samples to learn from; some of them are used for the choice.
        settings: hyper-parameters, None where they are left open.
        growth: hyper-parameters of growth, likewise; None for a tree that does not grow.
        progress: True or a :class:`.Progress` to report each trial.
        held_out: samples to choose by; None to hold out some of the others.

    Raises:
        ValueError: growth would start beyond its limits.
    """
    progress = Progress.of(progress)
    given = ChosenSettings.of(settings)
    if growth is not None:
        growth.check_start()
        least = TOGETHER if growth.alpha is None else growth.least_k
        more = {"least_k": least, "alpha": growth.alpha or ALPHA, "rho": growth.rho or RHO}
        growth = ChosenGrowth(**{**vars(growth), **more})
        given = replace(given, depth=growth.start_depth)
    open_ = (given.depth, given.k if growth is None else 0, given.start, given.leaf_penalty)
    search = _Search(points, given, growth, progress, held_out) if None in open_ else None
    found = search.best() if search else given
    if found.decision_penalty is None:
        found = replace(found, decision_penalty=found.leaf_penalty)
    if growth is None:
        return search.tempered(found) if search else found, None
    assert found.depth is not None
    growth = replace(growth, start_depth=found.depth)
    start_k = most_classes(growth, points.num_classes, found.depth)
    return replace(found, depth=None, k=None), replace(growth, start_k=start_k)


@dataclass(frozen=True)
class _Search:
    """The search for the best settings."""

    points: Points
    given: Kind
    growth: GrowthSettings | None
    progress: Progress
    held_out: Points | None = None

    def best(self) -> Kind:
        """The best tree or a solved leaf, of parts of classes if these are surely better."""
        best = self._of_trees()
        if not may_be_solved(self.points, self.given, self.growth):
            return best
        leaf = replace(self._kind(0, "centroids"), solved=how_solved(self.points, self.given.seed))
        best = self._solved_or(best, leaf)
        parted = in_parts(self._parts, replace(leaf, max_iter=0))
        if parted is None:
            return best
        before, after = (
            self._wrong_about(each, iterations=self._length) for each in (best, parted)
        )
        return parted if before.exceeds(after, SURE) else best

    def _solved_or(self, best: Kind, leaf: Kind) -> Kind:
        """The best tree or a solved leaf: of few dense rows in doubt the leaf, of others not."""
        half = replace(leaf, leaf_penalty=best.leaf_penalty, leaf_ridge=best.leaf_ridge)
        alone = replace(leaf, max_iter=0)
        soon = best.depth == 0 or flat_sums(self._parts[0].learn) <= FLAT  # or trained already
        kinds = (best, half, alone) if self.points.sparse and soon else (best, alone)
        wrong = {kind: self._wrong_about(kind, iterations=self._length) for kind in kinds}
        if are_few(self.points):
            return best if wrong[alone].exceeds(wrong[best], SURE) else alone
        if self.points.sparse:
            return lowest(wrong)
        by = BETTER if self.growth is None else SURE  # what may grow becomes better
        return alone if wrong[best].exceeds(wrong[alone], by) else best

    def _of_trees(self) -> Kind:
        """The settings of the lowest error among trees that are trained."""
        tried = self._walked()
        best = self._best_of(tried)
        if self._plain_is_as_good(best):
            return self._plain
        if self.given.leaf_penalty is not None or not best.max_iter:
            return best
        found = self._compared_again(tried, self._penalised(best))
        if not (self._cheap and found.depth):
            return found
        kinds = [*(self._penalised(kind) for kind in tried if not kind.depth), found]
        return lowest({kind: self._wrong_about(kind, iterations=self._length) for kind in kinds})

    def _best_of(self, tried: dict[Kind, Wrongness]) -> Kind:
        """The best of the kinds that begin best, by their wrongness after one iteration."""
        good = sorted(tried, key=lambda kind: tried[kind].mean)[: MORE if self._cheap else GOOD]
        flat = [kind for kind in tried if not kind.depth]
        if self._length is None or self._cheap:  # its start says little about its end
            good += [kind for kind in flat if kind not in good]
        if flat and not self._cheap:  # trees with narrower leaves begin faster
            least = tried[flat[0]]
            good = [kind for kind in good if kind in flat or not tried[kind].exceeds(least, SURE)]
        if len(good) == 1:
            return good[0]
        order = 1 if self._most == len(self.points) else -1  # leaves gain most from further rows
        good.sort(key=lambda kind: (order * (kind.depth or 0), kind.start != "centroids"))
        wrong = {kind: self._wrong_about(kind, iterations=self._length) for kind in good}
        found = lowest(wrong)
        alone = [kind for kind in good if not kind.depth and order > 0]
        return next((kind for kind in alone if not wrong[kind].exceeds(wrong[found], SURE)), found)

    def _compared_again(self, tried: dict[Kind, Wrongness], found: Kind) -> Kind:
        """The best kind that is not far behind, if all have the penalties found for the first one.

        The more leaves, the fewer samples has each: deep trees suffer most from weak penalties.
        """
        least = least_wrong(tried.values())
        how: Any = {"leaf_penalty": found.leaf_penalty, "leaf_ridge": found.leaf_ridge}
        close = [replace(kind, **how) for kind in tried if not tried[kind].exceeds(least, FAR)]
        if self._cheap or len(close) < 2 or found in tried:
            return found
        return self._best_of({kind: self._wrong_about(kind, iterations=1) for kind in close})

    def tempered(self, kind: Kind) -> Kind:
        """The kind with the temperature for held-out samples, if quick to train, or half solved.

        It is trained to the end, and on most of all samples, as with fewer it would be less sure.
        """
        if not (self._tempers or kind.solved) or kind.is_solved or kind.temperature != 1:
            return kind
        seed, all_ = self.given.seed, self._most >= len(self.points)
        parts = self._parts if all_ else [self._parted(self.points, None, seed)]
        parts = [replace(part, test=part.test.few(seed)) for part in parts]
        log_prob = np.concatenate([part.log_probs(kind) for part in parts])
        y = np.concatenate([part.test.y for part in parts])
        weights = np.concatenate([part.test.weights for part in parts])
        found = best_temperature(log_prob, y, weights, further=len(parts))
        self.progress.say_when_due(f"temperature {found:.3g}", last=False)
        return replace(kind, temperature=found)

    def _walked(self) -> dict[Kind, Wrongness]:
        """The wrongness of all kinds that are tried, after one iteration."""
        limit = math.inf if self.growth is None else self.growth.deepest
        most = max(1, int(math.log2(max(len(self.points) / 20, 2))))  # 20 samples a leaf
        limit = min(most, 3 + math.log2(self.points.num_classes), limit)
        depths = [d for d in DEPTHS if d <= limit]
        if self.given.depth is not None:
            depths = [self.given.depth]
        if self.given.start is not None:
            return self._walk(self.given.start, depths)
        found = self._walk("centroids", depths)
        depth = min(found, key=lambda kind: found[kind].mean).depth
        assert depth is not None
        deepest = max(depths) if self._cheap else max(depth, 1)
        found |= self._walk("rows", [d for d in depths if 0 < d <= deepest])
        if axes_sums(self._parts[0].learn, SHALLOW) <= COST:
            found |= self._walk("axes", [d for d in depths if 0 < d <= SHALLOW])
        return found

    def _walk(self, start: Any, depths: Iterable[int]) -> dict[Kind, Wrongness]:
        """The wrongness of one start, from the deepest to the first that is worse than another.

        As the error may rise between narrow leaves and the flat softmax, the latter is tried too if
        that is affordable, and if it is better, so are deeper trees from there on.
        """
        found: dict[Kind, Wrongness] = {}
        self._until_worse(start, reversed(waiting := sorted(depths)), found)
        waiting = waiting[: -len(found)]
        if waiting[:1] == [0] and flat_sums(self._parts[0].learn) <= FLAT:
            least, flat = least_wrong(found.values()), self._kind(0, start)
            found[flat] = self._wrong_about(flat, iterations=1)
            if least.exceeds(found[flat]):
                self._until_worse(start, waiting[1:], found)
        return found

    def _until_worse(self, start: Any, depths: Iterable[int], found: dict) -> None:
        """Adds the wrongness of some depths, up to the first that is worse than one before."""
        for depth in depths:
            kind = self._kind(depth, start)
            found[kind] = wrong = self._wrong_about(kind, iterations=1)
            if wrong.exceeds(least_wrong(found.values())) and not self._cheap:
                break

    def _penalised(self, best: Kind) -> Kind:
        """The best kind with the best penalties for its leaves."""
        measure = partial(self._wrong_about, iterations=self._length)
        # A short training misleads on all rows alike: more of them must not lower the bar.
        part = self._parts[0]
        sure = SURE * (len(part.test) / len(part.learn) * (1 / HELD_OUT - 1)) ** 0.5
        return Penalties(self._count, measure, self._has_no_chance, sure).best_of(best)

    def _has_no_chance(self, kind: Kind, best: Kind) -> bool:
        """True if a stronger penalty is far behind from the first iteration on, if that is long."""
        if self._cheap:
            return False
        wrong, least = (self._wrong_about(each, iterations=1) for each in (kind, best))
        return wrong.exceeds(least, FAR)

    def _plain_is_as_good(self, best: Kind) -> bool:
        """True if the plain decision tree is no more wrong.

        If it is costly, it is given up if a part of the rows shows it far behind. Of sparse rows it
        always is: columns are many and mostly 0, so that each decision parts few rows from the
        others, and the tree is a long chain.
        """
        given, parts, k = self.given, self._parts, self.points.num_classes
        open_ = given.depth is None and given.k is None and given.start in (None, "axes")
        limited = self.growth is not None and self.growth.deepest < math.inf
        number = len(parts[0].learn)
        sums = axes_sums(parts[0].learn, math.log2(number + 1))
        if not open_ or limited or sums > PROBED * COST:
            return False
        least = self._wrong_about(best, iterations=self._length)
        if (sums > COST or self.points.sparse) and number >= PROBED * FEWEST:
            few = [part.fewer(number // PROBED, given.seed) for part in parts]
            odds = max(odds_of(least.mean, k), 0.5 / number)  # half a mistake
            if odds_of(self._wrong_about(self._plain, few).mean, k) > PROBED * odds:
                return False
        return not self._wrong_about(self._plain, iterations=self._length).exceeds(least)

    def _wrong_about(
        self, kind: Kind, parts: list[Fold] | None = None, iterations: int | None = ITERATIONS
    ) -> Wrongness:
        """The wrongness on held-out samples, after one iteration on those of one fold alone."""
        growth = self.growth
        if growth is not None:
            growth = replace(growth, start_depth=kind.depth)
        parts = parts or self._parts[: 1 if iterations == 1 else PARTS]
        each = [part.wrong_about(kind, growth, iterations) for part in parts]
        weights = [part.test.weights for part in parts]
        wrong = Wrongness(np.concatenate(each), np.concatenate(weights))
        line = f"{name_of(kind)}: wrong by {wrong.mean:.4f} held out"
        self.progress.say_when_due(line, last=False)
        return wrong

    @cached_property
    def _parts(self) -> list[Fold]:
        """Folds of samples to learn from and to test on, one or several."""
        seed, points, rest = self.given.seed, self.points, None
        if len(points) > (most := self._most):
            order = np.random.default_rng(seed).permutation(len(points))
            if points.groups is None:  # others could be of the groups to learn from
                rest = points.take(np.sort(order[most : (1 + TESTED) * most]))
            points = points.take(np.sort(order[:most]))
        number = PARTS if len(points) < FEW and self.held_out is None else 1
        return [self._parted(points, rest, seed + i) for i in range(number)]

    def _parted(self, points: Points, rest: Points | None, seed: int) -> Fold:
        """A fold with samples to learn from, and held-out ones joined with further ones."""
        if self.held_out is not None:
            return Fold(points, self.held_out, self._tempers)
        y = points.y if len(np.unique(points.y)) < len(points) else None  # all of other classes
        learn, test = hold_out(len(points), HELD_OUT, seed, y, groups=points.groups)
        held_out = points.take(test)
        held_out = held_out if rest is None else held_out.joined(rest)
        return Fold(points.take(learn), held_out, self._tempers)

    def _kind(self, depth: int, start: Any) -> Kind:
        """The user's settings, with the others as they are when kinds are compared."""
        given, values = self.given, {"depth": depth, "start": start}
        values["k"] = width(self.points.num_classes, depth) if given.k is None else given.k
        values["leaf_penalty"] = self._count if given.leaf_penalty is None else given.leaf_penalty
        if given.decision_penalty is None:
            values["decision_penalty"] = values["leaf_penalty"]
        return replace(given, **values)

    @cached_property
    def _plain(self) -> Kind:
        """A plain decision tree on single features."""
        k = self.points.num_classes
        return replace(self._kind(DEEPEST, "axes"), k=k, max_iter=0)

    @cached_property
    def _length(self) -> int | None:
        """The number of iterations of a deciding trial; None for all.

        With few samples in each class, the start of a training says little about its end.
        """
        return None if self._whole(self._most) else ITERATIONS

    @cached_property
    def _tempers(self) -> bool:
        """True if a tree gets a temperature, which takes a training to the end."""
        return self._cheap or self._length is None

    @cached_property
    def _most(self) -> int:
        """The largest number of samples that are used."""
        if self._whole(number := len(self.points)):
            return number
        return min(max(LARGEST, EACH * self.points.num_classes), max(FEW, number // 2), number)

    def _whole(self, number: int) -> bool:
        """True if classes have few samples, and a trial with this number can run to the end."""
        points = self.points
        each = SPARSE if issparse(points.x) else 1
        sums = each * flat_sums(points) * number / len(points) * (1 - HELD_OUT)
        return len(points) <= SCARCE * points.num_classes and sums <= WHOLE

    @property
    def _count(self) -> float:
        """The mean weight of a sample, the unit of penalties, as weights may have any sum."""
        return float(self.points.weights.mean())

    @cached_property
    def _cheap(self) -> bool:
        return self.points.products <= CHEAP
