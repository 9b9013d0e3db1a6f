"""How a kind of softmax tree does on samples that it has not learnt from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.optimisation import alternate
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenSettings, GrowthSettings
from structnet.softmax_tree.start import first_draft
from structnet.softmax_tree.wrongness import wrong_about

STEPS, SETTLED = 15, 1e-2  # of the solver in a short training, and where that ends
BETTER = 0.5  # deviations of chance by which one kind is better than a simpler one


@dataclass(frozen=True)
class Fold:
    """Samples to learn from and to test by, and what is known of them.

    Attributes:
        begun: the tree of each kind after one iteration.
        wrong: figures of :func:`.wrong_about` of each kind after so many, one a held-out sample.
    """

    learn: Points
    test: Points
    begun: dict[ChosenSettings, Draft] = field(default_factory=dict)
    wrong: dict[tuple, np.ndarray] = field(default_factory=dict)

    def wrong_about(
        self, kind: ChosenSettings, growth: GrowthSettings | None, iterations: int | None
    ) -> np.ndarray:
        """How wrong a kind is about each of the held-out samples. ``[tested]``.

        Args:
            iterations: length of the training; None is that of the end, where a tree that grows
                stays as it begins.
        """
        asked = kind, iterations
        if asked not in self.wrong:
            draft = self._learnt(kind, growth, iterations)
            objective = Objective.of_leaves(kind, self.learn.num_classes)
            self.wrong[asked] = wrong_about(draft, self.learn, self.test, objective)
        return self.wrong[asked]

    def fewer(self, number: int, seed: int) -> Fold:
        """The same with so many samples to learn from."""
        rows = np.random.default_rng(seed).permutation(len(self.learn))[:number]
        return Fold(self.learn.take(np.sort(rows)), self.test)

    def _learnt(
        self, kind: ChosenSettings, growth: GrowthSettings | None, iterations: int | None
    ) -> Draft:
        """The tree of a kind after some iterations, in haste, or as it is in the end."""
        if iterations is None:
            draft = first_draft(self.learn, kind, growth)
            return self._trained(draft, kind, kind.max_iter, quick=False)
        if kind not in self.begun:
            self.begun[kind] = self._trained(first_draft(self.learn, kind, growth), kind, 1)
        return self._trained(self.begun[kind], kind, min(iterations, kind.max_iter) - 1)

    def _trained(
        self, draft: Draft, kind: ChosenSettings, iterations: int, quick: bool = True
    ) -> Draft:
        tol = kind.tol
        if quick:
            kind, tol = replace(kind, solver_steps=min(STEPS, kind.solver_steps)), SETTLED
        objective = Objective.told(kind, self.learn.num_classes)
        return alternate(draft, self.learn, objective, min(iterations, kind.max_iter), tol)


def exceeds(wrong: np.ndarray, other: np.ndarray, by: float = BETTER) -> bool:
    """Is one more wrong than another about the same samples, and not by chance?

    Two kinds err on the same samples: what differs is what counts, in squares.

    Shapes:
        wrong, other ``[tested]``.
    """
    difference = np.subtract(wrong, other, dtype=np.float64)
    noise = (difference**2).mean() ** 0.5 / len(wrong) ** 0.5
    return bool(difference.mean() > by * noise)


def lowest(wrong: Mapping[ChosenSettings, np.ndarray]) -> ChosenSettings:
    """The first of those whose error is, by chance, the lowest.

    Shapes:
        each of wrong ``[tested]``.
    """
    best = min(wrong.values(), key=np.mean)
    return next(kind for kind, each in wrong.items() if not exceeds(each, best))
