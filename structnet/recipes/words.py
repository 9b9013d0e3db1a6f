"""Numbers as the commands say them."""

from __future__ import annotations


def counted(number: int, one: str, several: str | None = None) -> str:
    """A number of things: of one, or of several, by default the same word with an s.

    Example:
        >>> counted(1, "thread"), counted(1000, "leaf", "leaves")
        ('1 thread', '1,000 leaves')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def outputs(number: int, classes: bool) -> str:
    """What a data set has to predict.

    Example:
        >>> outputs(10, classes=True), outputs(1, classes=False)
        ('10 classes', '1 target')
    """
    return counted(number, "class", "classes") if classes else counted(number, "target")
