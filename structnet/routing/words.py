"""Formats numbers and tables as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # not for help, which is shown at once
    import numpy as np

DIGITS = 4  # of a number
WHOLE = 1e15  # below which a float64 has all digits of a whole number


def percent(share: float, digits: int = 0) -> str:
    """A share, from 0 to 1, in percent.

    Example:
        >>> percent(0.137), percent(0.137, 1)
        ('14 %', '13.7 %')
    """
    return f"{100 * share:.{digits}f} %"


def in_digits(value: float, digits: int = DIGITS, plus: bool = False) -> str:
    """A number in some digits, or more if its whole part has more, as a table may have it.

    Args:
        value: number.
        digits: number of digits.
        plus: True for a sign before a number above 0, too.

    Example:
        >>> in_digits(390364.9), in_digits(2019.46), in_digits(0.1234567), in_digits(1.5e20)
        ('390365', '2019', '0.1235', '1.5e+20')
        >>> in_digits(2019.46, 6), in_digits(3.5, plus=True)
        ('2019.46', '+3.5')
    """
    form = ".0f" if 10**digits <= abs(value) + 0.5 < WHOLE else f".{digits}g"
    return f"{value:{'+' if plus else ''}{form}}"


def in_digits_each(
    values: Sequence[float] | np.ndarray,
    digits: Sequence[int] | np.ndarray = (),
    plus: bool = False,
) -> list[str]:
    """Each of several numbers, see :func:`in_digits`.

    Args:
        values: numbers.
        digits: number of digits of each; empty for four.
        plus: True for a sign before numbers above 0, too.

    Shapes:
        both ``[n]``.
    """
    pairs = zip(values, digits if len(digits) else [DIGITS] * len(values), strict=True)
    return [in_digits(value, each, plus) for value, each in pairs]


def leaf_words(number: int) -> str:
    """A number of leaves, in words.

    Example:
        >>> leaf_words(1), leaf_words(1200)
        ('1 leaf', '1,200 leaves')
    """
    return "1 leaf" if number == 1 else f"{number:,} leaves"


def decided_words(decided: float | None) -> str:
    """How decided routers are, in words; empty if there are none, or if all are certain.

    Example:
        >>> decided_words(0.937), decided_words(1.0), decided_words(None)
        ('routers decided 93.7 %', '', '')
    """
    if decided is None or decided > 1 - 1e-9:
        return ""
    return f"routers decided {percent(decided, 1)}"


def aligned(rows: Sequence[Sequence[str]], names: bool = False) -> list[str]:
    """The rows of a table as lines, with fields aligned at the right.

    Args:
        rows: fields of each row, equally many.
        names: True if the first column has names, which are aligned at the left.

    Example:
        >>> aligned([["", "leaves"], ["one", "8"], ["another", "12"]], names=True)
        ['         leaves', 'one           8', 'another      12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            field.ljust(width) if names and not i else field.rjust(width)
            for i, (field, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
