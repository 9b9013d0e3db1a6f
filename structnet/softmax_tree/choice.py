"""What the user leaves open: chosen from the sizes of the data and by parts that are held out.

Several kinds of trees learn, quickly, from a part of the data, or from several parts where there
are few: a flat softmax, complete trees of some depths, trees that begin as a decision tree of
single features, and that decision tree as it is. The kind with the lowest error on what was held
out is then tried with weaker and stronger penalties, times the mean weight of a sample. One kind is
held to be better than another that comes before it only if that is no matter of chance; the plain
decision tree comes first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from structnet.estimators.held_out import hold_out
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.optimisation import alternate
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import GrowthSettings, SoftmaxTreeSettings
from structnet.softmax_tree.start import first_draft, most_classes, width
from structnet.training.progress import Progress

LARGEST = 8000  # samples that are looked at; more where there are more than 400 classes
HELD_OUT = 0.25
FEW = 4000  # samples, below which the choice is made by several parts
PARTS = 3
GOOD = 4  # kinds that are tried on all parts
DEPTHS = (0, 1, 2, 4, 6, 8)
DEEPEST = 1000
QUICK: dict[str, Any] = {"max_iter": 3, "solver_steps": 15}
PENALTIES = (0.1, 10.0)  # the kinds are compared with 1
ALPHA, RHO = 0.7, 0.95
COST = 3e9  # rows x features x classes above which no decision tree of single features is tried


def chosen(
    points: Points,
    settings: SoftmaxTreeSettings,
    growth: GrowthSettings | None,
    progress: bool | Progress = False,
) -> tuple[SoftmaxTreeSettings, GrowthSettings | None]:
    """Settings without None but for limits.

    Args:
        points: samples to learn from; the choice is made by a part of them.
        settings: hyper-parameters, None where they are left open.
        growth: those of growth, likewise; None for a tree that does not grow.
        progress: place to say how far the choice is.

    Raises:
        ValueError: growth would begin beyond its limits.
    """
    progress = Progress.of(progress)
    if growth is not None:
        growth.check_start()
    depth = None if growth is None else growth.start_depth
    given = settings if growth is None else replace(settings, depth=depth)
    open_ = (given.depth, given.k if growth is None else 0, given.start, given.leaf_penalty)
    found = given if None not in open_ else _Search(points, given, growth, progress).best()
    if found.decision_penalty is None:
        found = replace(found, decision_penalty=found.leaf_penalty)
    if growth is None:
        return found, None
    grown = replace(
        growth,
        alpha=ALPHA if growth.alpha is None else growth.alpha,
        rho=RHO if growth.rho is None else growth.rho,
        start_depth=found.depth,
    )
    assert found.depth is not None
    grown = replace(grown, start_k=most_classes(grown, points.num_classes, found.depth))
    return replace(found, depth=None, k=None), grown


@dataclass(frozen=True)
class _Search:
    """The settings that are possible, and how they do."""

    points: Points
    given: SoftmaxTreeSettings
    growth: GrowthSettings | None
    progress: Progress

    def best(self) -> SoftmaxTreeSettings:
        """The settings of the lowest error."""
        kinds = list(self._kinds())
        best = self._lowest(kinds)
        if self.given.leaf_penalty is None and best.max_iter:
            others = [replace(best, leaf_penalty=factor * self._count) for factor in PENALTIES]
            best = self._lowest([best, *others])
        return best

    def _lowest(self, kinds: Sequence[SoftmaxTreeSettings]) -> SoftmaxTreeSettings:
        """The first of those whose error is, by chance, the lowest."""
        first, *others = self._parts
        wrong = np.array([self._mistakes(kind, first) for kind in kinds])  # [kinds, tested]
        if others:  # for the best of them alone; their order stays
            good = np.sort(np.argsort(wrong.mean(axis=1), kind="stable")[:GOOD])
            kinds = [kinds[i] for i in good]
            more = [np.array([self._mistakes(kind, part) for kind in kinds]) for part in others]
            wrong = np.concatenate([wrong[good], *more], axis=1)
        error = wrong.mean(axis=1)
        best = int(np.argmin(error))
        # Two kinds err on the same samples: what differs is what counts.
        noise = (wrong != wrong[best]).mean(axis=1) ** 0.5 / wrong.shape[1] ** 0.5
        return kinds[int(np.argmax(error - error[best] <= 0.5 * noise))]

    def _mistakes(self, kind: SoftmaxTreeSettings, part: tuple[Points, Points]) -> np.ndarray:
        """Which of the held-out samples of a part are taken for another class."""
        learn, test = part
        growth = self.growth
        if growth is not None:
            growth = replace(growth, start_depth=kind.depth, alpha=growth.alpha or ALPHA)
        quick = replace(kind, **{n: min(most, getattr(kind, n)) for n, most in QUICK.items()})
        draft = first_draft(learn, quick, growth)
        wrong = _quickly(draft, learn, quick).mistakes(test)
        self.progress.say_when_due(f"{_name(kind)}: {wrong.mean():.1%} wrong held out", last=False)
        return wrong

    @cached_property
    def _parts(self) -> list[tuple[Points, Points]]:
        """Samples to learn from and to test by, once or several times."""
        seed, points = self.given.seed, self.points
        most = max(LARGEST, 20 * points.num_classes)
        if len(points) > most:
            rows = np.random.default_rng(seed).permutation(len(points))[:most]
            points = points.take(np.sort(rows))
        number = PARTS if len(points) < FEW else 1
        return [self._parted(points, seed + i) for i in range(number)]

    def _parted(self, points: Points, seed: int) -> tuple[Points, Points]:
        """A part to learn from and one that is held out."""
        labels = points.y
        try:
            learn, test = hold_out(len(points), HELD_OUT, seed, labels)
        except ValueError:  # there are almost as many classes as samples
            learn, test = hold_out(len(points), HELD_OUT, seed)
        return points.take(learn), points.take(test)

    def _kinds(self) -> Iterator[SoftmaxTreeSettings]:
        """What is compared, the simpler first."""
        given, classes = self.given, self.points.num_classes
        axes = given.start in (None, "axes") and self._affords_axes
        penalty = self._count if given.leaf_penalty is None else given.leaf_penalty
        deepest = math.inf if self.growth is None else self.growth.deepest
        if given.depth is None and axes and deepest == math.inf:  # a decision tree, as it is
            pure: dict[str, Any] = {"depth": DEEPEST, "start": "axes", "k": classes, "max_iter": 0}
            yield replace(given, **pure, leaf_penalty=penalty, decision_penalty=penalty)
        most = max(1, int(math.log2(max(len(self.points) / 20, 2))))  # 20 samples a leaf
        depths = [d for d in DEPTHS if d <= min(most, 3 + math.log2(classes), deepest)]
        for depth in depths if given.depth is None else (given.depth,):
            for start in ("centroids", "rows", "axes") if given.start is None else (given.start,):
                worth = {"rows": depth > 0, "axes": axes and 0 < depth < 5}  # 0 is the same leaf
                if given.start is None and not worth.get(start, True):
                    continue
                k = width(classes, depth) if given.k is None else given.k
                decision = penalty if given.decision_penalty is None else given.decision_penalty
                penalties: dict[str, Any] = {"leaf_penalty": penalty, "decision_penalty": decision}
                yield replace(given, depth=depth, start=start, k=k, **penalties)

    @property
    def _count(self) -> float:
        """The mean count of a sample: penalties are told in it, as weights may sum to anything."""
        return float(self.points.weights.mean())

    @property
    def _affords_axes(self) -> bool:
        sizes: Any = (min(len(self.points), LARGEST), self.points.num_features)
        return math.prod(sizes) * self.points.num_classes <= COST


def _name(kind: SoftmaxTreeSettings) -> str:
    """A kind in a few words."""
    if not kind.max_iter:
        return "tried a decision tree"
    return f"tried depth {kind.depth} from {kind.start}, penalty {kind.leaf_penalty:g}"


def _quickly(draft: Draft, points: Points, settings: SoftmaxTreeSettings) -> Draft:
    objective = Objective.told(settings, points.num_classes)
    return alternate(draft, points, objective, settings.max_iter, 1e-2)
