"""The side of a plane in words, in the user's names and units of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

MOST = 0.7  # share of a hyperplane's weights that the named columns make up
NAMED = 3  # columns named at most


class Edge(NamedTuple):
    """Where a plane cuts the column that decides on its side.

    Attributes:
        column: number of the column.
        sign: ">" if the plane's function is above 0 for larger values, "<" if for smaller ones.
        at: value of the column on the plane, in the user's units.
        exact: True if no other column has a weight; else the value is that for the others at 0,
            their mean in the inputs of an estimator.
    """

    column: int
    sign: str
    at: float
    exact: bool


def edge_of(
    weight: np.ndarray, bias: float, units: Callable[[np.ndarray], np.ndarray] | None = None
) -> Edge | None:
    """The edge of a plane on whose side one column decides; None if several do, or none.

    Args:
        weight, bias: linear function.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same;
            NaN where a value in these depends on the rest of its row, so that there is no edge.

    Shapes:
        weight ``[columns]``.

    Example:
        >>> edge_of(np.array([0.0, -2.0]), 3.0)
        Edge(column=1, sign='<', at=1.5, exact=True)
    """
    told, rest = most_of(weight)
    if len(told) != 1 or (units is None and rest):
        return None
    column = int(told[0])
    at = np.zeros((1, len(weight)))
    at[0, column] = -bias / weight[column]
    edge = float((at if units is None else units(at))[0, column]) + 0.0  # + 0.0 turns -0 into 0
    if np.isnan(edge):
        return None
    return Edge(column, ">" if weight[column] > 0 else "<", edge, not rest)


def most_of(parts: np.ndarray) -> tuple[np.ndarray, float]:
    """The columns that make up most of a sum of sizes, the largest first, and what the others have.

    Shapes:
        parts ``[columns]`` -> ``[at most NAMED]``.
    """
    size, used = np.abs(parts), np.flatnonzero(parts)
    if not len(used):
        return used, 0.0
    order = used[np.argsort(-size[used], kind="stable")[:NAMED]]
    share = size[order] / size.sum()
    told = order[np.cumsum(share) - share < MOST]
    return told, float(size.sum() - size[told].sum()) if len(told) < len(used) else 0.0


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
    edge = edge_of(weight, bias, units)
    if edge is not None:
        about = "" if edge.exact else "about "
        return f"{name_of(names, edge.column)} {edge.sign} {about}{edge.at:.4g}"
    told, rest = most_of(weight)
    words = [f"{'high' if weight[i] > 0 else 'low'} {name_of(names, i)}" for i in told]
    return ", ".join([*words, "…"] if rest > (1 - MOST) * np.abs(weight).sum() + 1e-12 else words)


def name_of(names: Sequence[str] | None, column: int) -> str:
    """The name of a column, or "feature" and its number if there are no names."""
    return f"feature {column}" if names is None else str(names[column])
