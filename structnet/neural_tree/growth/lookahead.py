"""Splits that look ahead: they start with all the regions that the samples at a leaf fall into.

A split that starts at random sees no further than itself. On a checkerboard, no single split
explains more than its noise, though eight regions together explain everything. So all the splits
that make such regions are trained and judged as one. Residuals that follow lines have wide regions
with soft borders, those that follow thresholds many small ones with hard borders: where these
explain more, a split of each kind is trained. Where a sum of thresholds explains more than both, a
deepening is trained that starts as this sum; where regions among the steps of codes do, a deepening
and a split as one. Where classes are steps of one number, a split of small regions and the sum
explain this number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from structnet.neural_tree.growth.candidate import AtLeaf, Split
from structnet.neural_tree.growth.codes import Codes, find_codes
from structnet.neural_tree.growth.criterion import Criterion
from structnet.neural_tree.growth.directions import telling
from structnet.neural_tree.growth.regions import Cut, Regions, find_regions
from structnet.neural_tree.growth.router_start import SPREAD
from structnet.neural_tree.growth.steps import HARD, find_steps
from structnet.neural_tree.growth.sums import Sum, find_sum
from structnet.neural_tree.likelihood import Categorical
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.topology import Topology

LEAST = 0.04  # share of all samples that a region must have, as training moves its borders
ROOM = 1.5  # factor on the share to prune, which a region must have too
# Samples by which lines are sought, which takes the square of the number of columns; and
# directions, for which so many are enough.
LINED = 2000
MOST_STEPS = 64  # units of a deepening that may start as steps
FEW = 8  # samples that a step must have, whose hard borders hardly move in training


class Starts(NamedTuple):
    """What the candidates for a leaf may start with.

    Attributes:
        regions: regions of a split, for one to three splits; empty if a single region is best; None
            if there are too few samples to tell.
        sum: function that gives the steps of a deepening; none if they do not pay.
        codes: function of a number of units that gives the steps of codes with regions among them,
            as which a split after a transformer starts; None if they do not pay.
    """

    regions: list[Regions] | None
    sum: Callable[[], Sum]
    codes: Callable[[int], Codes | None]


NO_STARTS = Starts(None, lambda: Sum([]), lambda units: None)


def starts_at(tree: NeuralTree, leaf: int, here: AtLeaf, most: int, prune: float = 0.0) -> Starts:
    """The regions and the steps in what a leaf's solver leaves unexplained.

    Regions come from :func:`.find_regions` and, if these are better, also from :func:`.find_steps`.
    Where classes have fewer directions, by :func:`.telling`, than there are classes, steps that
    explain these are tried before. Sums of steps, from :func:`.find_sum`, which explain the same
    directions, must be better than the former, and than the latter by one cut less. Regions among
    steps of codes, from :func:`.find_codes`, must be better than both. Sums and codes are sought
    when they are asked for, as that takes time. Steps and sums come from all samples that arrive;
    lines, directions and codes from 2,000 of them, evenly spaced, or from all if these are fewer.

    Args:
        tree, leaf: tree, and node of the leaf.
        here: samples as they arrive at the leaf.
        most: largest number of regions.
        prune: share of all samples that each region must have after training.
    """
    reached = here.log_prob.exp()
    weights = reached if here.weights is None else reached * here.weights
    residuals = _residuals(tree, leaf, here) / reached.clamp(min=1e-6).unsqueeze(1)
    x, y, w = (part.double().cpu().numpy() for part in (here.features, residuals, weights))
    total, least = float(w.sum()), max(FEW, ROOM * prune * len(x))
    steps = find_steps(x, y, w, most, least)
    one_less = steps.value + Criterion.of(y, w).price_of_constant(x.shape[1])
    all_of = x, y, w
    some = np.linspace(0, len(x) - 1, min(len(x), LINED)).astype(np.int64)
    x, y, w = x[some], y[some], w[some]
    lines = find_regions(x, y, w, most, max(LEAST, ROOM * prune) * len(x))
    times = total / float(w.sum())  # for values of as many samples
    of_all = 0.0 if lines is None else lines.value * times
    rivals = min(of_all, one_less)
    found = [] if lines is None or lines.value >= 0 else [lines]
    found += [steps] * (steps.value < of_all)
    along = telling(x, y, w) if isinstance(tree.likelihood, Categorical) else np.eye(y.shape[1])
    if along.shape[1] < len(along):
        at, rest, counts = all_of
        all_of = at, rest @ along, counts
        of_few = find_steps(*all_of, most, least)
        found = [of_few] * (of_few.value < 0) + found
    regions = None if lines is None and not found else found

    def added() -> Sum:
        return _better(find_sum(*all_of, MOST_STEPS, least), rivals)

    def codes(units: int) -> Codes | None:
        if leaf and not found:  # what is worth the time below the root shows in lines, too
            return None
        among = find_codes(x, y, w, most, max(FEW, ROOM * prune * len(x)), units)
        pays = among is not None and among.regions.value * times < min(of_all, steps.value)
        return among if pays else None

    return Starts(regions, added, codes)


def _better(added: Sum, rivals: float) -> Sum:
    """The sum if it is better than regions; else none. Steps of one column are left to regions."""
    columns = {step.column for step in added.steps}
    return added if len(columns) > 1 and added.value < rivals else Sum([])


def _residuals(tree: NeuralTree, leaf: int, here: AtLeaf) -> torch.Tensor:
    """The negative gradient of each sample's loss by the leaf's outputs. ``[n, outputs]``."""
    likelihood = tree.likelihood
    with torch.enable_grad():
        outputs = tree.nodes[leaf].end(here.features).detach().requires_grad_()
        terms = likelihood.term(here.log_prob.unsqueeze(1), outputs.unsqueeze(1), here.targets)
        if here.rest is not None:
            terms = torch.cat([here.rest.unsqueeze(1), terms], dim=1)
        losses = likelihood.losses(likelihood.join(terms), here.targets)
        return -torch.autograd.grad(losses.sum(), outputs)[0]


def is_linear(modules: Sequence[nn.Module], shape: Sequence[int]) -> bool:
    """True if the modules are linear maps of vectors, as the cuts and lines of regions are."""
    return len(shape) == 1 and all(type(module) is nn.Linear for module in modules)


def split_into(
    tree: NeuralTree,
    leaf: int,
    regions: Regions,
    modules: Sequence[nn.Module] | None = None,
    transformer: nn.Module | None = None,
) -> Split:
    """A split of a leaf whose routers start as the cuts between regions.

    Args:
        tree, leaf: tree, and node of the leaf.
        regions: regions of the samples.
        modules: router and two solvers; further ones are made.
        transformer: transformer before the routers, in whose outputs the regions are; or None.
    """
    shape = regions.axes.shape[1:]
    (first, *solvers), routers = modules or tree.new_split(leaf, shape), []
    for cut in filter(None, regions.cuts):
        routers.append(first)
        first, solver, _ = tree.new_split(leaf, shape)
        solvers.append(solver)
        _start(routers[-1], cut, regions)
    rest = iter(routers), iter(solvers)
    parts = [next(rest[cut is None]) for cut in regions.cuts]
    return Split(tree, leaf, parts, Topology(regions.children), regions.steps, transformer)


@torch.no_grad()
def _start(router: Any, cut: Cut, regions: Regions) -> None:
    slope = (HARD if regions.steps else 1.0) * SPREAD / max(cut.reach, 1e-6)
    router.weight[0] = -slope * torch.from_numpy(regions.axes[cut.axis]).to(router.weight)
    router.bias.fill_(slope * cut.threshold)
