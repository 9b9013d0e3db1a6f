"""Files of one tree a line, where a bad line must not cost the others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Literal

from structnet.checks import check_one_of
from structnet.parse.errors import ParseError
from structnet.parse.lines import UTF_8, file_name, line_text, raw_lines
from structnet.trees.memory import collector_paused


@dataclass
class ParsedLines:
    """What the lines of a file hold.

    Attributes:
        values: the parser's results, one a line, in order.
        skipped: the number and the message of each line that did not parse.
    """

    values: list = field(default_factory=list)
    skipped: list[tuple[int, str]] = field(default_factory=list)


def read_lines(
    path_or_lines: str | PathLike[str] | Iterable[str] | Iterable[bytes],
    parse: Callable[[str], object],
    errors: Literal["raise", "skip"] = "raise",
    *,
    encoding: str = UTF_8,
) -> ParsedLines:
    """Parse a file line by line; blank lines are passed over.

    Args:
        path_or_lines: the path of a file; or its lines, as an open file gives them.
        parse: called with each line without its end: a parser of this package, or a function that
            takes the line apart and calls one. It may return anything.
        errors: "raise" stops at the first line that does not parse. "skip" keeps all the others,
            lists it in ``skipped``, and ends with one warning that says how many there were.
        encoding: the encoding of a file, and of lines that are bytes.

    Raises:
        ParseError: the first bad line, with its number in the file and the file's name. Any
            ValueError of ``parse`` counts as a bad line.
        ValueError: ``errors`` is neither of the two.
        LookupError: Python knows no such encoding.
        OSError: the file cannot be read.

    Warns:
        UserWarning: lines were skipped.

    Example:
        >>> from structnet.parse import listops
        >>> read_lines(["[MAX 1 2 ]", "[MIN 3 4 ]"], listops).values
        [<Tree (MAX 1 2)>, <Tree (MIN 3 4)>]
        >>> read_lines(["[MAX 1 2 ]", "[MIN 3 ? ]"], listops)
        Traceback (most recent call last):
            ...
        structnet.parse.errors.ParseError: line 2, column 8: unknown token '?'; expected a digit
        0-9, '[NAME' or ']'
            [MIN 3 ? ]
                   ^
    """
    check_one_of("errors", errors, ("raise", "skip"), "read_lines")
    source = Path(path_or_lines) if isinstance(path_or_lines, str) else path_or_lines
    name = file_name(source)
    result = ParsedLines()
    number = 0
    with collector_paused():
        for number, line in enumerate(raw_lines(source, encoding), start=1):
            try:
                text = line_text(line, number, encoding)
                if text and not text.isspace():
                    result.values.append(parse(text))
            except ValueError as error:
                located = _located(error, line, number, name, encoding)
                if errors == "raise":
                    raise located from (None if isinstance(error, ParseError) else error)
                result.skipped.append((number, f"column {located.column}: {located.message}"))
    if result.skipped:
        warnings.warn(_report(result, number, name), stacklevel=2)
    return result


def _located(
    error: ValueError, line: str | bytes, number: int, name: str | None, encoding: str
) -> ParseError:
    """The error of a line with its place in the file."""
    if isinstance(line, bytes):
        line = line.decode(encoding, errors="replace")
    line = line.rstrip("\r\n")
    if not isinstance(error, ParseError):
        return ParseError(f"{error}", number, 1, line, name)
    column = error.column + _start(error.source, line)
    return ParseError(error.message, number, column, line, name)


def _start(part: str, line: str) -> int:
    """Where a part of a line starts that its parser was given: a field, if tabs separate them."""
    offset = 0
    for text in line.split("\t"):
        if text == part:
            return offset
        offset += len(text) + 1
    return max(line.find(part), 0)


def _report(result: ParsedLines, number: int, name: str | None) -> str:
    first, message = result.skipped[0]
    return (
        f"{name or 'input'}: {len(result.skipped)} of {number} lines did not parse and were "
        f"skipped; the first is line {first}, {message}"
    )
