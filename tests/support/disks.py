"""Full disks, and folders in which somebody else is at work."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As on a disk that is nearly full: no file grows larger."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


HOLDER = """
import sys, time
from structnet.training.files import locked
with locked(sys.argv[1]):
    print("in", flush=True)
    time.sleep(60)
"""


@contextmanager
def held(folder: Path) -> Iterator[subprocess.Popen]:
    """Another process that works in a folder."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        env=os.environ | {"PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        yield process
    finally:
        process.kill()
        process.communicate()
