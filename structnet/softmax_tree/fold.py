"""Measures kinds of softmax trees on held-out samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

import numpy as np

from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.optimisation import alternate
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenSettings, GrowthSettings
from structnet.softmax_tree.solved_leaf import half_solved
from structnet.softmax_tree.start import first_draft
from structnet.softmax_tree.wrongness import log_probs, wrong_about
from structnet.training.gains import is_better

STEPS, SETTLED = 15, 1e-2  # steps of the solver and tolerance in a short training
BETTER = 0.5  # standard errors by which one kind must be better than a simpler one


def name_of(kind: ChosenSettings) -> str:
    """A short description of a trial."""
    if not kind.max_iter:
        return "tried a solved leaf" if kind.solved else "tried a decision tree"
    half = ", half solved" if kind.solved else ""
    ridge = f", ridge {kind.leaf_ridge:g}" if kind.leaf_ridge else ""
    return f"tried depth {kind.depth} from {kind.start}, penalty {kind.leaf_penalty:g}{ridge}{half}"


@dataclass(frozen=True)
class Fold:
    """Samples to learn from and to test on, with results so far.

    Attributes:
        learn: samples to learn from.
        test: samples to test on.
        tempered: True if trees get a temperature at the end, so that each is tested at its own.
        begun: tree of each kind after one iteration.
        wrong: result of :func:`.wrong_about` by kind and number of iterations.
        drafts: trees that may be asked for again, likewise: the best single leaf and the best other
            tree that were trained for more than an iteration, and those that are half solved.
    """

    learn: Points
    test: Points
    tempered: bool = False
    begun: dict[ChosenSettings, Draft] = field(default_factory=dict)
    wrong: dict[tuple, np.ndarray] = field(default_factory=dict)
    drafts: dict[tuple, Draft] = field(default_factory=dict)

    def wrong_about(
        self, kind: ChosenSettings, growth: GrowthSettings | None, iterations: int | None
    ) -> np.ndarray:
        """The wrongness of a kind on each held-out sample. ``[tested]``.

        Args:
            kind: settings of the tree.
            growth: settings of growth, which give its initial size; it does not grow here.
            iterations: number of iterations; None trains to the end.
        """
        key = kind, iterations
        if key not in self.wrong:
            draft = self._learnt(kind, growth, iterations)
            objective = Objective.of_leaves(kind, self.learn.num_classes)
            tempered = self.tempered and not kind.is_solved
            self.wrong[key] = wrong_about(draft, self.learn, self.test, objective, tempered)
            if iterations != 1 and not kind.solved:
                self._keep(key, draft)
        return self.wrong[key]

    def log_probs(self, kind: ChosenSettings) -> np.ndarray:
        """The log-probabilities of the held-out samples within the leaves of a fully trained tree.

        Args:
            kind: settings of the tree, which does not grow.

        Shapes:
            -> ``[tested, K]``, -inf for classes that a leaf lacks.
        """
        objective = Objective.of_leaves(kind, self.learn.num_classes)
        draft = self._learnt(kind, None, None)
        return log_probs(draft, self.learn, self.test, objective, inside=True)

    def fewer(self, number: int, seed: int) -> Fold:
        """The fold with only this number of samples to learn from."""
        rows = np.random.default_rng(seed).permutation(len(self.learn))[:number]
        return Fold(self.learn.take(np.sort(rows)), self.test, self.tempered)

    def _learnt(
        self, kind: ChosenSettings, growth: GrowthSettings | None, iterations: int | None
    ) -> Draft:
        """The tree of a kind after a number of short iterations, or trained to the end."""
        if (key := (kind, iterations)) in self.drafts:
            return self.drafts[key]
        if kind.solved and not kind.is_solved:
            draft = self._learnt(replace(kind, solved=()), growth, iterations)
            self.drafts[key] = half_solved(draft, self.learn, kind)
            return self.drafts[key]
        if iterations is None:
            draft = first_draft(self.learn, kind, growth)
            return self._trained(draft, kind, kind.max_iter, quick=False)
        if kind not in self.begun:
            self.begun[kind] = self._trained(first_draft(self.learn, kind, growth), kind, 1)
        return self._trained(self.begun[kind], kind, min(iterations, kind.max_iter) - 1)

    def _keep(self, key: tuple[ChosenSettings, int | None], draft: Draft) -> None:
        """Keeps a trained tree in place of the one before, unless that is less wrong."""
        kept = (old for old in self.drafts if not old[0].solved)
        before = next((old for old in kept if bool(old[0].depth) == bool(key[0].depth)), key)
        if self.wrong[key].mean() <= self.wrong[before].mean():
            self.drafts.pop(before, None)
            self.drafts[key] = draft

    def _trained(
        self, draft: Draft, kind: ChosenSettings, iterations: int, quick: bool = True
    ) -> Draft:
        tol = kind.tol
        if quick:
            kind, tol = replace(kind, solver_steps=min(STEPS, kind.solver_steps)), SETTLED
        objective = Objective.from_settings(kind, self.learn.num_classes)
        return alternate(draft, self.learn, objective, min(iterations, kind.max_iter), tol)


@dataclass(frozen=True, eq=False)
class Wrongness:
    """How wrong a kind is about held-out samples, by their weights.

    Attributes:
        each: result of :func:`.wrong_about`.
        weights: number of times that each sample counts.

    Shapes:
        both ``[tested]``.
    """

    each: np.ndarray
    weights: np.ndarray

    @cached_property
    def mean(self) -> float:
        """The mean over the samples."""
        return float(np.average(self.each, weights=self.weights))

    def exceeds(self, other: Wrongness, errors: float = BETTER) -> bool:
        """True if the other is less wrong about the same samples, beyond chance.

        Args:
            other: wrongness of the other kind.
            errors: number of standard errors of the differences.
        """
        return is_better(self.each, other.each, errors, self.weights)


def least_wrong(found: Iterable[Wrongness]) -> Wrongness:
    """The first with the lowest mean."""
    return min(found, key=attrgetter("mean"))


def lowest(found: Mapping[ChosenSettings, Wrongness]) -> ChosenSettings:
    """The first kind whose wrongness exceeds the lowest one only by chance.

    Args:
        found: wrongness of each kind; simpler kinds come first.
    """
    best = least_wrong(found.values())
    return next(kind for kind, each in found.items() if not each.exceeds(best))
