"""The side of a plane in words, in the user's names and units of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from structnet.routing.words import DIGITS, in_digits

MOST = 0.7  # share of a hyperplane's weights that the named columns make up
NAMED = 3  # columns named at most
SAME = 1e-4  # relative difference of variances that rounding may make
EQUALS = " = "  # between a column and one of its words, in the name of a column for that word
MOST_DIGITS = 15  # of a number, which is what float64 has
FEW = 0.1  # weights of others, relative to that of a column of zeros and ones, which it outvotes


class Edge(NamedTuple):
    """The value of a column at which a plane is crossed, if this column alone decides the side.

    Attributes:
        column: number of the column.
        sign: ">" if the plane's function is above 0 for larger values, "<" if for smaller ones.
        at: value of the column on the plane, in the user's units.
        others: size of the other columns' weights, relative to its own; if it is not 0, the value
            is that for the others at 0, their mean in the inputs of an estimator.
    """

    column: int
    sign: str
    at: float
    others: float

    def between(self, yes_no: np.ndarray) -> bool:
        """True if the column has zeros and ones, and they lie on the two sides of the plane.

        Shapes:
            yes_no ``[columns]``.
        """
        return bool(yes_no[self.column]) and 0 <= self.at <= 1

    def words(self, names: Sequence[str] | None, yes_no: np.ndarray, digits: np.ndarray) -> str:
        """The side where the plane's function is above 0, such as "age > 30" or "city is Oslo".

        Args:
            names: names of the columns; by default their numbers.
            yes_no: True for each column of zeros and ones.
            digits: numbers of digits, see :func:`digits_of`.

        Shapes:
            yes_no, digits ``[columns]``.
        """
        if self.between(yes_no):
            mostly = "mostly " if self.others > FEW else ""
            return mostly + value_text(names, self.column, float(self.sign == ">"), yes_no)
        about = "about " if self.others else ""
        at = in_digits(self.at, digits[self.column])
        return f"{name_of(names, self.column)} {self.sign} {about}{at}"


def edge_of(
    weight: np.ndarray, bias: float, units: Callable[[np.ndarray], np.ndarray] | None = None
) -> Edge | None:
    """The edge of a plane if one column alone decides the side; None if several do, or none.

    Args:
        weight, bias: linear function.
        units: function from inputs of the tree to the user's units, ``[n, columns]`` -> the same;
            NaN where a value in these depends on the rest of its row, so that there is no edge.

    Shapes:
        weight ``[columns]``.

    Example:
        >>> edge_of(np.array([0.0, -2.0]), 3.0)
        Edge(column=1, sign='<', at=1.5, others=0.0)
    """
    largest, rest = most_of(weight)
    if len(largest) != 1 or (units is None and rest):
        return None
    column = int(largest[0])
    at = np.zeros((1, len(weight)))
    at[0, column] = -bias / weight[column]
    edge = float((at if units is None else units(at))[0, column]) + 0.0  # + 0.0 turns -0 into 0
    if np.isnan(edge):
        return None
    return Edge(column, ">" if weight[column] > 0 else "<", edge, float(rest / abs(weight[column])))


def most_of(parts: np.ndarray) -> tuple[np.ndarray, float]:
    """The columns with most of the total size, the largest first, and the total of the others.

    Shapes:
        parts ``[columns]`` -> ``[at most NAMED]``.
    """
    size, used = np.abs(parts), np.flatnonzero(parts)
    if not len(used):
        return used, 0.0
    order = used[np.argsort(-size[used], kind="stable")[:NAMED]]
    share = size[order] / size.sum()
    largest = order[np.cumsum(share) - share < MOST]
    return largest, float(size.sum() - size[largest].sum()) if len(largest) < len(used) else 0.0


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
    edge, yes_no = edge_of(weight, bias, units), are_yes_no(len(weight), units)
    if edge is not None:
        return edge.words(names, yes_no, digits_of(len(weight), units))
    largest, rest = most_of(weight)
    words = [level_text(names, i, weight[i] > 0, yes_no) for i in largest.tolist()]
    return ", ".join([*words, "…"] if rest > (1 - MOST) * np.abs(weight).sum() + 1e-12 else words)


def are_yes_no(columns: int, units: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
    """True for each column of zeros and ones, ``[columns]``.

    A column of standardized inputs has them if its variance is m (1 - m), where m is its mean: all
    other numbers from 0 to 1 vary less.

    Args:
        columns: number of columns.
        units: function from standardized inputs to the user's units, ``[n, columns]`` -> the same;
            None if inputs are not standardized, so that nothing is known of them.

    Shapes:
        ``-> [columns]``.

    Example:
        >>> are_yes_no(2, lambda x: x * [0.4, 0.3] + [0.2, 0.2])
        array([ True, False])
    """
    if units is None:
        return np.zeros(columns, bool)
    mean, above = units(np.stack([np.zeros(columns), np.ones(columns)]))
    most = mean * (1 - mean)
    return (most > 0) & (np.abs((above - mean) ** 2 - most) <= SAME * most)


def digits_of(columns: int, units: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
    """The number of digits in which each column's values are told, four or more, ``[columns]``.

    The values of a column that vary little about a large mean, such as years or times, differ in
    late digits alone: they have as many more as its mean has than its deviation.

    Args:
        columns: number of columns.
        units: function from standardized inputs to the user's units, ``[n, columns]`` -> the same;
            None if inputs are not standardized, so that nothing is known of them.

    Shapes:
        ``-> [columns]``.

    Example:
        >>> digits_of(3, lambda x: x * [10, 5, 300] + [40, 2010, 1.7e9])
        array([ 4,  6, 10])
    """
    if units is None:
        return np.full(columns, DIGITS)
    ends = units(np.stack([-np.ones(columns), np.ones(columns)]))
    low, high = np.nan_to_num(ends, posinf=0.0, neginf=0.0)
    size, gap = np.maximum(np.abs(low), np.abs(high)), np.abs(high - low)
    ratio = np.divide(size, gap, out=np.ones(columns), where=gap > 0)
    more = np.floor(np.log10(np.maximum(ratio, 1))).astype(int)
    return np.minimum(DIGITS + more, MOST_DIGITS)


def value_text(
    names: Sequence[str] | None,
    column: int,
    value: float,
    yes_no: np.ndarray,
    digits: np.ndarray | None = None,
) -> str:
    """A value of a column in words: "age = 30", or of zeros and ones "city is (not) Oslo".

    Args:
        names: names of the columns; by default their numbers.
        column: number of the column.
        value: value in the user's units.
        yes_no: True for each column of zeros and ones.
        digits: numbers of digits, see :func:`digits_of`; by default four.

    Shapes:
        yes_no, digits ``[columns]``.

    Example:
        >>> value_text(["city = Oslo"], 0, 0.0, np.array([True]))
        'city is not Oslo'
    """
    name, near = name_of(names, column), round(value, 3)  # as scaling back may lose digits
    if yes_no[column] and near in (0, 1) and EQUALS in name:
        return name.replace(EQUALS, " is " if near else " is not ", 1)
    return f"{name} = {in_digits(value, DIGITS if digits is None else digits[column])}"


def level_text(names: Sequence[str] | None, column: int, high: bool, yes_no: np.ndarray) -> str:
    """High or low values of a column in words, see :func:`value_text`.

    Shapes:
        yes_no ``[columns]``.

    Example:
        >>> level_text(["age"], 0, True, np.array([False]))
        'high age'
    """
    if yes_no[column]:
        return value_text(names, column, float(high), yes_no)
    return f"{'high' if high else 'low'} {name_of(names, column)}"


def name_of(names: Sequence[str] | None, column: int) -> str:
    """The name of a column, or "feature" and its number if there are no names."""
    return f"feature {column}" if names is None else str(names[column])
