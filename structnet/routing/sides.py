"""The side of a plane in words, in the user's names and units of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

MOST = 0.7  # share of a hyperplane's weights that the named columns make up
NAMED = 3  # columns named at most


def side_of(
    weight: np.ndarray,
    bias: float,
    names: Sequence[str] | None = None,
    units: Callable[[np.ndarray], np.ndarray] | None = None,
) -> str:
    """The side of a plane on which its function is above 0, in words; "" if it is everywhere alike.

    Args:
        weight, bias: linear function.
        names: names of the columns; by default their numbers.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same.

    Shapes:
        weight ``[columns]``.

    Example:
        >>> side_of(np.array([0.0, -2.0]), 3.0, ["age", "height"])
        'height < 1.5'
    """
    size, used = np.abs(weight), np.flatnonzero(weight)
    if not len(used):
        return ""
    order = used[np.argsort(-size[used], kind="stable")[:NAMED]]
    share = size[order] / size.sum()
    told = order[np.cumsum(share) - share < MOST]
    rest = size.sum() - size[told].sum()
    if len(told) == 1 and (units is not None or not rest):
        column = int(told[0])
        at = np.zeros((1, len(weight)))
        at[0, column] = -bias / weight[column]
        edge = float((at if units is None else units(at))[0, column]) + 0.0  # + 0.0 turns -0 into 0
        sign, about = ">" if weight[column] > 0 else "<", "about " if rest else ""
        return f"{name_of(names, column)} {sign} {about}{edge:.4g}"
    words = [f"{'high' if weight[i] > 0 else 'low'} {name_of(names, i)}" for i in told]
    return ", ".join([*words, "…"] if rest > (1 - MOST) * size.sum() + 1e-12 else words)


def name_of(names: Sequence[str] | None, column: int) -> str:
    """The name of a column, or "feature" and its number if there are no names."""
    return f"feature {column}" if names is None else str(names[column])
