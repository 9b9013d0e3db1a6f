"""The command called in this process, and what it said."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from structnet.cli import main

SMALL = ["--epochs", "2", "--refine-epochs", "2"]  # a neural tree within a second


class Done(NamedTuple):
    """What the command gave; ``err`` without the lines of progress, which depend on the time."""

    status: int
    out: str
    err: str
    progress: list[str]

    @property
    def json(self) -> dict:
        return json.loads(self.out.splitlines()[-1])


def call(*argv: object) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([str(arg) for arg in argv])
    said = err.getvalue().splitlines(keepends=True)
    parts = ("epoch ", "decision ", "refinement", "all samples")
    progress = [line for line in said if line.startswith(parts)]
    rest = "".join(line for line in said if line not in progress)
    return Done(status, out.getvalue(), rest, progress)
