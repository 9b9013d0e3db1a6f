"""The plane of two columns in which residuals have a joint pattern, and rotations of its axes.

A pattern that is aligned with no column, such as a rotated checkerboard, has no first cut across a
column that explains anything. So before any cut, a smooth surface is fitted over each pair of
columns to find the pair with a pattern.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

DEGREE = 8  # total degree of the polynomials, which still fit a board of five by five fields
TURNS = 9  # angles of the two axes, 10 degrees apart, that are tried first
FINER = 2  # number of times that the angles beside the best one are tried, each half as far apart
RIDGE = 1e-5  # ridge for each sample, as there are regions without samples
MOST = 32  # largest number of columns; more have too many pairs


def plane_of(x: np.ndarray, residuals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The two columns, as unit vectors, of which a smooth function best explains the residuals.

    Args:
        x: samples.
        residuals: numbers to explain.
        weights: weights of the samples.

    Shapes:
        x ``[n, columns]``, residuals ``[n, outputs]``, weights ``[n]`` -> ``[2, columns]``.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(500, 3))
        >>> plane_of(x, x[:, :1] * x[:, 2:], np.ones(500))
        array([[1., 0., 0.],
               [0., 0., 1.]])
    """
    columns = x.shape[1]
    low, high = x.min(0), x.max(0)
    within = 2 * (x - low) / np.maximum(high - low, 1e-12) - 1
    powers = np.polynomial.legendre.legvander(within, DEGREE)  # [n, columns, 1 + DEGREE]
    root = np.sqrt(weights)[:, None]
    pairs = [*combinations(range(columns), 2)]
    explained = [_explained(_surface(powers[:, p]) * root, residuals * root) for p in pairs]
    return np.eye(columns)[list(pairs[int(np.argmax(explained))])]


def turned(plane: np.ndarray, angle: float) -> np.ndarray:
    """The two axes of a plane, rotated by an angle in radians. ``[2, columns]``.

    Example:
        >>> turned(np.eye(2), np.pi / 2).round(3).tolist()
        [[0.0, 1.0], [-1.0, 0.0]]
    """
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, sin], [-sin, cos]]) @ plane


def _surface(powers: np.ndarray) -> np.ndarray:
    """The products of two columns' polynomials up to the total degree.

    Shapes:
        ``[n, 2, 1 + DEGREE] -> [n, products]``.
    """
    first, second = np.nonzero(np.add.outer(range(DEGREE + 1), range(DEGREE + 1)) <= DEGREE)
    return powers[:, 0, first] * powers[:, 1, second]


def _explained(surface: np.ndarray, residuals: np.ndarray) -> float:
    """The sum of squares of the residuals that a surface explains."""
    squares = surface.T @ surface + RIDGE * len(surface) * np.eye(surface.shape[1])
    both = surface.T @ residuals
    return float((both * np.linalg.solve(squares, both)).sum())
