"""How much one model is better than another on the same samples, and how surely.

Whatever is chosen by held-out samples, such as a deeper tree, another cell or a second part of a
model, is chosen only if its gain exceeds some of its own standard errors.
"""

from __future__ import annotations

import math

import numpy as np


def gained(
    before: np.ndarray, after: np.ndarray, weights: np.ndarray | None = None
) -> tuple[float, float]:
    """The weighted mean decrease of losses, and its standard error.

    As the same samples are evaluated before and after, their difficulty cancels: the error is that
    of the differences. It is infinite if only one sample counts.

    Args:
        before, after: losses of the same samples.
        weights: weights of the samples, on any scale; None for equal weights.

    Shapes:
        all three ``[n]``.

    Example:
        >>> gained(np.array([2.0, 3.0]), np.array([1.0, 1.0]))
        (1.5, 0.5)
    """
    weights = np.full(len(before), 1 / len(before)) if weights is None else weights / weights.sum()
    drops = before - after
    gain = float(weights @ drops)
    # Bessel's correction, with Kish's effective number of samples.
    squares, rest = float(weights**2 @ (drops - gain) ** 2), 1 - float(weights @ weights)
    return gain, math.sqrt(squares / rest) if rest > 0 else math.inf
