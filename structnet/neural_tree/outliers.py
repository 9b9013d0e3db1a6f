"""Targets far from all others: marks of missing values, slips of the pen, very long tails."""

from __future__ import annotations

import warnings

import numpy as np

SHARE = 0.05  # of the targets, on either side: more of them are no exception
FAR = 2.0  # times the width of all targets on this side of a gap


def far_targets(y: np.ndarray) -> np.ndarray:
    """Which numbers lie beyond a gap that is far wider than all that lies before it?

    The middle nine tenths belong together, and further ones to those before them, up to such a gap.

    Args:
        y: numbers.

    Shapes:
        y ``[n]`` -> ``[n]``, bool.

    Example:
        >>> y = np.arange(100.0)
        >>> y[[7, 8]] = -999
        >>> np.flatnonzero(far_targets(y))
        array([7, 8])
    """
    values = np.sort(y)
    few = int(SHARE * len(values))
    low, high = values[few], values[-1 - few]
    if low == high or few < 2:  # nothing to measure by
        return np.zeros(len(y), bool)
    # Halves, as the width of all numbers need not be one.
    gaps = np.diff(values / 2)
    up, down = values[:-1] / 2 - low / 2, high / 2 - values[1:] / 2
    above = np.flatnonzero((values[:-1] >= high) & (gaps > FAR * up))
    below = np.flatnonzero((values[1:] <= low) & (gaps > FAR * down))
    most = values[above[0]] if len(above) else np.inf
    least = values[below[-1] + 1] if len(below) else -np.inf
    return (y > most) | (y < least)


def warn_of_far_targets(y: np.ndarray) -> None:
    """Says so if a few targets outweigh all others, as their squared errors do.

    Shapes:
        y ``[n]`` or ``[n, columns]``.
    """
    for place, column in enumerate(y.reshape(len(y), -1).T):
        far = far_targets(column)
        if far.any():
            name = f"column {place} of y" if y.size > len(y) else "y"
            values, others = np.unique(column[far]), column[~far]
            told = ", ".join(f"{value:g}" for value in values[:3]) + ", ..." * (len(values) > 3)
            warnings.warn(
                f"{int(far.sum()):,} of {len(y):,} values of {name} lie far from all others: "
                f"{told} beside {others.min():g} to {others.max():g}; the loss sees little "
                "else, so leave out rows where they mark a missing value or are wrong, and take "
                "logarithms of long tails",
                UserWarning,
                stacklevel=5,  # from here to who calls fit, which `whole` wraps
            )
