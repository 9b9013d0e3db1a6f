"""The library's only scaler: mean 0 and standard deviation 1, for numbers from 1e-300 to 1e300."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

BLOCK = 2**22  # numbers of a sparse matrix that are made dense at a time
ODD = 30  # times the size of sparse rows' middle entry, above which a column has its own scale


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Scales each column (of images: each channel) to mean 0 and standard deviation 1.

    Args:
        mean: numbers to subtract first.
        sd: numbers to divide by.

    Shapes:
        mean, sd: ``[columns]`` or ``[channels, 1, 1]``, float64; ``[1]`` if all columns share one
        scale.

    Example:
        >>> standardize = Standardizer.fitted(np.array([[1.0, 5.0], [3.0, 5.0]]))
        >>> standardize(np.array([[5.0, 6.0]]))
        array([[3., 1.]])
        >>> standardize.inverse(np.array([[3.0, 1.0]]))
        array([[5., 6.]])
    """

    mean: np.ndarray
    sd: np.ndarray

    @classmethod
    def fitted(
        cls, values: np.ndarray | csr_matrix, weights: np.ndarray | None = None
    ) -> Standardizer:
        """The scaler fitted to some values; a constant column is moved to 0 but not divided.

        Args:
            values: rows, which may be sparse, or images; float32 or float64.
            weights: weight of each row or image.

        Shapes:
            values ``[n, columns]`` or ``[n, channels, height, width]``; weights ``[n]``.

        Raises:
            ValueError: there are no values.
        """
        if not values.shape[0]:
            raise ValueError("there are no rows to find a scale from; expected at least 1")
        if issparse(values):
            parts = [moments(block, weights) for block in _dense_blocks(values)]
            mean, sd = map(np.concatenate, zip(*parts, strict=True))
        else:
            mean, sd = moments(values, weights)
        # Rounding alone may make a column of one value deviate by some of its last digits.
        constant = sd <= 10 * np.finfo(values.dtype).eps * np.abs(mean)
        return cls(mean, np.where(constant, 1.0, sd))

    @classmethod
    def of_entries(cls, rows: csr_matrix, weights: np.ndarray | None = None) -> Standardizer:
        """The scaler of sparse rows that stay sparse: all their entries together get mean square 1.

        A column of far larger numbers, such as dates among shares of words, gets a scale of its
        own, so that it does not make all other columns small.

        Args:
            rows: sparse rows, whose zeros do not count, stored or not.
            weights: weight of each row.

        Shapes:
            rows ``[n, columns]``; weights ``[n]``.

        Example:
            >>> Standardizer.of_entries(csr_matrix([[0.0, 30.0], [30.0, 0.0]])).sd
            array([30.])
        """
        there = rows.data != 0
        if not there.any():
            return cls(np.zeros(1), np.ones(1))
        parts, exponent = fractions(rows.data[there])
        count = np.ones(len(parts))
        if weights is not None:
            count = fractions(np.repeat(weights, np.diff(rows.indptr))[there])[0]
        of, columns = rows.indices[there], rows.shape[1]
        number = np.bincount(of, count, columns)
        squares = np.bincount(of, count * np.square(parts, dtype=np.float64), columns)
        mean = squares / np.maximum(number, np.finfo(float).tiny)
        order = np.argsort(mean)
        middle = order[np.searchsorted(number[order].cumsum(), number.sum() / 2)]
        odd = mean > ODD**2 * mean[middle]
        common = max(squares[~odd].sum() / number[~odd].sum(), np.finfo(float).tiny)
        sd = np.sqrt(np.where(odd, mean, common)) if odd.any() else np.sqrt([common])
        return cls(np.zeros(1), np.ldexp(sd, exponent))

    @classmethod
    def of_rows(
        cls, rows: np.ndarray | csr_matrix, weights: np.ndarray | None = None
    ) -> Standardizer:
        """The scaler of rows that stay dense or sparse: :meth:`fitted`, or :meth:`of_entries`.

        Args:
            rows: dense or sparse rows.
            weights: weight of each row.

        Shapes:
            rows ``[n, columns]``; weights ``[n]``.
        """
        fitted = cls.of_entries if issparse(rows) else cls.fitted
        return fitted(rows, weights)

    @property
    def keeps_zeros(self) -> bool:
        """True if nothing is subtracted, so that sparse values stay sparse."""
        return self.mean.shape == (1,) and not self.mean.any()

    @property
    def linear(self) -> bool:
        """True if scaling only subtracts the mean and divides by the deviation."""
        return True

    def of(self, columns: int) -> list[np.ndarray]:
        """The mean and the standard deviation of each of ``columns`` columns, ``[columns]``."""
        return [np.resize(each, columns) for each in (self.mean, self.sd)]

    def taking(self, columns: np.ndarray) -> Standardizer:
        """The scaler of some of a table's columns, by their places ``[kept]``, ascending."""
        return replace(self, mean=self.mean[columns], sd=self.sd[columns])

    def to_lists(self) -> list[list]:
        """The means and the standard deviations as lists, for JSON and :meth:`from_lists`."""
        return [self.mean.tolist(), self.sd.tolist()]

    @classmethod
    def from_lists(cls, lists: list[list] | None) -> Standardizer | None:
        """The scaler that :meth:`to_lists` wrote; None for None, where nothing is scaled."""
        return None if lists is None else cls(*map(np.array, lists))

    def __call__(self, values: Any) -> Any:
        """Standardized values, in the precision of the values. ``[n, *shape] -> [n, *shape]``.

        Sparse values (CSR) become dense, unless nothing is subtracted.
        """
        if issparse(values):
            if self.keeps_zeros:
                sd = self.sd if len(self.sd) == 1 else self.sd[values.indices]
                kept = Standardizer(self.mean, sd)(values.data), values.indices, values.indptr
                return type(values)(kept, shape=values.shape)
            values = values.toarray()
        scaled = (values - self.mean) / self.sd
        return scaled.astype(np.result_type(values, np.float32), copy=False)

    def inverse(self, values: np.ndarray) -> np.ndarray:
        """Standardized values back in their own units. ``[n, *shape] -> [n, *shape]``.

        The result has the precision of the values, or float64 where that cannot hold it.
        """
        original = values * self.sd + self.mean
        if np.abs(original).max(initial=0) > np.finfo(values.dtype).max:
            return original
        return original.astype(values.dtype, copy=False)


