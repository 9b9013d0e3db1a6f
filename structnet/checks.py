"""Checks of parameters, and the one sentence that refuses a wrong one; without torch and numpy.

Every check but that of ``n_jobs`` takes the parameter's name and value and, if the error should
name it, the function or class that the parameter belongs to as ``owner``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any


def wrong(name: str, expected: str, value: Any, owner: str = "") -> ValueError:
    """The error for a parameter with a wrong value; the caller raises it.

    Args:
        expected: words that say what the parameter must be.

    Example:
        >>> raise wrong("order", "a permutation", [1, 1], "Tree")
        Traceback (most recent call last):
        ValueError: The 'order' parameter of Tree must be a permutation. Got [1, 1] instead.
    """
    of = f" of {owner}" if owner else ""
    return ValueError(f"The '{name}' parameter{of} must be {expected}. Got {value!r} instead.")


def check_integer(
    name: str, value: Any, least: int, *, optional: bool = False, owner: str = ""
) -> None:
    """Refuses a value that is not an int (numpy's count, True and False do not) or is too small.

    Args:
        least: smallest value allowed.
        optional: True if None is allowed too.

    Raises:
        ValueError: the value is not allowed.

    Example:
        >>> check_integer("n_members", 0, 1)
        Traceback (most recent call last):
        ValueError: The 'n_members' parameter must be an int in the range [1, inf). Got 0 instead.
    """
    if value is None and optional:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise wrong(
            name, f"an int in the range [{least}, inf){' or None' * optional}", value, owner
        )


def check_integers(settings: Any, *, optional: bool = False, **least: int) -> None:
    """Refuses settings as :func:`check_integer` does.

    Args:
        settings: object whose attributes they are.
        optional: True if None is allowed too.
        least: smallest value of each, by its name.
    """
    for name, value in least.items():
        check_integer(name, getattr(settings, name), value, optional=optional)


def check_jobs(n_jobs: Any) -> None:
    """Refuses a number of threads that is no int, or 0; see :func:`num_threads`.

    Raises:
        ValueError: the number is neither such an int nor None.

    Example:
        >>> check_jobs(0)
        Traceback (most recent call last):
        ValueError: The 'n_jobs' parameter must be an int other than 0 or None. Got 0 instead.
    """
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool) and n_jobs != 0
    if n_jobs is not None and not whole:
        raise wrong("n_jobs", "an int other than 0 or None", n_jobs)


def num_threads(n_jobs: int | None) -> int:
    """The number of threads that a checked ``n_jobs`` asks for, as for joblib.

    None is one; -1 is one for each core, -2 one fewer, and so on, but at least one.

    Example:
        >>> num_threads(None), num_threads(3), num_threads(-1) >= 1, num_threads(-1000)
        (1, 3, True, 1)
    """
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 1
    return max(1, len(hardware_threads()) + 1 + n_jobs)


def hardware_threads() -> frozenset[int]:
    """The numbers of the hardware threads that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return frozenset(allowed(0) if allowed else range(os.cpu_count() or 1))


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    open: bool = False,
    optional: bool = False,
    owner: str = "",
) -> None:
    """Refuses a value that is not a finite number, or out of its range.

    Args:
        low: lower end of the range.
        high: upper end of the range; infinity itself is never in it.
        open: True if the ends do not belong to the range.
        optional: True if None is allowed too.

    Raises:
        ValueError: the value is not allowed.

    Example:
        >>> check_number("share", 1.5, 0, 1, optional=True)
        Traceback (most recent call last):
        ValueError: The 'share' parameter must be a number in the range [0, 1] or None. Got 1.5
        instead.
    """
    if value is None and optional:
        return
    inside = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not (inside and (low < value < high if open else low <= value <= high)):
        ends = "()" if open else "[)" if high == math.inf else "[]"
        between = f"a number in the range {ends[0]}{low:g}, {high:g}{ends[1]}"
        raise wrong(name, between + " or None" * optional, value, owner)


def check_bool(name: str, value: Any, owner: str = "") -> None:
    """Refuses a value that is not a bool (numpy's count), as any word would count as True.

    Raises:
        ValueError: the value is not a bool.

    Example:
        >>> check_bool("standardize", "no")
        Traceback (most recent call last):
        ValueError: The 'standardize' parameter must be True or False. Got 'no' instead.
    """
    if not isinstance(value, bool) and str(getattr(value, "dtype", None)) != "bool":
        raise wrong(name, "True or False", value, owner)


def check_one_of(name: str, value: Any, allowed: Collection[str], owner: str = "") -> None:
    """Refuses a value that is not one of a few words.

    Args:
        allowed: words that are allowed.

    Raises:
        ValueError: the value is something else.

    Example:
        >>> check_one_of("path", "left", ("multi", "greedy"))
        Traceback (most recent call last):
        ValueError: The 'path' parameter must be one of ['multi', 'greedy']. Got 'left' instead.
    """
    if not isinstance(value, str) or value not in allowed:
        raise wrong(name, f"one of {list(allowed)}", value, owner)


def check_memory(what: str, num_bytes: float) -> None:
    """Refuses something that does not fit in memory, before any of it is made.

    Args:
        what: words that say what needs the memory.

    Raises:
        ValueError: the machine has less memory than that.

    Example:
        >>> check_memory("a table of 9", 9 * 8)
    """
    if num_bytes > memory():
        raise ValueError(
            f"{what} needs {_gibibytes(num_bytes)} GiB of memory; "
            f"this machine has {memory() / 2**30:,.1f} GiB"
        )


def _gibibytes(num_bytes: float) -> str:
    size = num_bytes / 2**30
    return f"{size:,.0f}" if size < 10**6 else "more than a million"


@cache
def memory() -> float:
    """The number of bytes of memory that this process may use; infinity if it is unknown."""
    limits = [math.inf]
    with suppress(AttributeError, OSError, ValueError):  # a system that does not say
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # no container, or one without a bound
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits)
