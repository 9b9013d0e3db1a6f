"""How much one model is better than another on the same samples, and how surely.

A deeper tree, another cell or a second part of a model costs more, and the best of several is best
by chance, too: one is taken in place of a simpler one if its gain on held-out samples exceeds some
of its own standard errors.
"""

from __future__ import annotations

import math

import numpy as np


def gained(
    before: np.ndarray,
    after: np.ndarray,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> tuple[float, float]:
    """The weighted mean decrease of losses, and its standard error.

    As the same samples are evaluated before and after, their difficulty cancels: the error is that
    of the differences. It is infinite if only one sample counts. Samples of one group may be alike:
    the groups, then, are what varies by chance.

    Args:
        before, after: losses of the same samples; True for mistakes counts 1.
        weights: weights of the samples, on any scale; None for equal weights.
        groups: group of each sample; None if each is a group by itself.

    Shapes:
        all four ``[n]``.

    Example:
        >>> gained(np.array([2.0, 3.0]), np.array([1.0, 1.0]))
        (1.5, 0.5)
        >>> before, after = np.repeat([2.0, 3.0], 32), np.ones(64)
        >>> gained(before, after, groups=np.repeat([0, 1], 32))
        (1.5, 0.5)
    """
    drops = np.subtract(before, after, dtype=np.float64)
    gain = float(np.average(drops, weights=weights))
    shares = np.full(len(drops), 1 / len(drops)) if weights is None else weights / weights.sum()
    noise = shares * (drops - gain)
    if groups is not None:
        _, place = np.unique(groups, return_inverse=True)
        noise, shares = np.bincount(place, noise), np.bincount(place, shares)
    # Bessel's correction, with Kish's effective number of samples.
    squares, rest = float(noise @ noise), 1 - float(shares @ shares)
    return gain, math.sqrt(squares / rest) if rest > 0 else math.inf


def is_better(
    before: np.ndarray,
    after: np.ndarray,
    errors: float,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> bool:
    """True if the mean of losses falls by more than some standard errors; see :func:`gained`.

    Args:
        before, after, weights, groups: losses of the same samples, and more, as there.
        errors: number of standard errors; 0 if any fall is enough.

    Shapes:
        before, after, weights, groups ``[n]``.

    Example:
        >>> before, after = np.array([2.0, 3.0]), np.array([1.0, 1.0])
        >>> is_better(before, after, 2), is_better(before, after, 4), is_better(after, before, 0)
        (True, False, False)
    """
    gain, error = gained(before, after, weights, groups)
    # If one sample alone differs, the gain is one error: rounding must not decide.
    return gain > (errors * error * (1 + 1e-9) if errors else 0.0)
