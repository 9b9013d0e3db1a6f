"""The commands: ``train``, ``evaluate``, ``predict``, ``plot``, ``data`` and ``reproduce``.

Each is a module of its name with a function ``run(words)``, which takes the words after that name:
``names`` finds the model that the first word names, and ``flags`` reads the others. A
command is imported when it is called, as importing torch takes a second or two, for which
``--help`` should not wait. No command knows any family of models: all follow the recipes of
``structnet.recipes``.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from structnet.cli.names import COMMANDS, models
from structnet.estimators.failed_fit import interruptible
from structnet.recipes import EXAMPLES, letters
from structnet.recipes.recipe import did_you_mean

BAD_INPUT, FAILURE, INTERRUPTED, CLOSED = 2, 1, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the arguments; None for those of the process.

    Returns:
        The exit status: 0 on success, 2 for bad input, 1 for any other failure, 130 after an
        interruption, and 141 if whatever reads the output has stopped reading.
    """
    words = [str(word) for word in (sys.argv[1:] if argv is None else argv)]
    status = 0
    letters.allow_all()
    try:
        status = _status_of([word for word in words if word != "--debug"], "--debug" in words)
        print(end="", flush=True)  # unlike sys.stdout.flush, also without an output
    except OSError as error:
        seen_enough = isinstance(error, BrokenPipeError)  # the reader of the output
        if "--debug" in words and not seen_enough:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the rest of the output
        if status and not seen_enough:
            return status  # the error has been printed
        return CLOSED if seen_enough else _end("", FAILURE, f"error: the output: {error.strerror}")
    return status


def _status_of(words: Sequence[str], debug: bool) -> int:
    """Runs one command, and returns its exit status."""
    command, *words = words or ["--help"]
    if command in ("-h", "--help"):
        print(_help())
        return 0
    if command == "--version":
        print(f"structnet {sys.modules['structnet'].__version__}")
        return 0
    if command not in COMMANDS:
        near = did_you_mean(command, list(COMMANDS))
        return _end("", BAD_INPUT, f"error: there is no command {command!r}{near}")
    os.environ.setdefault("MPLBACKEND", "Agg")  # pictures go to files; there may be no screen
    try:
        with interruptible():
            importlib.import_module(f"structnet.cli.{command}").run(words)
    except SystemExit as end:  # --help
        return int(end.code or 0)
    except KeyboardInterrupt as stop:
        if debug:
            raise
        return _end(command, INTERRUPTED, "interrupted" + (f"; {stop}" if stop.args else ""))
    except BrokenPipeError:
        raise
    except (ValueError, OSError, RuntimeError) as error:
        status, message = _said(error)
        if debug or status is None:
            raise
        return _end(command, status, f"error: {message}")
    return 0


def _said(error: Exception) -> tuple[int | None, str]:
    """The exit status and the message of an error; the status of an unexpected error is None."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        wrong_name = isinstance(error, FileNotFoundError | IsADirectoryError)
        return BAD_INPUT if wrong_name else FAILURE, f"{error.filename}: {error.strerror}"
    if isinstance(error, RuntimeError):
        from structnet.training import NonFiniteLossError, StepError

        known = isinstance(error, NonFiniteLossError | StepError)
        return FAILURE if known else None, str(error)
    return BAD_INPUT if isinstance(error, ValueError) else FAILURE, str(error)


def _end(command: str, status: int, message: str) -> int:
    print(f"{f'structnet {command}'.strip()}: {message}", file=sys.stderr)
    return status


def _help() -> str:
    commands = "\n".join(f"    {name:<11}{what}" for name, what in COMMANDS.items())
    return f"""\
usage: structnet COMMAND ...

Train and inspect models of trees, and models that are trees.

commands:
{commands}

models, for train and reproduce:
{models()}

to begin with:
{EXAMPLES}

'structnet COMMAND --help' explains a command, 'structnet train MODEL --help' the settings of a
model, and 'structnet --version' prints the version. Every command accepts --debug, which shows the
traceback of an error. Results go to standard output, with one JSON object as the last line, and
errors to standard error. The exit status is 0 on success, 2 for bad input, 1 for any other failure,
130 after Ctrl-C, and 141 if whatever reads the output has stopped reading."""
