"""Judges kinds of softmax trees: by which samples, and after how many iterations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from structnet.estimators.held_out import hold_out
from structnet.softmax_tree.costs import flat_sums
from structnet.softmax_tree.fold import Fold, Wrongness, lowest, name_of
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenSettings, GrowthSettings
from structnet.softmax_tree.start import width
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
CHEAP = 2e7  # rows x features x classes up to which all kinds are tried
DEEPEST = 1000  # depth of the plain decision tree
ITERATIONS = 3  # of a trial
# Number of sums of a short trial up to which deciding ones are trained to the end, a few seconds
# for each of eight or more. A sum over sparse rows, which is not vectorised, counts as SPARSE.
WHOLE, SPARSE = 1e10, 16


@dataclass(frozen=True)
class Judge:
    """Compares kinds of trees on held-out samples.

    Attributes:
        points: samples to learn from.
        given: settings of the user, which all kinds share.
        growth: settings of growth, which give a tree its initial size; None if it does not grow.
        progress: progress that reports each trial.
        held_out: samples to judge by; None to hold out some of the others.
    """

    points: Points
    given: ChosenSettings
    growth: GrowthSettings | None
    progress: Progress
    held_out: Points | None = None

    def kind(self, depth: int, start: Any) -> ChosenSettings:
        """The user's settings, with the others as they are when kinds are compared."""
        given, values = self.given, {"depth": depth, "start": start}
        values["k"] = width(self.points.num_classes, depth) if given.k is None else given.k
        values["leaf_penalty"] = self.unit if given.leaf_penalty is None else given.leaf_penalty
        if given.decision_penalty is None:
            values["decision_penalty"] = values["leaf_penalty"]
        return replace(given, **values)

    @cached_property
    def plain(self) -> ChosenSettings:
        """A plain decision tree on single features."""
        k = self.points.num_classes
        return replace(self.kind(DEEPEST, "axes"), k=k, max_iter=0)

    def begun(self, kind: ChosenSettings) -> Wrongness:
        """How wrong a kind is after one iteration, on one fold."""
        return self._wrong_about(kind, 1, self.folds[:1])

    def ended(self, kind: ChosenSettings, folds: list[Fold] | None = None) -> Wrongness:
        """How wrong a kind is in a deciding trial, by default on all folds."""
        return self._wrong_about(kind, self.length, folds or self.folds)

    def best(self, *kinds: ChosenSettings) -> ChosenSettings:
        """The first that is more wrong in the end than the best one only by chance."""
        return lowest({kind: self.ended(kind) for kind in kinds})

    def _wrong_about(
        self, kind: ChosenSettings, iterations: int | None, folds: list[Fold]
    ) -> Wrongness:
        growth = self.growth
        if growth is not None:
            growth = replace(growth, start_depth=kind.depth)
        each = [fold.wrong_about(kind, growth, iterations) for fold in folds]
        weights = [fold.test.weights for fold in folds]
        wrong = Wrongness(np.concatenate(each), np.concatenate(weights))
        line = f"{name_of(kind)}: wrong by {wrong.mean:.4f} held out"
        self.progress.say_when_due(line, last=False)
        return wrong

    @cached_property
    def folds(self) -> list[Fold]:
        """Folds of samples to learn from and to test on, one or several."""
        seed, points, rest = self.given.seed, self.points, None
        if len(points) > (most := self._most):
            order = np.random.default_rng(seed).permutation(len(points))
            if points.groups is None:  # others could be of the groups to learn from
                rest = points.take(np.sort(order[most : (1 + TESTED) * most]))
            points = points.take(np.sort(order[:most]))
        number = PARTS if len(points) < FEW and self.held_out is None else 1
        return [self.fold(points, seed + i, rest) for i in range(number)]

    def fold(self, points: Points, seed: int, rest: Points | None = None) -> Fold:
        """A fold with samples to learn from, and held-out ones joined with further ones.

        Args:
            points: samples to learn from, some of which are held out.
            seed: seed of the choice of these.
            rest: further samples to test on.
        """
        if self.held_out is not None:
            return Fold(points, self.held_out, self.tempers)
        y = points.y if len(np.unique(points.y)) < len(points) else None  # all of other classes
        learn, test = hold_out(len(points), HELD_OUT, seed, y, groups=points.groups)
        held_out = points.take(test)
        held_out = held_out if rest is None else held_out.joined(rest)
        return Fold(points.take(learn), held_out, self.tempers)

    @cached_property
    def length(self) -> int | None:
        """The number of iterations of a deciding trial; None for all.

        With few samples in each class, the start of a training says little about its end.
        """
        return None if self._whole(self._most) else ITERATIONS

    @cached_property
    def tempers(self) -> bool:
        """True if a tree gets a temperature, which takes a training to the end."""
        return self.cheap or self.length is None

    @property
    def uses_all(self) -> bool:
        """True if no sample is left out of the choice."""
        return self._most == len(self.points)

    @property
    def unit(self) -> float:
        """The mean weight of a sample, the unit of penalties, as weights may have any sum."""
        return float(self.points.weights.mean())

    @cached_property
    def cheap(self) -> bool:
        """True if all kinds may be tried."""
        return self.points.products <= CHEAP

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
