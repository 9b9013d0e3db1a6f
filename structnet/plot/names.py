"""Shortens the names of classes for pictures, so that different names stay different."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

LENGTH = 24  # characters of a name
TIMES = 4  # how often names that look the same are told apart anew
GAIN = 3  # least length of a common beginning that is worth an ellipsis


def cut(name: str, length: int = LENGTH) -> str:
    """A name on one line, cut in the middle to at most ``length`` characters.

    Example:
        >>> cut("broken-down lorry", 9)
        'brok…orry'
    """
    name = " ".join(name.split())
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"


def short_names(names: Iterable[str], length: int = LENGTH) -> list[str]:
    """Names of at most ``length`` characters, which differ if the whole ones do and it is possible.

    Names that are too long lose what all names have in common at the beginning, and are then cut in
    the middle. Those that would look the same lose what these have in common, instead.

    Args:
        names: names of the classes.
        length: largest number of characters.

    Example:
        >>> short_names(["org.example.Reader", "org.example.Lines", "org.example.A"], 8)
        ['…Reader', '…Lines', '…A']
        >>> short_names(["/usr/lib/cloud/first/lib", "/usr/lib/cloud/later/lib", "/usr/b", "/"], 9)
        ['…fir…/lib', '…lat…/lib', '/usr/b', '/']
    """
    whole = [" ".join(name.split()) for name in names]
    start = _start(set(whole), length)
    shortened = [name if len(name) <= length else _without(name, start, length) for name in whole]
    for _ in range(TIMES):
        starts = _starts_of_alike(whole, shortened, length)
        if not starts:
            break
        for i, name in enumerate(whole):
            if name in starts:
                shortened[i] = _without(name, starts[name], length)
    return shortened


def _starts_of_alike(whole: list[str], shortened: list[str], length: int) -> dict[str, int]:
    """The number of letters to leave out at the start of each name that looks like another one."""
    alike: dict[str, set[str]] = defaultdict(set)
    for name, short in zip(whole, shortened, strict=True):
        alike[short].add(name)
    several = [each for each in alike.values() if len(each) > 1]
    return {name: _start(each, length) for each in several for name in each}


def _without(name: str, start: int, length: int) -> str:
    return cut(f"…{name[start:]}" if start >= GAIN else name, length)


def _start(names: Collection[str], length: int) -> int:
    """The number of characters that names have in common at the beginning, without a part of a
    word, unless the first character that differs would be cut away behind it."""
    if len(names) < 2:
        return 0
    first, last = min(names), max(names)
    same = next((i for i, a in enumerate(first) if last[i] != a), len(first))
    words = same
    while words and first[words - 1].isalnum():
        words -= 1
    return max(words, same - length // 2 + 2)
