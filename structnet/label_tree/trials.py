"""Tries candidates: trains on some of the examples, and scores the held-out others."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from structnet.label_tree.examples import Examples
from structnet.label_tree.settings import LabelTreeSettings
from structnet.label_tree.training import CollapseError, Training, begin
from structnet.label_tree.tree import LabelTree
from structnet.training.progress import Progress

PART = 5  # a trial with a target is first scored after a fifth of its training
FAR = 0.6  # share of the target below which it is then given up


class Tried(NamedTuple):
    """A candidate and its results on held-out examples.

    Attributes:
        score: accuracy, plus a thousandth of the mean log-probability of the right labels.
        wrong: True for each example that it gets wrong.
        settings: its settings.

    Shapes:
        wrong ``[n]``.
    """

    score: float
    wrong: np.ndarray
    settings: LabelTreeSettings


@dataclass
class Trials:
    """Trials on the same examples, which are compared on the same held-out examples.

    Args:
        learn, held: examples to learn from, and held-out ones.
        num_classes: number of labels.
        progress: progress that reports the trials.
        tried: candidates that were tried.
    """

    learn: Examples
    held: Examples
    num_classes: int
    progress: Progress
    tried: list[Tried] = field(default_factory=list)
    _begun: dict[LabelTreeSettings, LabelTree] = field(default_factory=dict)

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
        tree, total = self._beginning(settings), len(self.learn) * (settings.epochs or 0)
        training = Training(tree, settings)
        try:
            if target > -np.inf:
                training.run(self.learn, until=max(total // PART, 1))
            if target == -np.inf or self._score_of(tree)[0] >= FAR * target:
                training.run(self.learn)
            score, wrong = self._score_of(tree)
        except CollapseError:
            score, wrong = -np.inf, np.ones(len(self.held), bool)
        kind = (
            f"a {settings.tree} tree of arity {settings.arity}, rate {settings.learning_rate:.3g}"
        )
        kind += ", from naive Bayes" if settings.start == "naive_bayes" else ""
        self.progress.say_when_due(f"tried {kind}: score {score:.3f} held out", last=False)
        self.tried.append(Tried(score, wrong, settings))
        return self.tried[-1]

    def _beginning(self, settings: LabelTreeSettings) -> LabelTree:
        """The tree before the first step, the same for all rates and numbers of passes."""
        alike = replace(settings, learning_rate=None, epochs=None)
        if alike not in self._begun:
            self._begun[alike] = begin(self.learn, self.num_classes, settings)
        return deepcopy(self._begun[alike])

    def _score_of(self, tree: LabelTree) -> tuple[float, np.ndarray]:
        """The score, and True for each held-out example that is wrong."""
        held, weights = self.held, self.weights
        wrong = tree.top_k(held.features)[1][:, 0] != held.labels
        log_p = np.maximum(tree.log_prob_of(held.features, held.labels), -50)
        certainty = np.average(log_p, weights=weights)
        return float(np.average(~wrong, weights=weights) + 1e-3 * certainty), wrong
