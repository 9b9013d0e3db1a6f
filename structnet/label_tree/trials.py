"""Tries candidates: trains on some of the examples, and scores the held-out others."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from structnet.estimators.few_rows import Solve, solved
from structnet.label_tree.beginning import begin
from structnet.label_tree.cooling import temperature_for
from structnet.label_tree.examples import Examples
from structnet.label_tree.naive_bayes import averaged
from structnet.label_tree.parted import PartedTree
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.training import CollapseError, Training
from structnet.label_tree.tree import LabelTree
from structnet.training.gains import is_better
from structnet.training.progress import Progress

PART = 5  # a trial with a target is first scored after a fifth of its training
LOWER = 0.3  # factor of a rate, where the lowest of some is the best
MOST = 5  # lower rates that are tried of one tree
NEAR = 0.9  # share of the target score, below which no other rate of a tree is tried
FAR = 0.6  # share of the target below which it is then given up
CERTAIN = 0.1  # accuracy for which a nat of the mean log-probability counts
SURE = 1.0  # standard errors by which a lower rate makes fewer mistakes
BETTER = 0.5  # standard errors by which a candidate is less often wrong than another


class Tried(NamedTuple):
    """A candidate and its results on held-out examples.

    Attributes:
        settings: its settings, with the temperature that suits the held-out examples.
        wrong: True for each example that it gets wrong.
        score: accuracy, plus a thousandth of the mean log-probability of the right labels.
        log_prob: mean log-probability of the right labels, at least -50.
        losses: negative log-probability of each right label, at most 50.

    Shapes:
        wrong, losses ``[n]``.
    """

    settings: LabelTreeSettings
    wrong: np.ndarray
    score: float = -np.inf
    log_prob: float = -np.inf
    losses: np.ndarray = np.zeros(0)

    @property
    def merit(self) -> float:
        """The score, with more regard to certainty: few examples tell little of accuracies."""
        return self.score + CERTAIN * self.log_prob


@dataclass
class Trials:
    """Trials on the same examples, which are compared on the same held-out examples.

    Args:
        learn, held: examples to learn from, and held-out ones.
        num_classes: number of labels.
        progress: progress that reports the trials.
        tried: candidates that were tried.
        part_classes: class of each label to learn, ascending, if these are parts of the labels of
            held-out examples; None if they are the same.
        solve: function that solves a single node.
        temperature: temperature that is given; None for the best of each candidate.

    Shapes:
        part_classes ``[num_classes]``.
    """

    learn: Examples
    held: Examples
    num_classes: int
    progress: Progress
    tried: list[Tried] = field(default_factory=list)
    part_classes: np.ndarray | None = None
    solve: Solve = solved
    temperature: float | None = None
    _begun: dict[LabelTreeSettings, LabelTree] = field(default_factory=dict)
    # The best trees on sparse rows without vectors: by kind, arity, and whether by naive Bayes.
    _kept: dict[tuple[Any, Any, bool], tuple[Tried, LabelTree]] = field(default_factory=dict)

    @property
    def weights(self) -> np.ndarray | None:
        """The weight of each held-out example; None if all count the same. ``[n]``."""
        return self.held.shares if len(self.held.shares) else None

    def run(self, settings: LabelTreeSettings, target: float = -np.inf) -> Tried:
        """Trains with some settings, and records the result; -inf if training collapses.

        Args:
            settings: settings to try.
            target: score to reach; training that is far below it after a fifth is given up.
        """
        return self._noted(*self._trial(settings, target))

    def run_if_better(
        self, settings: LabelTreeSettings, than: Tried, errors: float, target: float = -np.inf
    ) -> Tried | None:
        """Like :meth:`run`, but what does not make fewer mistakes is not recorded: None.

        Args:
            settings: settings to try.
            than: candidate to compare with.
            errors: standard errors by which fewer mistakes are made.
            target: score to reach.
        """
        tried, tree = self._trial(settings, target)
        better = is_better(than.wrong, tried.wrong, errors, self.weights)
        return self._noted(tried, tree) if better else None

    def _trial(
        self, settings: LabelTreeSettings, target: float = -np.inf
    ) -> tuple[Tried, LabelTree]:
        """A candidate, with its tree, that is not recorded yet."""
        tree, total = self._beginning(settings), len(self.learn) * (settings.epochs or 0)
        training = Training(tree, replace(settings, temperature=None))
        try:
            if target > -np.inf:
                training.run(self.learn, until=max(total // PART, 1))
            if target == -np.inf or self._measured(tree, settings).score >= FAR * target:
                training.run(self.learn)
            tried = self._measured(tree, settings)
        except CollapseError:
            tried = Tried(settings, np.ones(len(self.held), bool))
        return self._told(tried), tree

    def _noted(self, tried: Tried, tree: LabelTree) -> Tried:
        """Records a candidate, and returns it."""
        self.tried.append(tried)
        settings = tried.settings
        if not (settings.vector_size or self.learn.features.is_table):
            place = settings.tree, settings.arity, settings.start == "naive_bayes"
            before = self._kept[place][0].merit if place in self._kept else -np.inf
            if tried.merit > before:
                self._kept[place] = tried, tree
        return tried

    def best_rate(
        self, one: LabelTreeSettings, rates: Sequence[float], target: float = -np.inf
    ) -> Tried:
        """The best of some rates; stops early if the first is far below a target.

        If all are tried and the last, the lowest, is the best, lower and lower ones are tried while
        that makes fewer mistakes by more than chance: from noisy examples, steps that suit the size
        of the features learn the noise.

        Args:
            one: settings of the tree.
            rates: rates, of which a third one is in the other direction than the second.
            target: score to reach.
        """
        tries: list[Tried] = []
        for rate in rates:
            tries.append(self.run(replace(one, learning_rate=rate), target))
            if len(tries) == 2 and tries[1].merit > tries[0].merit:
                break
            if tries[0].score < NEAR * target:
                break
        best, lower = self.best_of(tries), rates[-1]
        if not (2 < len(rates) == len(tries)) or best is not tries[-1]:
            return best
        for _ in range(MOST):
            lower *= LOWER
            better = self.run_if_better(replace(one, learning_rate=lower), best, SURE, target)
            if better is None:
                break
            best = better
        return best

    def or_half(self, best: Tried) -> Tried:
        """The best candidate, or the mean of naive Bayes and of a trained tree of the same shape.

        If one of these two is the best, the mean of both is taken where it is surer of what is
        right, and not more often wrong, but by chance.

        Args:
            best: best of the candidates that were tried.
        """
        shape = best.settings.tree, best.settings.arity
        pair = [self._kept.get((*shape, start)) for start in (True, False)]
        own = any(each and each[0].settings == best.settings for each in pair)
        if not own or pair[0] is None or pair[1] is None or pair[0][0].settings.epochs:
            return best
        half = averaged(pair[0][1], pair[1][1], self.learn.features)
        settings = replace(pair[1][0].settings, start="naive_bayes", temperature=self.temperature)
        tried = self._told(self._measured(half, settings))
        as_right = not is_better(tried.wrong, best.wrong, BETTER, self.weights)
        return tried if tried.log_prob > best.log_prob and as_right else best

    def best_of(self, tries: Sequence[Tried]) -> Tried:
        """The one with most merit among :meth:`about_as_right`."""
        return max(self.about_as_right(tries), key=attrgetter("merit"))

    def about_as_right(self, tries: Sequence[Tried]) -> list[Tried]:
        """The best candidates by their scores, which differ by no more than chance."""
        score = max(each.score for each in tries)
        chance = (2 * max(score * (1 - score), 0) / self.held.effective) ** 0.5
        return [each for each in tries if each.score >= score - chance]

    def _told(self, tried: Tried) -> Tried:
        """Reports a candidate, and returns it."""
        settings = tried.settings
        kind = (
            f"a {settings.tree} tree of arity {settings.arity}, rate {settings.learning_rate:.3g}"
        )
        if settings.start == "naive_bayes":
            kind += ", half naive Bayes" if settings.epochs else ", naive Bayes"
        if settings.temperature not in (None, 1):
            kind += f", temperature {settings.temperature:.3g}"
        self.progress.say_when_due(f"tried {kind}: score {tried.score:.3f} held out", last=False)
        return tried

    def _beginning(self, settings: LabelTreeSettings) -> LabelTree:
        """The tree before the first step, the same for all rates and numbers of passes.

        Only naive Bayes begins otherwise if no passes follow.
        """
        epochs = settings.epochs if settings.start == "naive_bayes" else None
        alike = replace(settings, learning_rate=None, epochs=epochs, temperature=None)
        if alike not in self._begun:
            self._begun[alike] = begin(self.learn, self.num_classes, settings, solve=self.solve)
        return deepcopy(self._begun[alike])

    def _measured(self, tree: LabelTree, settings: LabelTreeSettings) -> Tried:
        """A candidate with its results on the held-out examples, and the temperature for them.

        The results are those before it, as among candidates that are about as often right the one
        that is not too sure is preferred.
        """
        x, labels = self.held.features, self.held.labels
        if self.part_classes is None:
            found = settings.temperature or temperature_for(tree, self.held)
            settings = replace(settings, temperature=found)
            return self.measured(settings, tree.top_k(x)[1][:, 0], tree.log_prob_of(x, labels))
        log_prob = PartedTree(tree, self.part_classes).log_prob_of_all(x)
        return self.measured(settings, log_prob.argmax(1), log_prob[np.arange(len(x)), labels])

    def measured(
        self, settings: LabelTreeSettings, predicted: np.ndarray, log_p: np.ndarray
    ) -> Tried:
        """A candidate by its predictions, and by the log-probabilities of the right labels.

        Shapes:
            predicted, log_p ``[held-out examples]``.
        """
        wrong, log_p = predicted != self.held.labels, np.maximum(log_p, -50)
        right, log_prob = (
            float(np.average(each, weights=self.weights)) for each in (~wrong, log_p)
        )
        return Tried(settings, wrong, right + 1e-3 * log_prob, log_prob, -log_p)
