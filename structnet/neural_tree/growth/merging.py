"""Leaves of a new split that need not be told apart become one leaf again.

A split of many leaves has cuts that only make others possible, or that follow noise. Below these,
one leaf whose solver is the mean of two predicts as well as both. The tree is smaller without such
cuts, easier to read, and has fewer leaves to decide on.

Reference:
    Quinlan, "Simplifying Decision Trees", International Journal of Man-Machine Studies, 1987, whose
    reduced error pruning does the like to trees of constants.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from structnet.neural_tree.growth.candidate import Split
from structnet.neural_tree.growth.measures import of_each
from structnet.routing.samples import Samples

SPARED = 0.3  # of the gain that a decision requires: what all cuts that go may cost together


def merged(
    split: Split,
    train: Samples,
    validation: Samples,
    least: float,
) -> tuple[Split, float]:
    """A split without the cuts that together gain hardly anything.

    From the bottom up, each cut between two leaves is left out if the validation loss is then still
    within ``least`` of that of the whole split. The first cut stays.

    Args:
        split: trained split, whose solvers are linear.
        train: samples whose shares weigh the solvers in a mean.
        validation: samples by which it is judged.
        least: gain that all cuts that are left out may have together.

    Returns:
        The split, itself if all of its cuts are needed, and its validation loss.
    """

    def loss(each: Split) -> float:
        losses = of_each(each.losses, each.tree, validation)
        return float(np.average(losses, weights=validation.counts()))

    topology, found, lost = split.topology, split, loss(split)
    most = lost + least
    at = np.zeros(topology.num_nodes)
    reached = of_each(split.shares, split.tree, train)
    at[topology.leaves] = np.average(reached, axis=0, weights=train.counts())
    at = topology.sums_below(at)
    ends = {v: split.parts[v] for v in topology.leaves.tolist()}
    for v in np.flatnonzero(topology.inner)[:0:-1].tolist():  # children have higher numbers
        left, right = topology.children_of(v)
        if left not in ends or right not in ends:
            continue
        one = _mean(ends[left], ends[right], at[right] / max(at[v], 1e-12))
        smaller = split.ending(ends | {v: one})
        if (now := loss(smaller)) <= most:
            ends[v], found, lost = one, smaller, now
    return found, lost


@torch.no_grad()
def _mean(left: nn.Module, right: nn.Module, share: float) -> nn.Module:
    """A solver between two: the share of the right one is given."""
    found = copy.deepcopy(left)
    for own, other in zip(found.parameters(), right.parameters(), strict=True):
        own.lerp_(other, share)
    return found
