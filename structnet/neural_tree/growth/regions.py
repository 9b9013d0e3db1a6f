"""Regions of a table in each of which the residuals have a linear fit of their own.

They are the leaves of a model tree: cuts across an axis, in the order of how much they explain,
with least squares on both sides. Cuts are made beyond those that pay, as the first cut of a pattern
may pay only together with later ones; then the number of cuts with the best :class:`.Criterion` is
kept. The axes are the columns or, if clearly better, two rotated axes in the
plane of two columns. Their angle is refined step by step, as a board of many cells is visible only
close to its own angle.

If there are too few samples for fits of all columns, the 1, 2, 4, 8 or 16 columns are used that
explain most by themselves, each with one cut; the criterion is charged for their choice.

Reference:
    Quinlan, "Learning with Continuous Classes", 1992.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structnet.neural_tree.growth.criterion import Criterion
from structnet.neural_tree.growth.planes import FINER, MOST, TURNS, plane_of, turned

VALUES = 32  # different values of a column up to which they are few, if most occur again
PLACES = np.arange(1, 16) / 16  # quantiles along an axis at which a region may be cut
EVIDENCE = 0.25  # nats that a sample can give an output: if a cut needs more, there are too few
PATTERN = 4  # regions for which there must be room, or rotated axes are not tried
MANY = 1000  # largest number of columns that vary among which a few are looked for
FEW = 16  # largest number of these: with 128, a search would take half a minute
AT_ONCE = 8  # axes along which cuts are compared in one step
SAME = 1e-9  # share of a variance up to which a column follows from others, even in float32
RIDGE = 1e-3  # ridge as a share of the mean square, for constant columns and few samples


class Cut(NamedTuple):
    """A cut of one region into two.

    Attributes:
        gain: sum of squares of the residuals that two fits explain beyond one.
        axis: number of the axis along which samples are compared.
        threshold: value on that axis; samples below it go left.
        members: True for the samples in the region.
        reach: distance from the threshold at which its router is decided.

    Shapes:
        members ``[n]``, bool.
    """

    gain: float
    axis: int
    threshold: float
    members: np.ndarray
    reach: float


class Regions(NamedTuple):
    """A tree of cuts, whose leaves are regions.

    Attributes:
        children: left and right child of each node; () for a region.
        cuts: cut at each node; None for a region.
        axes: unit vectors along which samples are compared: ``x @ axis``.
        value: criterion in nats: 0 for a single region, lower for better ones.
        steps: True if the residuals are constant in each region, and the borders are hard.

    Shapes:
        axes ``[axes, columns]``.
    """

    children: list[tuple[int, ...]]
    cuts: list[Cut | None]
    axes: np.ndarray
    value: float = 0.0
    steps: bool = False

    def first(self, nodes: int) -> Regions:
        """The tree as it was when it had only this number of nodes."""
        known = self.children[:nodes]
        children = [below if below and below[0] < nodes else () for below in known]
        cuts = [cut if below else None for cut, below in zip(self.cuts, children, strict=False)]
        return self._replace(children=children, cuts=cuts)


class Products(NamedTuple):
    """Weighted sums of products, from which follows how much a linear fit explains.

    Attributes:
        number: sum of the weights.
        squares: sums of the products of columns.
        both: sums of the products of columns and residuals.

    Shapes:
        number ``[...]``; squares ``[..., p, p]``; both ``[..., p, outputs]``.
    """

    number: np.ndarray
    squares: np.ndarray
    both: np.ndarray

    def __sub__(self, other: Products) -> Products:
        return Products(*(a - b for a, b in zip(self, other, strict=True)))

    def explained(self) -> np.ndarray:
        """The sum of squares of the residuals that a linear fit explains. ``[...]``."""
        p = self.squares.shape[-1]
        ridge = (RIDGE * np.einsum("...pp->...", self.squares) / p + 1e-12)[..., None, None]
        lines = np.linalg.solve(self.squares + ridge * np.eye(p), self.both)
        # lines * (2 both - squares @ lines), as squares @ lines = both - ridge lines
        return (lines * (self.both + ridge * lines)).sum((-2, -1))


def find_regions(
    x: np.ndarray, residuals: np.ndarray, weights: np.ndarray, most: int, least: float
) -> Regions | None:
    """The regions with the best criterion, possibly a single one; None if the samples are too few.

    If there are too few samples for all columns, only the few that explain most are used; None is
    returned if no regions of these are better than none.

    Args:
        x: samples.
        residuals: numbers to explain.
        weights: weights of the samples.
        most: largest number of regions.
        least: smallest sum of weights in a region.

    Shapes:
        x ``[n, columns]``, residuals ``[n, outputs]``, weights ``[n]``.

    Example:
        >>> x = np.linspace(-1, 1, 200)[:, None]
        >>> found = find_regions(x, np.abs(x) - 0.5, np.ones(200), most=4, least=8)
        >>> found.children, abs(found.cuts[0].threshold) < 0.1
        ([(1, 2), (), ()], True)
    """
    varies = np.ptp(x, axis=0) > 0
    if varies.any() and not varies.all():  # as where most units of a layer are 0
        found = find_regions(x[:, varies], residuals, weights, most, least)
        return None if found is None else found._replace(axes=_among(varies, found.axes))
    criterion = Criterion.of(residuals, weights)
    price = criterion.price_of_line(x.shape[1])
    if price > EVIDENCE * criterion.outputs * len(x):
        return _of_few_columns(x, residuals, weights, most, least)
    columns = np.eye(x.shape[1])
    straight = paying(x, residuals, weights, columns, most, least)
    if weights.sum() < PATTERN * least or not 2 <= x.shape[1] <= MOST:
        return straight
    across = _turned(x, residuals, weights, most, least, straight.value)
    # Rotated axes, which are harder to read, must be better by the price of one more region.
    return across if across.value < straight.value - price else straight


def _among(chosen: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Axes of the chosen columns as axes of all.

    Shapes:
        chosen ``[columns]``, bool, axes ``[axes, chosen columns]`` -> ``[axes, columns]``.
    """
    wide = np.zeros((len(axes), len(chosen)))
    wide[:, chosen] = axes
    return wide


