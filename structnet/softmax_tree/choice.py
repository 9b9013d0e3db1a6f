"""Chooses the settings that the user leaves open, by the sizes of the data and held-out samples.

Several kinds of trees are trained briefly on samples that are not held out, or some of them:
complete trees of several depths, trees that start as a decision tree on single features, and that
decision tree itself. For each start, depths are tried from the deepest, whose leaves are the
narrowest and cost least, towards the flat softmax, until the error rises; if the flat softmax is
better, also upwards from there. So trees with wide leaves are tried only if they have a chance. All
are trained for one iteration, and the best few for longer, on several folds if there are few
samples.

The kind with the lowest error is then tried with stronger penalties, in units of the mean weight of
a sample, with a quadratic penalty in place of most of it and, if nothing helps, with weaker ones:
with few samples, and classes that differ a little in every column, a sufficient L1 penalty drops
most of the columns.

With few samples in each class, the best few kinds, the flat softmax and all penalties are trained
to the end, if possible on all samples, as overfitting shows late, and a brief training favours
narrow leaves. One kind is taken over a simpler one only if its advantage is not due to chance, and
over the flat softmax, if all samples are used, only if it is surely better. The plain decision tree
is the simplest, and a stronger penalty is simpler; so are fewer leaves, but if only some samples
are used, more leaves, which gain most from the others. Unless all this is cheap, trees that begin
surely behind the flat softmax, and stronger penalties that begin far behind, are given up after one
iteration, and kinds that begin nearly as well are compared once more with the penalties found; if
it is cheap, the flat softmax is, with penalties of its own. If only some samples are used, some of
the others are tested on besides those held out. The error is that of ``wrongness``, at the
temperature of each kind where trees get one. Of few dense rows, a solved leaf (``solved_leaf``) is
taken unless a tree is surely better; of more, and of sparse ones naive Bayes or its mean with a
flat softmax, if that is better by more than chance. At last, held-out samples tell how sure leaves
may be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from structnet.estimators.temperature import FEWEST, best_temperature
from structnet.softmax_tree.class_parts import in_parts
from structnet.softmax_tree.costs import axes_sums, flat_sums
from structnet.softmax_tree.fold import BETTER, Wrongness, least_wrong, lowest
from structnet.softmax_tree.judge import HELD_OUT, Judge
from structnet.softmax_tree.penalties import Penalties
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import (
    ChosenGrowth,
    ChosenSettings,
    GrowthSettings,
    SoftmaxTreeSettings,
)
from structnet.softmax_tree.solved_leaf import are_few, how_solved, may_be_solved
from structnet.softmax_tree.start import most_classes
from structnet.softmax_tree.wrongness import odds_of
from structnet.training.progress import Progress

GOOD, MORE = 2, 4  # kinds whose trials are longer than one iteration; if all this is cheap
DEPTHS = (0, 1, 2, 4, 6, 8)
SHALLOW = 4  # largest depth of a tree that starts with single features
# Standard errors, of the samples held out of those used, by which the weakest penalty must be
# better than a stronger one: it overfits in a long training, which a short one does not show.
SURE = 2.0
FAR = 4.0  # standard errors behind after one iteration, that no further ones make good
ALPHA, RHO = 0.7, 0.95
TOGETHER = 50  # smallest default limit on the classes of a leaf while a tree grows
FLAT = 4e10  # largest number of sums for a flat softmax in a trial: some seconds
COST = 5e8  # largest number of sums for a decision tree on single features: about a second
# A costlier plain one, up to so many times, is first grown on one row of so many: at best, the odds
# of a mistake fall in proportion to the number of rows.
PROBED = 4

Kind = ChosenSettings


def chosen(
    points: Points,
    settings: SoftmaxTreeSettings,
    growth: GrowthSettings | None,
    progress: bool | Progress = False,
    held_out: Points | None = None,
) -> tuple[ChosenSettings, GrowthSettings | None]:
    """Settings in which nothing is None except limits.

    Args:
        points: samples to learn from; some of them are used for the choice.
        settings: hyper-parameters, None where they are left open.
        growth: hyper-parameters of growth, likewise; None for a tree that does not grow.
        progress: True or a :class:`.Progress` to report each trial.
        held_out: samples to choose by; None to hold out some of the others.

    Raises:
        ValueError: growth would start beyond its limits.
    """
    progress = Progress.of(progress)
    given = ChosenSettings.of(settings)
    if growth is not None:
        growth.check_start()
        least = TOGETHER if growth.alpha is None else growth.least_k
        more = {"least_k": least, "alpha": growth.alpha or ALPHA, "rho": growth.rho or RHO}
        growth = ChosenGrowth(**{**vars(growth), **more})
        given = replace(given, depth=growth.start_depth)
    open_ = (given.depth, given.k if growth is None else 0, given.start, given.leaf_penalty)
    judge = Judge(points, given, growth, progress, held_out) if None in open_ else None
    found = _best(judge) if judge else given
    if found.decision_penalty is None:
        found = replace(found, decision_penalty=found.leaf_penalty)
    if growth is None:
        return _tempered(judge, found) if judge else found, None
    assert found.depth is not None
    growth = replace(growth, start_depth=found.depth)
    start_k = most_classes(growth, points.num_classes, found.depth)
    return replace(found, depth=None, k=None), replace(growth, start_k=start_k)


def _best(judge: Judge) -> Kind:
    """The best tree or a solved leaf, of parts of classes if these are surely better."""
    best = _best_tree(judge)
    if not may_be_solved(judge.points, judge.given, judge.growth):
        return best
    leaf = replace(judge.kind(0, "centroids"), solved=how_solved(judge.points, judge.given.seed))
    best = _solved_or(judge, best, leaf)
    parted = in_parts(judge.folds, replace(leaf, max_iter=0))
    if parted is None or not judge.ended(best).exceeds(judge.ended(parted), SURE):
        return best
    return parted


def _solved_or(judge: Judge, best: Kind, leaf: Kind) -> Kind:
    """The best tree or a solved leaf: of few dense rows in doubt the leaf, of others not."""
    alone = replace(leaf, max_iter=0)
    if judge.points.sparse:
        soon = best.depth == 0 or flat_sums(judge.folds[0].learn) <= FLAT  # or trained already
        half = replace(leaf, leaf_penalty=best.leaf_penalty, leaf_ridge=best.leaf_ridge)
        return judge.best(best, half, alone) if soon else judge.best(best, alone)
    tree, solved = judge.ended(best), judge.ended(alone)
    if are_few(judge.points):
        return best if solved.exceeds(tree, SURE) else alone
    by = BETTER if judge.growth is None else SURE  # what may grow becomes better
    return alone if tree.exceeds(solved, by) else best


def _best_tree(judge: Judge) -> Kind:
    """The settings of the lowest error among trees that are trained."""
    tried = _walked(judge)
    best = _best_of(judge, tried)
    if _plain_is_as_good(judge, best):
        return judge.plain
    if judge.given.leaf_penalty is not None or not best.max_iter:
        return best
    found = _compared_again(judge, tried, _penalised(judge, best))
    if not (judge.cheap and found.depth):
        return found
    return judge.best(*(_penalised(judge, kind) for kind in tried if not kind.depth), found)


def _best_of(judge: Judge, tried: dict[Kind, Wrongness]) -> Kind:
    """The best of the kinds that begin best, by their wrongness after one iteration."""
    good = sorted(tried, key=lambda kind: tried[kind].mean)[: MORE if judge.cheap else GOOD]
    flat = [kind for kind in tried if not kind.depth]
    if judge.length is None or judge.cheap:  # its start says little about its end
        good += [kind for kind in flat if kind not in good]
    if flat and not judge.cheap:  # trees with narrower leaves begin faster
        least = tried[flat[0]]
        good = [kind for kind in good if kind in flat or not tried[kind].exceeds(least, SURE)]
    if len(good) == 1:
        return good[0]
    order = 1 if judge.uses_all else -1  # leaves gain most from further rows
    good.sort(key=lambda kind: (order * (kind.depth or 0), kind.start != "centroids"))
    wrong = {kind: judge.ended(kind) for kind in good}
    found = lowest(wrong)
    alone = [kind for kind in good if not kind.depth and judge.uses_all]
    return next((kind for kind in alone if not wrong[kind].exceeds(wrong[found], SURE)), found)


def _compared_again(judge: Judge, tried: dict[Kind, Wrongness], found: Kind) -> Kind:
    """The best kind that is not far behind, if all have the penalties found for the first one.

    The more leaves, the fewer samples has each: deep trees suffer most from weak penalties.
    """
    least = least_wrong(tried.values())
    how: Any = {"leaf_penalty": found.leaf_penalty, "leaf_ridge": found.leaf_ridge}
    close = [replace(kind, **how) for kind in tried if not tried[kind].exceeds(least, FAR)]
    if judge.cheap or len(close) < 2 or found in tried:
        return found
    return _best_of(judge, {kind: judge.begun(kind) for kind in close})


def _walked(judge: Judge) -> dict[Kind, Wrongness]:
    """The wrongness of all kinds that are tried, after one iteration."""
    given, points = judge.given, judge.points
    limit = math.inf if judge.growth is None else judge.growth.deepest
    most = max(1, int(math.log2(max(len(points) / 20, 2))))  # 20 samples a leaf
    limit = min(most, 3 + math.log2(points.num_classes), limit)
    depths = [d for d in DEPTHS if d <= limit] if given.depth is None else [given.depth]
    if given.start is not None:
        return _walk(judge, given.start, depths)
    found = _walk(judge, "centroids", depths)
    depth = min(found, key=lambda kind: found[kind].mean).depth
    assert depth is not None
    deepest = max(depths) if judge.cheap else max(depth, 1)
    found |= _walk(judge, "rows", [d for d in depths if 0 < d <= deepest])
    if axes_sums(judge.folds[0].learn, SHALLOW) <= COST:
        found |= _walk(judge, "axes", [d for d in depths if 0 < d <= SHALLOW])
    return found


def _walk(judge: Judge, start: Any, depths: Iterable[int]) -> dict[Kind, Wrongness]:
    """The wrongness of one start, from the deepest to the first that is worse than another.

    As the error may rise between narrow leaves and the flat softmax, the latter is tried too if
    that is affordable, and if it is better, so are deeper trees from there on.
    """
    found: dict[Kind, Wrongness] = {}

    def until_worse(some: Iterable[int]) -> None:
        for depth in some:
            kind = judge.kind(depth, start)
            found[kind] = wrong = judge.begun(kind)
            if wrong.exceeds(least_wrong(found.values())) and not judge.cheap:
                break

    until_worse(reversed(waiting := sorted(depths)))
    waiting = waiting[: -len(found)]
    if waiting[:1] == [0] and flat_sums(judge.folds[0].learn) <= FLAT:
        least = least_wrong(found.values())
        until_worse([0])
        if least.exceeds(found[judge.kind(0, start)]):
            until_worse(waiting[1:])
    return found


def _penalised(judge: Judge, best: Kind) -> Kind:
    """The best kind with the best penalties for its leaves."""

    def has_no_chance(kind: Kind, than: Kind) -> bool:  # if trials are long
        return not judge.cheap and judge.begun(kind).exceeds(judge.begun(than), FAR)

    # A short training misleads on all rows alike: more of them must not lower the bar.
    fold = judge.folds[0]
    sure = SURE * (len(fold.test) / len(fold.learn) * (1 / HELD_OUT - 1)) ** 0.5
    return Penalties(judge.unit, judge.ended, has_no_chance, sure).best_of(best)


def _plain_is_as_good(judge: Judge, best: Kind) -> bool:
    """True if the plain decision tree is no more wrong.

    If it is costly, it is given up if a part of the rows shows it far behind. Of sparse rows it
    always is: columns are many and mostly 0, so that each decision parts few rows from the others,
    and the tree is a long chain.
    """
    given, folds, k = judge.given, judge.folds, judge.points.num_classes
    open_ = given.depth is None and given.k is None and given.start in (None, "axes")
    limited = judge.growth is not None and judge.growth.deepest < math.inf
    number = len(folds[0].learn)
    sums = axes_sums(folds[0].learn, math.log2(number + 1))
    if not open_ or limited or sums > PROBED * COST:
        return False
    least = judge.ended(best)
    if (sums > COST or judge.points.sparse) and number >= PROBED * FEWEST:
        few = [fold.fewer(number // PROBED, given.seed) for fold in folds]
        odds = max(odds_of(least.mean, k), 0.5 / number)  # half a mistake
        if odds_of(judge.ended(judge.plain, few).mean, k) > PROBED * odds:
            return False
    return not judge.ended(judge.plain).exceeds(least)


def _tempered(judge: Judge, kind: Kind) -> Kind:
    """The kind with the temperature for held-out samples, if quick to train, or half solved.

    It is trained to the end, and on most of all samples, as with fewer it would be less sure.
    """
    if not (judge.tempers or kind.solved) or kind.is_solved or kind.temperature != 1:
        return kind
    seed = judge.given.seed
    folds = judge.folds if judge.uses_all else [judge.fold(judge.points, seed)]
    folds = [replace(fold, test=fold.test.few(seed)) for fold in folds]
    log_prob = np.concatenate([fold.log_probs(kind) for fold in folds])
    y = np.concatenate([fold.test.y for fold in folds])
    weights = np.concatenate([fold.test.weights for fold in folds])
    found = best_temperature(log_prob, y, weights, further=len(folds))
    judge.progress.say_when_due(f"temperature {found:.3g}", last=False)
    return replace(kind, temperature=found)
