"""The scaler of tables, which bends columns with heavy tails until they are nearly normal.

Where a few numbers are far larger than all others, as among sizes of files, a standardized column
has nearly all of its rows at one place, and linear maps tell them apart only with huge weights.

    bent(x) = standardized(Phi^-1(share of the rows below x, and half of those at x))

Phi is the distribution function of the normal distribution. Between at most 64 of its points the
curve is linear, beyond them a logarithm, and always rises, so that a threshold or "high" means the
same in either unit. The points are evenly spaced where the column is bent, not by rows: tails have
few rows, and are what the curve is for.

Reference:
    Gorishniy et al., "Revisiting Deep Learning Models for Tabular Data", NeurIPS 2021, who put all
    columns through quantiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.special import ndtri

from structnet.estimators._tail_kernels import FAR, bend
from structnet.estimators.scale import Standardizer, moments

HEAVY = 3.0  # least excess kurtosis of a heavy tail; a normal column has 0, an exponential one 6
GROUPS = 16  # groups of rows, by size of a column, whose means tell how much it could explain
KNOTS = 64  # points of a curve, beside those around values that many rows share
FARTHEST = 700.0  # largest exponent that float64 can hold
LEAST = 1e-12  # smallest share of the rows for a value to be a point, as its score must be finite
MANY = 1000  # largest number of columns in which tails are looked for: counts of words have more


class Bend(NamedTuple):
    """A curve for one column, which rises and is linear between its points.

    Attributes:
        column: number of the column.
        x: standardized numbers of the column, rising.
        y: bent numbers at these, rising.

    Shapes:
        x, y ``[points]``, float64.
    """

    column: int
    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True, eq=False)
class BentStandardizer(Standardizer):
    """Scales each column to mean 0 and standard deviation 1, and bends those with heavy tails.

    Args:
        mean, sd: numbers to subtract first, and to divide by then, see :class:`.Standardizer`.
        bends: curves for what has been scaled so, at most one for each column.

    Shapes:
        mean, sd: ``[columns]`` or ``[channels, 1, 1]``, float64.

    Example:
        >>> sizes, y = np.exp(np.linspace(0, 9, 100))[:, None], np.arange(100.0)[:, None]
        >>> scale = BentStandardizer.learned(sizes, y)
        >>> [len(bend.x) for bend in scale.bends]
        [51]
        >>> scale(sizes[[0, 49, 50, 99]]).round(1).ravel().tolist()
        [-2.6, -0.0, 0.0, 2.6]
    """

    bends: tuple[Bend, ...] = ()

    @classmethod
    def learned(
        cls, x: np.ndarray | csr_matrix, y: np.ndarray, weights: np.ndarray | None = None
    ) -> BentStandardizer:
        """The scaler fitted to samples.

        A column of a table is bent if its excess kurtosis is above 3, unless a line of the column
        as it is explains more of the targets' variance than the means of 16 groups of rows, from
        the smallest to the largest numbers, all of one size: then the far rows are where they
        should be. A column of two values and images stay as they are, as do tables of more than
        1000 columns.

        Args:
            x: inputs, which may be sparse.
            y: codes of classes, integers, or standardized numbers.
            weights: weight of each sample.

        Shapes:
            x ``[n, columns]`` or ``[n, channels, height, width]``; y ``[n]``, or ``[n, outputs]``
            for numbers; weights ``[n]``.

        Raises:
            ValueError: there are no samples.
        """
        scale = Standardizer.fitted(x, weights)
        if x.ndim != 2 or x.shape[1] > MANY:
            return cls(scale.mean, scale.sd)
        counts = np.ones(len(y)) if weights is None else weights / weights.max()
        counts = counts / counts.sum()
        bends = (_bend(i, z, y, counts) for i, z in enumerate(_columns(x, scale)))
        return cls(scale.mean, scale.sd, tuple(filter(None, bends)))

    @property
    def linear(self) -> bool:
        """True if no column is bent."""
        return not self.bends

    def taking(self, columns: np.ndarray) -> BentStandardizer:
        """The scaler of some of a table's columns, by their places ``[kept]``, ascending."""
        places = {column: place for place, column in enumerate(columns.tolist())}
        kept = (bend for bend in self.bends if bend.column in places)
        bends = tuple(bend._replace(column=places[bend.column]) for bend in kept)
        return BentStandardizer(self.mean[columns], self.sd[columns], bends)

    def to_lists(self) -> list[list]:
        """The means, the standard deviations, and each curve's column and points."""
        bends = [[bend.column, bend.x.tolist(), bend.y.tolist()] for bend in self.bends]
        return [*super().to_lists(), *bends]

    @classmethod
    def from_lists(cls, lists: list[list] | None) -> BentStandardizer | None:
        """The scaler that :meth:`to_lists` wrote; None for None, where nothing is scaled.

        Raises:
            ValueError: a curve does not rise, or is for a column that does not exist.
        """
        if lists is None:
            return None
        mean, sd, *curves = lists
        bends = tuple(Bend(int(i), np.array(x, float), np.array(y, float)) for i, x, y in curves)
        for i, x, y in bends:
            rises = x.shape == y.shape and (np.diff([x, y]) > 0).all()
            if not (rises and x.ndim == 1 and len(x) > 1 and 0 <= i < len(mean)):
                raise ValueError(f"there is no curve for column {i} that rises")
        return cls(np.array(mean), np.array(sd), bends)

    def __call__(self, values: Any) -> Any:
        """Scaled values, in the precision of the values. ``[n, *shape] -> [n, *shape]``."""
        if not self.bends:
            return super().__call__(values)
        values = values.toarray() if issparse(values) else values
        # In float64, as a curve may be steep.
        scaled = np.ascontiguousarray((values - self.mean) / self.sd)
        bend(scaled, *self._curves)
        return scaled.astype(np.result_type(values, np.float32), copy=False)

    @cached_property
    def _curves(self) -> tuple[np.ndarray, ...]:
        """The bent columns ``[b]``, where their curves begin ``[b + 1]``, and all x and all y."""
        columns, x, y = zip(*self.bends, strict=True)
        starts = np.cumsum([0, *map(len, x)])
        return np.array(columns), starts, np.concatenate(x), np.concatenate(y)

    def inverse(self, values: np.ndarray) -> np.ndarray:
        """Scaled values back in their own units. ``[n, *shape] -> [n, *shape]``.

        The result has the precision of the values, or float64 where that cannot hold it.
        """
        if not self.bends:
            return super().inverse(values)
        straight = values.astype(np.float64)
        for i, x, y in self.bends:
            straight[:, i] = _straight(straight[:, i], x, y)
        original = super().inverse(straight)
        if np.abs(original).max(initial=0) > np.finfo(values.dtype).max:
            return original
        return original.astype(values.dtype, copy=False)


