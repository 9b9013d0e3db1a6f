"""Means and deviations of numbers of any size, from 1e-300 to 1e300."""

from __future__ import annotations

import numpy as np


def fractions(
    values: np.ndarray, axis: tuple[int, ...] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The values divided by a power of two about as large as the largest, and its exponent.

    No digit is lost, and neither the squares of the fractions nor their sum leave float64.

    Args:
        values: float32 or float64.
        axis: what shares a power; all values by default.

    Example:
        >>> fractions(np.array([1.0, 6.0]))[0]
        array([0.125, 0.75 ])
    """
    exponent = np.frexp(np.abs(values).max(axis=axis, keepdims=axis is not None))[1]
    return np.ldexp(values, -exponent), exponent


def moments(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the standard deviation of each column of a table, or channel of images.

    Args:
        values: float32 or float64, at least one row.
        weights: what each row counts.

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
