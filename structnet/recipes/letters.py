"""Letters on the standard input and output that the encoding of the user's language lacks."""

from __future__ import annotations

import codecs
import io
import json
import sys
from contextlib import suppress


def allow_all() -> None:
    """Reads the standard input as UTF-8, as files are; writes letters that lack as in JSON."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        with suppress(io.UnsupportedOperation):  # where something has been read
            sys.stdin.reconfigure(encoding="utf-8-sig")
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("structnet", _as_in_json)
        sys.stdout.reconfigure(errors="structnet")


def _as_in_json(error: UnicodeError) -> tuple[str, int]:
    """What stands in the place of letters that cannot be written."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
