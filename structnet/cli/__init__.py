"""The commands: ``structnet train``, ``evaluate``, ``predict``, ``plot``, ``data``, ``reproduce``.

Each command is the module of its name, with ``run(args)``; it is imported when it is called, as
torch takes a second or two to import and ``--help`` should not.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

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
        importlib.import_module(f"structnet.cli.{args.command}").run(args)
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


def _is_expected(error: RuntimeError) -> bool:
    from structnet.train import NonFiniteLossError

    return isinstance(error, NonFiniteLossError)


def _end(args: argparse.Namespace, error: BaseException, status: int, message: str) -> int:
    if getattr(args, "debug", False):
        raise error
    print(f"structnet {args.command}: {message}", file=sys.stderr)
    return status
