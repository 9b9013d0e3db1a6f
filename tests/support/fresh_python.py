"""Programs in a process of their own, in which nothing is imported yet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def python(*words: object, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess:
    """Runs Python on one thread, with the library to be imported; ``more`` is its environment."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | more
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