def _of_few_columns(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, most: int, least: float
) -> Regions | None:
    """The best regions on a few columns; None if none are better than a single one."""
    if x.shape[1] > MANY:
        return None
    telling = most_telling(x, y, weights, least)
    found, number, criterion = None, 1, Criterion.of(y, weights)
    most_columns, evidence = min(FEW, x.shape[1] - 1), EVIDENCE * criterion.outputs * len(x)
    while number <= most_columns and criterion.price_of_line(number) <= evidence:
        axes = np.zeros((number, x.shape[1]))
        axes[np.arange(number), np.sort(telling[:number])] = 1.0
        regions = paying(x, y, weights, axes, most, least)
        value = regions.value + number * math.log(x.shape[1])  # the price of choosing these columns
        if value < (0.0 if found is None else found.value):
            found = regions._replace(value=value)
        number *= 2
    return found


def most_telling(x: np.ndarray, y: np.ndarray, weights: np.ndarray, least: float) -> np.ndarray:
    """The columns in the order of how much each explains by itself. ``[columns]``."""
    return np.argsort([-_told_by(column, y, weights, least) for column in x.T], kind="stable")


def _told_by(column: np.ndarray, y: np.ndarray, weights: np.ndarray, least: float) -> float:
    """The sum of squares that fits of one column explain on both sides of its best cut."""
    z = np.column_stack([np.ones(len(column)), column])
    cut = _best_cut(z, y, weights, least)
    return float(_products(z, y, weights).explained()) + (0.0 if cut is None else cut.gain)


def _turned(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, most: int, least: float, straight: float
) -> Regions:
    """The best regions along two rotated axes of a plane.

    The more cells a side of a board has, the closer the angle must be: if a coarse angle is already
    better than the columns, whose criterion is ``straight``, it is refined.
    """
    plane, step = plane_of(x, y, weights), math.pi / 2 / TURNS

    def best_at(angles: Iterable[float]) -> tuple[float, Regions]:
        tried = [(a, paying(x, y, weights, turned(plane, a), most, least)) for a in angles]
        return min(tried, key=lambda each: each[1].value)

    best = best_at(step * i for i in range(TURNS))
    for finer in range(1, 1 + FINER if best[1].value < straight else 1):
        beside = best_at(best[0] + sign * step / 2**finer for sign in (-1, 1))
        best = min(best, beside, key=lambda each: each[1].value)
    return best[1]


def paying(
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    axes: np.ndarray,
    most: int,
    least: float,
) -> Regions:
    """The regions of the best criterion along some axes, as :func:`find_regions` has them.

    Shapes:
        axes ``[axes, columns]``.
    """
    z = np.column_stack([np.ones(len(x)), x @ axes.T])
    regions, left, more = _grown(z, y, weights, axes, most, max(least, len(axes) + 2))
    criterion = Criterion.of(y, weights)
    return with_best(regions, left, criterion, [*map(criterion.price_of_line, more)])


def with_best(
    regions: Regions, left: Sequence[float], criterion: Criterion, prices: Sequence[float]
) -> Regions:
    """The regions after as many cuts as have the lowest criterion.

    Args:
        regions: regions after all cuts, whose nodes are in the order of the cuts.
        left: sum of squares of the residuals that is left after 0, 1, 2, ... cuts.
        criterion: criterion of the residuals.
        prices: price of each cut.
    """
    values = criterion.values(left) + np.cumsum([0.0, *prices])
    i = int(values.argmin())
    return regions.first(1 + 2 * i)._replace(value=float(values[i]))