def _columns(x: np.ndarray | csr_matrix, scale: Standardizer) -> Iterator[np.ndarray]:
    """The standardized columns one by one, ``[n]``, float64."""
    table: Any = x
    table = table.tocsc() if issparse(x) else x
    for i, (mean, sd) in enumerate(zip(scale.mean, scale.sd, strict=True)):
        column = table[:, [i]].toarray()[:, 0] if issparse(x) else table[:, i]
        yield (column - mean) / sd


def _bend(column: int, z: np.ndarray, y: np.ndarray, counts: np.ndarray) -> Bend | None:
    """The curve of a column; None if it stays as it is. z ``[n]``, counts ``[n]`` of sum 1."""
    if counts @ z**4 - 3 <= HEAVY:
        return None
    values, place = np.unique(z, return_inverse=True)
    shares = np.bincount(place, counts)
    below = shares.cumsum() - shares / 2
    groups = (GROUPS * below).astype(np.int64)[place]
    counted = np.flatnonzero(shares > LEAST)
    if len(counted) < 3:  # any curve through two points is a line
        return None
    if _line_explains(z, y, counts) > _groups_explain(groups, y, counts):
        return None
    values, scores = values[counted], ndtri(below[counted])
    if len(counted) > KNOTS:
        evenly, step = np.linspace(scores[0], scores[-1], KNOTS, retstep=True)
        jumps = np.flatnonzero(np.diff(scores) > step)  # before values that many rows share
        kept = np.unique(np.concatenate((np.searchsorted(scores, evenly), jumps, jumps + 1)))
        values, scores = values[kept], scores[kept]
    [mean], [sd] = moments(np.interp(z, values, scores)[:, None], counts)
    return Bend(column, values, (scores - mean) / sd)


def _straight(numbers: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The inverse of a curve. ``[n] -> [n]``."""
    beyond = (numbers - np.clip(numbers, y[0], y[-1])) / FAR
    farther = np.expm1(np.minimum(np.abs(beyond), FARTHEST)) * (x[-1] - x[0])
    return np.interp(numbers, y, x) + np.sign(beyond) * farther


def _line_explains(z: np.ndarray, y: np.ndarray, counts: np.ndarray) -> float:
    """The share of the targets' variance that a line of one column explains, from 0 to 1."""
    centered = z - counts @ z
    sums = _sums(np.zeros(len(y), np.int64), y, counts * centered)
    return float(np.square(sums).sum() / (counts @ centered**2) / _variance(y, counts))


def _groups_explain(groups: np.ndarray, y: np.ndarray, counts: np.ndarray) -> float:
    """The share of the targets' variance that means of groups explain, from 0 to 1."""
    number = np.maximum(np.bincount(groups, counts), np.finfo(float).tiny)[:, None]
    sums = _sums(groups, y, counts)
    between = (sums**2 / number).sum() - np.square(sums.sum(0)).sum()
    return float(between / _variance(y, counts))


def _sums(groups: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The sums of the targets over groups; each class is a target of ones and zeros.

    Shapes:
        groups, counts ``[n]``; y ``[n]`` or ``[n, outputs]`` -> ``[groups, classes or outputs]``.
    """
    most = 1 + int(groups.max())
    if y.dtype.kind == "i":
        classes = 1 + int(y.max())
        both = np.bincount(groups * classes + y, counts, most * classes)
        return both.reshape(most, classes)
    return np.stack([np.bincount(groups, counts * each, most) for each in y.T], axis=1)


def _variance(y: np.ndarray, counts: np.ndarray) -> float:
    """The sum of the targets' variances, of classes as in :func:`_sums`; 1 if they do not vary."""
    if y.dtype.kind == "i":
        shares = np.bincount(y, counts)
        return float(1 - shares @ shares) or 1.0
    return float((counts @ (y - counts @ y) ** 2).sum()) or 1.0
