"""Errors that are raised at any moment of a computation, as Ctrl-C is."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import structnet

LIBRARY = str(Path(structnet.__file__).parent)


def run_until(
    work: Callable[[], Any], call: int | None = None, error: type = KeyboardInterrupt
) -> int:
    """Runs some work, raises an error in one of its calls, and returns the number of calls.

    Args:
        work: work of this thread.
        call: number, from 1, of a call of a function of the library that is no generator; None to
            raise no error.
        error: error that is raised at its beginning.
    """
    calls = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        code = frame.f_code
        # What is raised in a generator that is closed is ignored.
        closed = code.co_flags & inspect.CO_GENERATOR
        if event == "call" and code.co_filename.startswith(LIBRARY) and not closed:
            calls += 1
            if calls == call:
                raise error

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
