"""The user's own files, which may be compressed, as the ending of their names says."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


def kind_of(path: PurePath) -> str:
    """The ending of a file's name, without that of its compression, in lower case.

    Example:
        >>> kind_of(PurePath("houses.CSV.gz")), kind_of(PurePath("houses.tsv"))
        ('.csv', '.tsv')
    """
    return unpacked(path).suffix.lower()


def unpacked(path: PurePath) -> PurePath:
    """The path without the ending of a compression.

    Example:
        >>> unpacked(PurePath("houses.csv.gz")).name, unpacked(PurePath("houses.csv")).name
        ('houses.csv', 'houses.csv')
    """
    return path.with_suffix("") if path.suffix.lower() in OPENERS else path


def stem_of(path: PurePath) -> str:
    """The name of a file without its ending, and without that of its compression.

    Example:
        >>> stem_of(PurePath("my.houses.csv.gz")), stem_of(PurePath("data/houses.csv"))
        ('my.houses', 'houses')
    """
    return unpacked(path).stem


@contextmanager
def opening(path: Path, mode: str = "rb", **how: Any) -> Iterator[Any]:
    """A file, decompressed while it is read.

    Args:
        path: path of the file.
        mode: "rb" or "rt".
        how: other arguments of :func:`open`.

    Raises:
        ValueError: the compressed file is damaged.
        OSError: the file cannot be read.
    """
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, mode, **how) as file:
            yield file
    except (EOFError, OSError, zlib.error) as error:
        if getattr(error, "errno", None):  # of the file, not of its content
            raise
        raise ValueError(f"{path} is damaged: {error}") from None
