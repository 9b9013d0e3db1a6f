"""Regions of a table in which residuals are linear, each explained by a line of its own.

They are the leaves of a model tree: cuts across an axis, the one first that explains most, with
least squares on both sides. Cuts are made beyond those that pay, as the first of a pattern may only
pay together with the next ones; then as many are kept as the Bayesian information criterion is best
with. The axes are the columns, or two that lie across them in a plane, if these are clearly better.
Their angle is found step by step, as a board of many cells is only seen at nearly its own.

Where there are too few samples for lines of all columns, those of the few are taken that explain
most by themselves, each cut once: 1, 2, 4, 8 or 16 of them, and the criterion pays for their
choice.

Reference:
    Quinlan, Learning with Continuous Classes, 1992; Schwarz, Estimating the Dimension of a Model,
    Annals of Statistics, 1978; Chen and Chen, Extended Bayesian Information Criteria, Biometrika,
    2008.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structnet.neural_tree.growth.planes import FINER, MOST, TURNS, plane_of, turned

PLACES = np.arange(1, 16) / 16  # quantiles along an axis at which a region may be cut
EVIDENCE = 0.25  # of a sample, in nats: if a cut must explain more, there are too few of them
PATTERN = 4  # regions that there must be room for, or axes need not be turned
MANY = 1000  # columns, of which the few are not looked for among more
FEW = 16  # columns that are tried together at most: of 128, a search would take half a minute
RIDGE = 1e-3  # of a column's square: lines of constant columns and of few samples exist


class Cut(NamedTuple):
    """What makes two regions of one.

    Attributes:
        gain: squares of the residuals that two lines explain beyond one.
        axis, threshold: the samples below go left; the axis is its number.
        members: are the samples in the region? ``[n]``, bool.
    """

    gain: float
    axis: int
    threshold: float
    members: np.ndarray


class Regions(NamedTuple):
    """A tree of cuts.

    Attributes:
        children: the two nodes below each node; none below a region.
        cuts: the cut at each node; None at a region.
        axes: unit vectors, along which samples are measured and cut: ``x @ axis``.

    Shapes:
        axes ``[axes, columns]``.
    """

    children: list[tuple[int, ...]]
    cuts: list[Cut | None]
    axes: np.ndarray


class Products(NamedTuple):
    """Sums of products, which tell what a line explains.

    Shapes:
        number ``[...]``, squares ``[..., p, p]``, both ``[..., p, outputs]``.
    """

    number: np.ndarray
    squares: np.ndarray
    both: np.ndarray

    def __sub__(self, other: Products) -> Products:
        return Products(*(a - b for a, b in zip(self, other, strict=True)))

    def explained(self) -> np.ndarray:
        """Squares of the residuals that a line explains. ``[...]``."""
        ridge = RIDGE * np.einsum("...pp->...", self.squares) / self.squares.shape[-1] + 1e-12
        lines = np.linalg.solve(
            self.squares + ridge[..., None, None] * np.eye(self.squares.shape[-1]), self.both
        )
        return (lines * (2 * self.both - self.squares @ lines)).sum((-2, -1))


def find_regions(
    x: np.ndarray, residuals: np.ndarray, weights: np.ndarray, most: int, least: float
) -> Regions | None:
    """The regions that pay; a single one if none does; None if there are too few samples to tell.

    Of too few samples for all columns, those of the few columns that tell most, if they pay.

    Args:
        x: samples.
        residuals: numbers to be explained.
        weights: count of each.
        most: most regions.
        least: count of the samples that each region must have.

    Shapes:
        x ``[n, columns]``, residuals ``[n, outputs]``, weights ``[n]``.

    Example:
        >>> x = np.linspace(-1, 1, 200)[:, None]
        >>> found = find_regions(x, np.abs(x) - 0.5, np.ones(200), most=4, least=8)
        >>> found.children, abs(found.cuts[0].threshold) < 0.1
        ([(1, 2), (), ()], True)
    """
    price = _price(x.shape[1], weights)
    if price > EVIDENCE * len(x):
        return _of_few_columns(x, residuals, weights, most, least)
    columns = np.eye(x.shape[1])
    best, regions = _paying(x, residuals, weights, columns, most, least)
    if weights.sum() < PATTERN * least or not 2 <= x.shape[1] <= MOST:
        return regions
    value, across = _turned(x, residuals, weights, most, least, best)
    # What is harder to read must be better, by as much as one more region must be.
    return across if value < best - price else regions


def _of_few_columns(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, most: int, least: float
) -> Regions | None:
    """The regions that pay by lines of a few columns, and cuts across them; None if none do."""
    if x.shape[1] > MANY:
        return None
    telling = np.argsort([-_told_by(column, y, weights, least) for column in x.T], kind="stable")
    found: tuple[float, Regions | None] = 0.0, None
    number = 1
    while number <= min(FEW, x.shape[1] - 1) and _price(number, weights) <= EVIDENCE * len(x):
        axes = np.zeros((number, x.shape[1]))
        axes[np.arange(number), np.sort(telling[:number])] = 1.0
        value, regions = _paying(x, y, weights, axes, most, least)
        value += number * math.log(x.shape[1])  # for being these and no others
        found = min(found, (value, regions), key=lambda each: each[0])
        number *= 2
    return found[1]


def _told_by(column: np.ndarray, y: np.ndarray, weights: np.ndarray, least: float) -> float:
    """Squares that lines of one column explain on both sides of its best cut."""
    z = np.column_stack([np.ones(len(column)), column])
    cut = _best_cut(z, y, weights, least)
    return float(_products(z, y, weights).explained()) + (0.0 if cut is None else cut.gain)


def _turned(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, most: int, least: float, straight: float
) -> tuple[float, Regions]:
    """The regions that pay along two axes of a plane, and their criterion.

    The more cells a side has, the less an angle may be off: a coarse one that already does better
    than the columns, whose criterion is ``straight``, is made finer.
    """
    plane, step = plane_of(x, y, weights), math.pi / 2 / TURNS

    def best_of(angles: Iterable[float]) -> tuple[float, float, Regions]:
        tried = [(a, *_paying(x, y, weights, turned(plane, a), most, least)) for a in angles]
        return min(tried, key=lambda each: each[1])

    best = best_of(step * i for i in range(TURNS))
    for finer in range(1, 1 + FINER if best[1] < straight else 1):
        beside = best_of(best[0] + sign * step / 2**finer for sign in (-1, 1))
        best = min(best, beside, key=lambda each: each[1])
    return best[1:]


def _price(axes: int, weights: np.ndarray) -> float:
    """What one more region must explain, in nats: a line, and the place of the cut."""
    return (axes + 2) * math.log(max(float(weights.sum()), 2.0))


def _paying(
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    axes: np.ndarray,
    most: int,
    least: float,
) -> tuple[float, Regions]:
    """The regions that pay, by their lines and cuts along some axes; and their criterion, which is
    0 of a single one and lower of better ones."""
    z = np.column_stack([np.ones(len(x)), x @ axes.T])
    regions, left = _grown(z, y, weights, axes, most, max(least, len(axes) + 2))
    logs = float(weights.sum()) * np.log(np.maximum(left, 1e-12))
    values = logs - logs[0] + _price(len(axes), weights) * np.arange(len(left))
    i = int(values.argmin())
    return float(values[i]), _first(regions, 1 + 2 * i)


def _grown(
    z: np.ndarray, y: np.ndarray, weights: np.ndarray, axes: np.ndarray, most: int, least: float
) -> tuple[Regions, list[float]]:
    """As many regions as there may be, and the squares left after each number of cuts."""
    regions = Regions([()], [None], axes)
    left = [float(weights @ np.square(y).sum(1) - _products(z, y, weights).explained())]
    waiting: list[tuple[float, int, Cut]] = []  # the one that explains most first

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
        look(first, weights * (cut.members & below))
        look(first + 1, weights * (cut.members & ~below))
        left.append(left[-1] - cut.gain)
    return regions, left


def _first(regions: Regions, nodes: int) -> Regions:
    """The tree as it was when it had so many nodes."""
    children = [below if below and below[0] < nodes else () for below in regions.children[:nodes]]
    cuts = [cut if below else None for cut, below in zip(regions.cuts, children, strict=False)]
    return Regions(children, cuts, regions.axes)


def _products(z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Products:
    weighted = z.T * weights
    return Products(weights.sum(), weighted @ z, weighted @ y)


def _best_cut(z: np.ndarray, y: np.ndarray, weights: np.ndarray, least: float) -> Cut | None:
    members = weights > 0
    z, y, weights = z[members], y[members], weights[members]
    if weights.sum() < 2 * least:
        return None
    whole, best, p = _products(z, y, weights), None, z.shape[1]
    alone, both = whole.explained(), np.column_stack([z, y]) * weights[:, None]
    for axis, along in enumerate(z.T[1:]):
        places = np.unique(np.quantile(along, PLACES))
        part = np.searchsorted(places, along, side="right").astype(np.int8)
        order = part.argsort(kind="stable")
        ends = np.bincount(part, minlength=len(places) + 1).cumsum()[:-1].tolist()
        left, right = z[order], both[order]
        sums = np.array([left[i:j].T @ right[i:j] for i, j in pairwise([0, *ends])]).cumsum(0)
        lower = Products(sums[:, 0, 0], sums[..., :p], sums[..., p:])
        upper = whole - lower
        sides = Products(*(np.stack(pair) for pair in zip(lower, upper, strict=True)))
        gains = sides.explained().sum(0) - alone
        gains[sides.number.min(0) < least] = -np.inf
        i = int(gains.argmax())
        if gains[i] > (0.0 if best is None else best.gain):
            best = Cut(float(gains[i]), axis, float(places[i]), members)
    return best
