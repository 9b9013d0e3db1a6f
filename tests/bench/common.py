"""What the benchmarks share: timing in turns, a table, one JSON object on the last line."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from structnet.routing.words import aligned


def arguments(description: str, **files: str) -> argparse.Namespace:
    """The command line of every benchmark; ``files`` are what this one can be given, in words."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, within 60 seconds")
    parser.add_argument("--seed", type=int, default=0, help="of data and weights (default 0)")
    for name, words in files.items():
        parser.add_argument(f"--{name}", type=Path, help=words)
    return parser.parse_args()


def seconds(
    *functions: Callable[[], object],
    repeats: int,
    warm_up: int = 1,
    clock: Callable[[], float] = time.process_time,
) -> list[list[float]]:
    """Times of each function, called in turns so that a slow spell of the machine hits all.

    The clock is the processor time of this process: on one thread it is the time on a quiet
    machine, and other processes' turns do not count.
    """
    for _ in range(warm_up):
        for function in functions:
            function()
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for function, spent in zip(functions, times, strict=True):
            start = clock()
            function()
            spent.append(clock() - start)
    return times


def medians(*functions: Callable[[], object], **how) -> list[float]:
    """The middle one of the times of each function."""
    return [statistics.median(times) for times in seconds(*functions, **how)]


def report(rows: Sequence[dict], **figures: object) -> None:
    """Print rows as a table, then everything as one line of JSON."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name)) for name in columns] for row in rows]
    print(*aligned([columns, *cells]), sep="\n")
    print(json.dumps({"rows": list(rows), **figures}))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)
