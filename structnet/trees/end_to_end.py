"""Lists of different lengths that stand end to end in one array: where each begins and ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def offsets_of(counts: np.ndarray | Sequence[int]) -> np.ndarray:
    """The beginning of each list in an array of all of them end to end, and the end of the last.

    Args:
        counts: lengths of the lists.

    Shapes:
        ``[lists]`` -> ``[lists + 1]``, int64.

    Example:
        >>> offsets_of([2, 0, 3])
        array([0, 2, 2, 5])
    """
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def ranges(begin: np.ndarray | int, counts: np.ndarray) -> np.ndarray:
    """The numbers of several ranges, end to end.

    Args:
        begin: first number of each range, or of all.
        counts: lengths of the ranges.

    Shapes:
        ``[ranges]``, both -> ``[counts.sum()]``, int64.

    Example:
        >>> ranges(np.array([7, 5, 0]), np.array([2, 0, 3]))
        array([7, 8, 0, 1, 2])
    """
    offsets = offsets_of(counts)
    return np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], counts)
