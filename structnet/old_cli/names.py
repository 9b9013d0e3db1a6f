"""Names that arguments and commands share. Nothing here imports torch or numpy.

The library has some of them too, where importing them would import torch; a test compares.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

TABLES = (".csv", ".tsv")  # how the name of a table ends
PATHS = ("multi", "greedy", "stochastic", "most_likely", "least_likely")  # through a neural tree


def is_table(data: str) -> bool:
    """Is it the path of a table, and not the name of a data set?

    Example:
        >>> is_table("houses.CSV"), is_table("mnist")
        (True, False)
    """
    return data.lower().endswith(TABLES)


def data_name(known: Iterable[str]) -> Callable[[str], str]:
    """The type of an argument that is one of the known data sets, or the path of a table.

    Example:
        >>> data_name(["mnist"])("houses.csv")
        'houses.csv'
    """
    known = tuple(known)

    def convert(text: str) -> str:
        if text not in known and not is_table(text):
            raise argparse.ArgumentTypeError(
                f"must be one of {', '.join(known)}, or FILE.csv or FILE.tsv; got {text!r}"
            )
        return text

    return convert
