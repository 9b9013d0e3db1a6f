"""What a candidate gains on the validation samples, as which its training is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from structnet.neural_tree.growth.candidate import AtLeaf, Candidate, Split
from structnet.neural_tree.growth.decision import Gain, surely_better, takes_place
from structnet.neural_tree.growth.measures import decrease, of_each
from structnet.neural_tree.growth.merging import SPARED, merged
from structnet.neural_tree.growth.parts import Part
from structnet.neural_tree.settings import NeuralTreeSettings
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples


@dataclass(frozen=True)
class Judge:
    """Judges the candidates for the leaves of a tree.

    Args:
        tree: tree in its present state.
        train, validation: samples.
        settings: settings; ``prune``, ``min_gain`` and ``gain_errors`` are used.
    """

    tree: NeuralTree
    train: Samples
    validation: Samples
    settings: NeuralTreeSettings

    def before(self) -> np.ndarray:
        """The losses of the validation samples in the present tree. ``[n]``."""
        return self._each(self.tree.losses, self.validation)

    def judged(
        self, loss: float, before: np.ndarray, candidate: Candidate, train: Any, validation: Any
    ) -> tuple[Gain, Candidate]:
        """The gain of a candidate, and the candidate; a split without leaves that it does not need.

        Args:
            loss: validation loss with the candidate.
            before: result of :meth:`before`.
            candidate: trained candidate.
            train, validation: samples, or these as they arrive at the leaf.

        Shapes:
            before ``[n]``.
        """
        share = 1.0
        if isinstance(candidate, Split):
            smaller, share = self._smaller(candidate, train)
            if smaller is not candidate:
                losses, candidate = self._each(smaller.losses, validation), smaller
                loss = float(np.average(losses, weights=self.validation.counts()))
        after = self._each(candidate.losses, validation)
        found, leaves = self._decrease(before, after), len(candidate.solvers)
        return Gain(loss, *found, share, candidate.steps, after, leaves), candidate

    def _smaller(self, split: Split, train: Any) -> tuple[Split, float]:
        """The split without rare leaves, then without the cuts that gain hardly anything.

        Also the share of the training samples that reaches the rarest new leaf.
        """
        shares = self._shares(split, train)
        pruned = split.pruned(shares, self.settings.prune or 0.0)
        if pruned is not split:
            return self._smaller(pruned, train)
        if len(split.solvers) > 2:
            least = SPARED * self.settings.min_gain
            split = merged(split, self.train, self.validation, least)[0]
            shares = self._shares(split, train)
        return split, float(shares.min())

    def _shares(self, split: Split, train: Any) -> np.ndarray:
        """The share of the training samples that reaches each new leaf, ``[new leaves]``."""
        return np.average(self._each(split.shares, train), axis=0, weights=self.train.counts())

    def part(self, gains: Mapping[str, Gain]) -> Part:
        """What candidates, which have been judged, gain on the validation samples."""
        held = self.validation
        return Part(gains, self.before(), held.counts(), held.group_numbers())

    def takes_place(self, gain: Gain, best: Gain) -> bool:
        """Does a candidate take the place of the best one? See :func:`.decision.takes_place`."""
        return takes_place(gain, best, self.settings, self._decrease)

    def is_surely_better(self, gain: Gain, best: Gain) -> bool:
        """Is a candidate surely better than another? See :func:`.decision.surely_better`."""
        return surely_better(gain, best, self.settings, self._decrease)

    def _decrease(self, before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
        held = self.validation
        return decrease(before, after, held.counts(), self.tree.likelihood, held.group_numbers())

    def _each(self, answer: Callable[[Any], Tensor], samples: Samples | AtLeaf) -> np.ndarray:
        return of_each(answer, self.tree, samples)
