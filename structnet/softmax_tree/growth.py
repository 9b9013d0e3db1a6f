"""Adaptive growth: leaves become small trees of narrower leaves, where that pays (Sec. 4).

Every round tries a subtree in place of each leaf. Its leaves may have ``min(floor(alpha k),
k - 1)`` classes, where k is the leaf's number; if alpha is not given, at least ten. They start with
the leaf's weights. The subtree is trained by TAO on the leaf's points, and accepted if its loss is
less than rho times the leaf's. All accepted subtrees are grafted together, TAO trains the whole
tree, and nodes that no point reaches are pruned.

Reference:
    Kairgeldin, Gabidolla, Carreira-Perpinan, "Adaptive Softmax Trees for Many-Class
    Classification", UAI 2024, Sec. 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.leaf_update import warm_started
from structnet.softmax_tree.nodes import Leaf
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.optimisation import alternate
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import GrowthSettings, SoftmaxTreeSettings
from structnet.softmax_tree.start import axes_draft, complete_draft

CHEAP = 2e7  # rows x features x classes up to which decisions on single features are tried too
# Beyond that, a subtree is given up whose loss after one iteration is so many times the leaf's. Of
# those that were accepted on generated clusters, none then had more than 4.3 times the leaf's.
HOPELESS = 5.0


@dataclass(frozen=True)
class Trial:
    """A subtree that was tried in place of a leaf.

    Attributes:
        round: round of growth, from 1.
        leaf: number of the leaf in the tree of that round.
        samples: number of points at the leaf.
        classes, k: number of classes of the leaf, and the largest number that the new leaves may
            have.
        leaf_loss, subtree_loss: losses on these points, with penalties if those are compared.
        ratio: the latter divided by the former.
        accepted: True if it replaces the leaf.
    """

    round: int
    leaf: int
    samples: int
    classes: int
    k: int
    leaf_loss: float
    subtree_loss: float
    ratio: float
    accepted: bool


def trials(
    draft: Draft,
    points: Points,
    objective: Objective,
    settings: SoftmaxTreeSettings,
    growth: GrowthSettings,
    round: int = 1,
) -> tuple[list[Trial], dict[int, Draft]]:
    """Tries a subtree in place of each leaf.

    Args:
        draft: tree to grow, which is not changed.
        points: samples to learn from.
        objective: objective of the training.
        settings: hyper-parameters of a subtree's training.
        growth: hyper-parameters of growth; alpha and rho are numbers.
        round: number of the round.

    Returns:
        A record of each trial, and the accepted subtrees by their leaf.
    """
    tried: list[tuple[Trial, Draft]] = []
    depth = draft.topology.depth
    for leaf, rows in sorted(draft.reach(points).items()):
        deepest = math.inf if growth.max_depth is None else growth.max_depth
        if draft.children[leaf] or depth[leaf] + growth.step > deepest:
            continue
        if len(rows) >= growth.min_samples:
            found = _tried(draft.leaf(leaf), points.take(rows), objective, settings, growth)
            if found is not None:
                trial, subtree = found
                tried.append((replace(trial, round=round, leaf=leaf), subtree))
    accepted = _within_limits(draft, tried, growth)
    marked = [replace(trial, accepted=trial.leaf in accepted) for trial, _ in tried]
    return marked, accepted


def _within_limits(
    draft: Draft, tried: list[tuple[Trial, Draft]], growth: GrowthSettings
) -> dict[int, Draft]:
    """The subtrees that lower the loss enough, the best ones if the number of leaves is limited."""
    rho = growth.rho
    assert rho is not None
    room = math.inf if growth.max_leaves is None else growth.max_leaves
    room -= sum(not below for below in draft.children)
    accepted = {}
    for trial, subtree in sorted(tried, key=lambda each: each[0].ratio):
        more = sum(not below for below in subtree.children) - 1
        if trial.ratio < rho and more <= room:
            accepted[trial.leaf] = subtree
            room -= more
    return accepted


def _tried(
    leaf: Leaf,
    points: Points,
    objective: Objective,
    settings: SoftmaxTreeSettings,
    growth: GrowthSettings,
) -> tuple[Trial, Draft] | None:
    """The best subtree for a leaf and its points; None if nothing can be gained or divided."""
    k = growth.narrowed(len(leaf.classes), leaf.k)
    alone = Draft([()], [leaf])
    before = objective.loss(alone, points)
    if k < 1 or not before:
        return None
    most = HOPELESS * max(growth.rho or 1.0, 1.0) * before
    if growth.ratio_of == "objective" or points.products <= CHEAP:
        most = math.inf
    subtrees = [
        _trained(begun, leaf, points, objective, settings, k, most)
        for begun in _begun(points, growth.step, k, settings)
    ]
    # A single leaf with fewer classes is no subtree.
    subtrees = [each for each in subtrees if len(each.nodes) > 1]
    if not subtrees:
        return None
    subtree = min(subtrees, key=lambda each: objective.of(each, points))
    after = objective.loss(subtree, points)
    if growth.ratio_of == "objective":
        before, after = before + objective.penalty(alone), after + objective.penalty(subtree)
    ratio = after / before
    return Trial(0, 0, len(points), len(leaf.classes), k, before, after, ratio, False), subtree


def _begun(points: Points, depth: int, k: int, settings: SoftmaxTreeSettings) -> Iterator[Draft]:
    """The initial subtrees: by ``settings.start``, by clusters of rows and, if cheap, by single
    features."""
    assert settings.start is not None
    if settings.start != "axes":
        yield complete_draft(points, depth, k, settings.start, settings.seed)
        if settings.start != "rows":
            yield complete_draft(points, depth, k, "rows", settings.seed)
    if points.products <= CHEAP:
        yield axes_draft(points, depth, k, settings.seed)
    elif settings.start == "axes":
        yield complete_draft(points, depth, k, "centroids", settings.seed)


def _trained(
    subtree: Draft,
    leaf: Leaf,
    points: Points,
    objective: Objective,
    settings: SoftmaxTreeSettings,
    k: int,
    most: float,
) -> Draft:
    """A subtree after TAO, whose leaves started with the weights of a leaf.

    With a loss above ``most`` after one iteration, there are no further ones.
    """
    for node, rows in subtree.reach(points).items():
        if not subtree.children[node]:
            subtree.nodes[node] = warm_started(replace(leaf, k=k), points, rows)
    first, ended = min(1, settings.max_iter), [False]
    how = settings.tol, None, lambda draft, value, settled: ended.append(settled)
    subtree = alternate(subtree, points, objective, first, *how)
    if not ended[-1] and objective.loss(subtree, points) <= most:
        subtree = alternate(subtree, points, objective, settings.max_iter - first, settings.tol)
    return subtree.pruned(points)
