"""The command called in this process, and what it said."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
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
    lines = err.getvalue().splitlines(keepends=True)
    parts = ("epoch ", "decision ", "refinement", "all samples")
    progress = [line for line in lines if line.startswith(parts)]
    rest = "".join(line for line in lines if line not in progress)
    return Done(status, out.getvalue(), rest, progress)


def ran(*argv: object) -> Done:
    """The same of a command that works."""
    done = call(*argv)
    assert done.status == 0, done.err
    return done


def refused(*argv: object) -> str:
    """What the command says of what it does not take, on one line; notes apart."""
    done = call(*argv)
    [line] = [line for line in done.err.splitlines(True) if not line.startswith("note: ")]
    assert done.status == 2
    return line


def edit_config(run: Path, part: str, name: str | None, value: object) -> None:
    """Changes a part of a run's configuration, or one of its fields."""
    config = json.loads((run / "config.json").read_text())
    if name is None:
        config[part] = value
    else:
        config[part][name] = value
    (run / "config.json").write_text(json.dumps(config))


def assert_told(*argv: object) -> None:
    """It works, or it says in a line what is wrong: no traceback."""
    done = call(*argv)
    assert done.status in (0, 2)
    assert (done.status == 0) == (not done.err) and "Traceback" not in done.err