def _dense_blocks(values: csr_matrix) -> Iterator[np.ndarray]:
    """The values in dense blocks of some columns each, ``[n, some]``."""
    columns, some = values.tocsc(), max(BLOCK // values.shape[0], 1)
    for start in range(0, values.shape[1], some):
        yield columns[:, start : start + some].toarray()


def fractions(
    values: np.ndarray, axis: tuple[int, ...] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The values divided by a power of two about as large as the largest, and its exponent.

    No digit is lost, and the squares of the fractions and their sum stay in the range of float64.

    Args:
        values: numbers, float32 or float64.
        axis: axes along which values share a power; by default all values share one.

    Shapes:
        values ``[...]`` -> ``[...]``, and the exponent with length 1 along the axes.

    Example:
        >>> fractions(np.array([1.0, 6.0]))[0]
        array([0.125, 0.75 ])
    """
    exponent = np.frexp(np.abs(values).max(axis=axis, keepdims=axis is not None))[1]
    return np.ldexp(values, -exponent), exponent


def moments(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the standard deviation of each column of a table, or channel of images.

    Args:
        values: at least one row, float32 or float64.
        weights: weight of each row; by default 1.

    Shapes:
        values ``[n, columns]`` or ``[n, channels, height, width]``; weights ``[n]``; both results
        ``[columns]`` or ``[channels, 1, 1]``, float64.

    Example:
        >>> moments(np.array([[1e200], [3e200]]))
        (array([2.e+200]), array([1.e+200]))
    """
    others = (0, *range(2, values.ndim))
    parts, exponent = fractions(values, others)
    weights = None if weights is None else fractions(weights)[0]

    def mean_of(numbers: np.ndarray) -> np.ndarray:
        pixels = numbers.reshape(*numbers.shape[:2], -1).mean(2, dtype=np.float64)
        means = np.average(pixels, axis=0, weights=weights)
        return means.reshape(-1, *[1] * (numbers.ndim - 2))

    # Measured from the smallest, the mean of equal numbers is exactly theirs.
    least = parts.min(axis=others, keepdims=True).astype(np.float64)
    above = parts - least
    mean = mean_of(above)
    deviation = np.sqrt(mean_of(np.square(above - mean)))
    return np.ldexp(mean + least[0], exponent[0]), np.ldexp(deviation, exponent[0])
