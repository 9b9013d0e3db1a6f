"""A lighter penalty for what grows, where that of the linear root says little of it.

How strong a penalty is best depends on the noise and the weights. A line that explains little takes
the rest for noise, and has small weights. A layer of units may explain the rest, by weights that
such a penalty holds near 0; or there is nothing to explain. Held-out samples tell: the root's first
deepening is trained with lighter and lighter penalties, as long as each is better beyond chance.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Protocol

from structnet.neural_tree.growth.candidate import Candidate, Deepening
from structnet.neural_tree.growth.visit import Tried, Visit
from structnet.neural_tree.linear import FALL

MOST = 4  # lighter strengths that are tried


class Penalised(Protocol):
    """What has a penalty, such as a :class:`.growth.Growth`."""

    strength: float | None


def best_of_lighter(
    growth: Penalised, visit: Visit, proposals: Mapping[str, Sequence[Candidate]]
) -> dict[str, Tried]:
    """As :meth:`.Visit.best`, with the strength that is best for the first deepening.

    Args:
        growth: growth, whose strength is set to the best.
        visit: visit of the root, which trains with the growth's strength.
        proposals: candidates of each kind.
    """
    deepenings = proposals.get("deepen")
    if not deepenings or deepenings[0].steps or growth.strength is None:
        return visit.best(proposals)
    layer, *others = deepenings
    best, found = growth.strength, _trained(visit, layer)
    for _ in range(MOST):
        growth.strength = best * FALL
        lighter = _trained(visit, layer)
        if not visit.judge.is_surely_better(lighter[0], found[0]):
            break
        best, found = growth.strength, lighter
    growth.strength = best
    return visit.best({**proposals, "deepen": others}, {"deepen": found})


def _trained(visit: Visit, layer: Candidate) -> Tried:
    """A trained copy of a deepening, so that each strength has the same start."""
    parts = copy.deepcopy([*layer.parts])
    return visit.tried(Deepening(layer.tree, layer.leaf, parts), "deepen")
