"""Numbers as people read them."""

from __future__ import annotations


def percent(share: float, digits: int = 0) -> str:
    """A share of 1 in percent.

    Example:
        >>> percent(0.137), percent(0.137, 1)
        ('14 %', '13.7 %')
    """
    return f"{100 * share:.{digits}f} %"
