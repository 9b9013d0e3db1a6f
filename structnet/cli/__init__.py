"""The commands: ``structnet train``, ``evaluate``, ``predict``, ``plot``, ``data``, ``reproduce``.

Each command is the module of its name, with ``run(args)``; those for neural trees are in
``neural_tree``. It is imported when it is called, as torch takes a second or two to import and
``--help`` should not.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from structnet.cli.parser import parse_arguments

BAD_INPUT, FAILURE, INTERRUPTED = 2, 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the arguments; by default those of the process.

    Returns:
        The exit status: 0, or 2 for bad input, 1 for another failure, 130 for an interruption.
    """
    try:
        args = parse_arguments(argv)
    except SystemExit as end:  # --help, or arguments that cannot be parsed
        return end.code
    os.environ.setdefault("MPLBACKEND", "Agg")  # pictures go to files; there may be no screen
    try:
        importlib.import_module(_module(args)).run(args)
    except KeyboardInterrupt as stop:
        return _end(args, stop, INTERRUPTED, "interrupted" + (f"; {stop}" if stop.args else ""))
    except (FileNotFoundError, IsADirectoryError) as error:  # a wrong name
        return _end(args, error, BAD_INPUT, f"error: {error.filename}: {error.strerror}")
    except ValueError as error:  # of parsers, vocabularies, checkpoints and parameters
        return _end(args, error, BAD_INPUT, f"error: {error}")
    except OSError as error:
        return _end(args, error, FAILURE, f"error: {error}")
    except RuntimeError as error:
        if not _is_expected(error):
            raise
        return _end(args, error, FAILURE, f"error: {error}")
    return 0


def _module(args: argparse.Namespace) -> str:
    """The module of a command; for neural trees, also of one about a run, there is another."""
    name, *more = args.command.split()
    folder = getattr(args, "resume", None) or getattr(args, "run", None)
    if more or (folder and _task(folder) == "neural-tree"):
        name = f"neural_tree.{name}"
    return f"structnet.cli.{name}"


def _task(folder: str) -> str | None:
    """The task of the run in a folder; None if there is no such run, which the command will say."""
    try:
        config = json.loads(Path(folder, "config.json").read_text(encoding="utf-8"))
        return config["settings"]["task"]
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _is_expected(error: RuntimeError) -> bool:
    from structnet.training.loop import NonFiniteLossError

    return isinstance(error, NonFiniteLossError)


def _end(args: argparse.Namespace, error: BaseException, status: int, message: str) -> int:
    if getattr(args, "debug", False):
        raise error
    print(f"structnet {args.command}: {message}", file=sys.stderr)
    return status
