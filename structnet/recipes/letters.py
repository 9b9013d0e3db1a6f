"""Standard input and output for characters that the encoding of the user's language lacks."""

from __future__ import annotations

import codecs
import io
import json
import sys
from contextlib import suppress


def allow_all() -> None:
    """Reads standard input as UTF-8; writes characters that the output lacks as \\uXXXX."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        with suppress(io.UnsupportedOperation):  # where something has been read
            sys.stdin.reconfigure(encoding="utf-8-sig")
    if isinstance(sys.stdout, io.TextIOWrapper):
        codecs.register_error("structnet", _as_in_json)
        sys.stdout.reconfigure(errors="structnet")


def _as_in_json(error: UnicodeError) -> tuple[str, int]:
    """The escapes, as in JSON, for characters that cannot be written, and where to continue."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
