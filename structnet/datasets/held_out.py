"""Test examples set aside, by a fixed seed."""

from __future__ import annotations

import numpy as np


def hold_out(
    groups: np.ndarray, share: float = 0.2, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows, drawn so that each group gives the same share to the test.

    Args:
        groups: the group of each row: its class, or 0 for all rows where there are none.
        share: of each group; it keeps at least one row for training.
        seed: the same seed gives the same rows.

    Returns:
        Their row numbers, ascending.

    Raises:
        ValueError: the share is not between 0 and 1, or there are too few rows to divide.

    Example:
        >>> train, test = hold_out(np.repeat([0, 1], [10, 20]), share=0.2)
        >>> len(train), np.repeat([0, 1], [10, 20])[test].tolist()
        (24, [0, 0, 1, 1, 1, 1])
    """
    if not 0 < share < 1:
        raise ValueError(f"The share of test rows must be between 0 and 1. Got {share!r}.")
    names, sizes = np.unique(groups, return_counts=True)
    wanted = np.minimum(np.rint(share * sizes).astype(int), sizes - 1)
    if not wanted.any():  # a small share of few rows is still a test
        if sizes.max(initial=0) < 2:
            raise ValueError(f"too few rows to set some aside for testing: {len(groups)}")
        wanted[sizes.argmax()] = 1
    rng = np.random.default_rng(seed)
    is_test = np.zeros(len(groups), bool)
    for group, number in zip(names, wanted, strict=True):
        is_test[rng.permutation(np.flatnonzero(groups == group))[:number]] = True
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)
