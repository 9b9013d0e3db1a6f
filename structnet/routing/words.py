"""Formats numbers and tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def percent(share: float, digits: int = 0) -> str:
    """A share, from 0 to 1, in percent.

    Example:
        >>> percent(0.137), percent(0.137, 1)
        ('14 %', '13.7 %')
    """
    return f"{100 * share:.{digits}f} %"


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