def _grown(
    z: np.ndarray, y: np.ndarray, weights: np.ndarray, axes: np.ndarray, most: int, least: float
) -> tuple[Regions, list[float], list[int]]:
    """As many regions as allowed, and the sum of squares left after each number of cuts.

    Also, for each cut, by how many the independent axes in a region become more, of both its sides
    together: what follows from others or does not vary, such as steps that are cut at, costs a fit
    nothing. They become fewer by one at most: where a column of two values is cut at.
    """
    regions, more = Regions([()], [None], axes), list[int]()
    ranks = list[int]()  # of each node
    left = [float(weights @ np.square(y).sum(1) - _products(z, y, weights).explained())]
    waiting: list[tuple[float, int, Cut]] = []  # a heap: the cut that explains most comes first

    def look(node: int, counted: np.ndarray) -> None:
        cut = _best_cut(z, y, counted, least)
        if cut is not None:
            heapq.heappush(waiting, (-cut.gain, node, cut))

    look(0, weights)
    while waiting and len(left) < most:
        _, node, cut = heapq.heappop(waiting)
        below = z[:, 1 + cut.axis] < cut.threshold
        first = len(regions.children)
        regions.children[node], regions.cuts[node] = (first, first + 1), cut
        regions.children.extend([(), ()])
        regions.cuts.extend([None, None])
        sides = cut.members & below, cut.members & ~below
        look(first, weights * sides[0])
        look(first + 1, weights * sides[1])
        left.append(left[-1] - cut.gain)
        ranks = ranks or [_rank(z[cut.members, 1:])]
        ranks += [_rank(z[side, 1:]) for side in sides]
        more.append(sum(ranks[first:]) - ranks[node])
    return regions, left, more


def _rank(x: np.ndarray) -> int:
    """The number of columns that vary and do not follow from the others."""
    spread = np.ptp(x, axis=0)
    x = (x - x.min(0))[:, spread > 0] / spread[spread > 0]
    if x.shape[1] < 2:
        return x.shape[1]
    return int(np.linalg.matrix_rank(np.corrcoef(x, rowvar=False), SAME, hermitian=True))


def _products(z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Products:
    weighted = z.T * weights
    return Products(weights.sum(), weighted @ z, weighted @ y)


def _best_cut(z: np.ndarray, y: np.ndarray, weights: np.ndarray, least: float) -> Cut | None:
    members = weights > 0
    z, y, weights = z[members], y[members], weights[members]
    if weights.sum() < 2 * least:
        return None
    whole, both = _products(z, y, weights), np.column_stack([z, y]) * weights[:, None]
    alone, best = float(whole.explained()), (0.0, 0, 0.0)
    for some in range(1, z.shape[1], AT_ONCE):
        places, gains = _gains(z, both, whole, z[:, some : some + AT_ONCE], least)
        axis, i = divmod(int(gains.argmax()), len(places))
        if gains[axis, i] - alone > best[0]:
            best = float(gains[axis, i] - alone), some - 1 + axis, float(places[i, axis])
    gain, axis, place = best
    if not gain:
        return None
    threshold, reach = border_at(z[:, 1 + axis], place)
    return Cut(gain, axis, threshold, members, reach)


def _gains(
    z: np.ndarray, both: np.ndarray, whole: Products, along: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray]:
    """The places of cuts along some axes, and what two fits explain; infinitely little if too few.

    Shapes:
        z ``[n, p]``, both ``[n, p + outputs]``, along ``[n, axes]`` -> ``[places, axes]`` and
        ``[axes, places]``.
    """
    places, p = np.quantile(along, PLACES, axis=0), z.shape[1]
    sums = np.empty((along.shape[1], len(PLACES), p, both.shape[1]))
    for axis in range(along.shape[1]):
        part = np.searchsorted(places[:, axis], along[:, axis], side="right").astype(np.int8)
        order = part.argsort(kind="stable")
        ends = np.bincount(part, minlength=len(PLACES) + 1).cumsum()[:-1].tolist()
        left, right = z[order], both[order]
        for i, (start, end) in enumerate(pairwise([0, *ends])):
            np.matmul(left[start:end].T, right[start:end], out=sums[axis, i])
    sums = sums.cumsum(1)
    lower = Products(sums[..., 0, 0], sums[..., :p], sums[..., p:])
    sides = lower, whole - lower
    gains = sides[0].explained() + sides[1].explained()
    gains[np.minimum(sides[0].number, sides[1].number) < least] = -np.inf
    return places, gains


def border_at(along: np.ndarray, place: float) -> tuple[float, float]:
    """The threshold of a cut at a place, and its reach: how far from it a router is decided.

    The reach is the deviation of the samples. If they have few values, such as hours or numbers of
    rooms, the threshold is midway between two of these, and the reach is how far they are from it.

    Args:
        along: values of the samples.
        place: value, with samples on both sides or at it.

    Shapes:
        along ``[n]``.

    Example:
        >>> border_at(np.array([2.0, 2.0, 9.0, 9.0]), 9.0)
        (5.5, 3.5)
    """
    values = np.unique(along)
    if len(values) > min(VALUES, len(along) / 2):
        return place, float(along.std())
    first = int(np.searchsorted(values, place))  # on the right
    low, high = values[first - 1 : first + 1].tolist()
    return (low + high) / 2, (high - low) / 2
