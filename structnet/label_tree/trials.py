"""Candidates tried: trained on some of the examples, and asked for others."""

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

PART = 5  # part of a training, one of so many, after which it is looked at
FAR = 0.6  # of the score to come up to: who has less by then is left


class Tried(NamedTuple):
    """A candidate and how many it gets right.

    Attributes:
        score: share of the examples held out that it gets right, and a little for its certainty.
        right: weight of each of them that it gets right; 0 of the others.
        settings: settings of it.
    """

    score: float
    right: np.ndarray
    settings: LabelTreeSettings

    def beats(self, other: Tried, errors: float) -> bool:
        """Is it right where the other is not by so many standard errors more than the reverse?"""
        gains = self.right.astype(float) - other.right
        return bool(gains.sum() > errors * np.sqrt(np.square(gains).sum()))


@dataclass
class Trials:
    """Trainings on the same examples, of which others are held out.

    Args:
        learn, held: examples to learn from, and to be asked for.
        num_classes: number of labels.
        progress: place to say what is tried.
        found: candidates that were tried.
    """

    learn: Examples
    held: Examples
    num_classes: int
    progress: Progress
    found: list[Tried] = field(default_factory=list)
    _begun: dict[LabelTreeSettings, LabelTree] = field(default_factory=dict)

    def run(self, settings: LabelTreeSettings, target: float = -np.inf) -> Tried:
        """Trains by settings, and notes the score.

        Args:
            target: score to come up to; a training that is far below after a part is left.
        """
        tree, total = self._beginning(settings), len(self.learn) * (settings.epochs or 0)
        training = Training(tree, settings)
        try:
            if target > -np.inf:
                training.run(self.learn, until=max(total // PART, 1))
            if target == -np.inf or self._asked(tree)[0] >= FAR * target:
                training.run(self.learn)
            score, right = self._asked(tree)
        except CollapseError:
            score, right = -np.inf, np.zeros(len(self.held))
        kind = (
            f"a {settings.tree} tree of arity {settings.arity}, rate {settings.learning_rate:.3g}"
        )
        self.progress.say_when_due(f"tried {kind}: score {score:.3f} held out", last=False)
        self.found.append(Tried(score, right, settings))
        return self.found[-1]

    def _beginning(self, settings: LabelTreeSettings) -> LabelTree:
        """The tree before the first step, whatever the rate and the number of passes."""
        alike = replace(settings, learning_rate=None, epochs=None)
        if alike not in self._begun:
            self._begun[alike] = begin(self.learn, self.num_classes, settings)
        return deepcopy(self._begun[alike])

    def _asked(self, tree: LabelTree) -> tuple[float, np.ndarray]:
        """The score, and the weight of each of the examples held out that is right."""
        held = self.held
        weights = held.shares if len(held.shares) else np.ones(len(held))
        right = tree.top_k(held.features)[1][:, 0] == held.labels
        log_p = np.maximum(tree.score(held.features, held.labels), -50)
        certainty = np.average(log_p, weights=weights)
        return float(np.average(right, weights=weights) + 1e-3 * certainty), right * weights
