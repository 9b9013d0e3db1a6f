"""Chooses the penalties of the leaves: stronger ones, a quadratic one, or weaker ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from structnet.softmax_tree.fold import BETTER, Wrongness, least_wrong
from structnet.softmax_tree.settings import ChosenSettings

# Factors of the L1 penalty; the second group is tried if nothing of the first one helps.
STRONGER, WEAKER = ((10, 100), (3,)), (0.1, 0.01)
RIDGES, BESIDE = (1, 3, 10, 30, 100), 0.01  # quadratic penalties, and the L1 penalty beside them
ENOUGH = 1e-3  # wrongness of held-out samples up to which nothing is left to gain

Kind = ChosenSettings


@dataclass(frozen=True)
class Penalties:
    """The search for penalties.

    Args:
        unit: mean weight of a sample, the unit of penalties, with one of which a search begins.
        measure: wrongness of a kind on held-out samples.
        hopeless: True for a kind that is far behind another one, and not worth a trial.
        sure: standard errors by which the weakest penalty must be better than a stronger one.
    """

    unit: float
    measure: Callable[[Kind], Wrongness]
    hopeless: Callable[[Kind, Kind], bool]
    sure: float

    def best_of(self, kind: Kind) -> Kind:
        """The kind with the best penalties for its leaves."""
        found = kind
        for penalties in STRONGER:
            if found is kind:
                found = self._stronger(kind, penalties)
        found = self._ridged(found)
        return self._weaker(kind) if found is kind else found

    def _stronger(self, begun: Kind, penalties: Iterable[float]) -> Kind:
        """The strongest, which is simplest, up to the first that is worse beyond chance."""
        found, least = begun, self.measure(begun)
        for penalty in penalties:
            kind = replace(begun, leaf_penalty=penalty * self.unit)
            if self.hopeless(kind, begun) or (wrong := self.measure(kind)).exceeds(least):
                break
            # The lowest, so that each is not a little worse than the last.
            found, least = kind, least_wrong((least, wrong))
        return found

    def _ridged(self, begun: Kind) -> Kind:
        """The best ridge, up to the first that is worse than a weaker one, if any is better.

        A weak one may be worse than the L1 penalty that it replaces, and a strong one better.
        """
        found, least, last = begun, self.measure(begun), math.inf
        for ridge in RIDGES:
            if least.mean <= ENOUGH:
                break
            weight, beside = ridge * self.unit, BESIDE * self.unit
            kind = replace(begun, leaf_penalty=beside, leaf_ridge=weight)
            wrong = self.measure(kind)
            if wrong.mean > last:
                break
            last = wrong.mean
            if least.exceeds(wrong, BETTER):
                found, least = kind, wrong
        return found

    def _weaker(self, begun: Kind) -> Kind:
        """The weakest, up to the first that is not better beyond chance."""
        found, least = begun, self.measure(begun)
        for penalty, by in zip(WEAKER, (BETTER, self.sure), strict=True):
            if least.mean <= ENOUGH:
                break
            wrong = self.measure(kind := replace(begun, leaf_penalty=penalty * self.unit))
            if not least.exceeds(wrong, by):
                break
            found, least = kind, wrong
        return found
