"""Targets far from all others: marks of missing values, and mistyped numbers.

The largest number of a long tail, such as incomes or sizes, also lies far from the second, but no
longer does so once logarithms are taken; a mark or a mistyped number still does.
"""

from __future__ import annotations

import warnings

import numpy as np

SHARE = 0.05  # of the targets, on either side: more of them are no exception
FAR = 2.0  # times the width of all targets on this side of a gap
FAR_IN_LOGARITHMS = 1.0  # likewise, where both numbers and widths are logarithms


def far_targets(y: np.ndarray) -> np.ndarray:
    """Finds the numbers beyond a gap that is far wider than the range of all numbers before it.

    The middle nine tenths of the numbers belong together, and each number further out to those
    before it, up to a gap that is that wide in the numbers themselves and also in their ``asinh``,
    which far from 0 is a logarithm on either side.

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
    values = np.sort(y) / 2  # halves, as the width of all numbers need not be one
    few = int(SHARE * len(values))
    low, high = values[few], values[-1 - few]
    if low == high or few < 2:  # nothing to measure by
        return np.zeros(len(y), bool)
    with np.errstate(over="ignore", invalid="ignore"):  # what is infinitely far is far
        logarithms = np.arcsinh((values - values[len(values) // 2]) / (high - low))
        straight, bent = _parting(values, few, FAR), _parting(logarithms, few, FAR_IN_LOGARITHMS)
    after, before = (np.flatnonzero(a & b) for a, b in zip(straight, bent, strict=True))
    most = values[after[0]] if len(after) else np.inf
    least = values[before[-1] + 1] if len(before) else -np.inf
    return (y / 2 > most) | (y / 2 < least)


def _parting(values: np.ndarray, few: int, far: float) -> tuple[np.ndarray, np.ndarray]:
    """True after each sorted number where a wide gap separates a few large ones, or small ones.

    Shapes:
        values ``[n]`` -> both ``[n - 1]``, bool.
    """
    low, high, gaps = values[few], values[-1 - few], np.diff(values)
    above = (values[:-1] >= high) & (gaps > far * (values[:-1] - low))
    below = (values[1:] <= low) & (gaps > far * (high - values[1:]))
    return above, below


def warn_of_far_targets(y: np.ndarray, stacklevel: int) -> None:
    """Warns if a few targets lie so far out that their squared errors outweigh all others.

    Args:
        y: targets.
        stacklevel: number of calls from here to the user's code, as for ``warnings.warn``.

    Shapes:
        y ``[n]`` or ``[n, columns]``.
    """
    for place, column in enumerate(y.reshape(len(y), -1).T):
        far = far_targets(column)
        if far.any():
            name = f"column {place} of y" if y.size > len(y) else "y"
            values, others = np.unique(column[far]), column[~far]
            listed = ", ".join(f"{value:g}" for value in values[:3]) + ", ..." * (len(values) > 3)
            warnings.warn(
                f"{int(far.sum()):,} of {len(y):,} values of {name} lie far from all others: "
                f"{listed} beside {others.min():g} to {others.max():g}; they dominate the loss, "
                "so leave out rows where they mark a missing value or are wrong, and take "
                "logarithms of long tails",
                UserWarning,
                stacklevel=stacklevel,
            )
