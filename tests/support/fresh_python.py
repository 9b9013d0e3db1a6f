"""Programs in a process of their own, in which nothing is imported yet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(
    *words: object, cwd: Path | None = None, typed: str | None = None, **more: str
) -> subprocess.CompletedProcess:
    """Runs Python on one thread, with the library to be imported; ``more`` is its environment.

    It reads what is ``typed`` as its standard input.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | more
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        input=typed,
        encoding="utf-8",
        timeout=300,
    )
