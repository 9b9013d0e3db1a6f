"""Files of one tree per line, in which a bad line does not affect the others."""

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
    """The results for the lines of a file.

    Attributes:
        values: results of the parser, one per line, in order.
        skipped: number and error message of each line that did not parse.
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
    """Parses a file line by line; blank lines are skipped.

    Args:
        path_or_lines: path of a file, which may be compressed (.gz, .bz2); or its lines, such as
            an open file.
        parse: parser of this package, or a function that takes the line apart and calls one; it is
            called with each line without its end, and may return anything.
        errors: "raise" to stop at the first line that does not parse; "skip" to list such lines in
            ``skipped``, keep the others, and end with one warning that says how many there were.
        encoding: encoding of a file, and of lines that are bytes.

    Raises:
        ParseError: a line is bad; the error has its number and the file's name. Any ValueError of
            ``parse`` marks a bad line. With "skip" it is raised too, if most trees span several
            lines, so that only fragments would be read; :func:`bracketed_many` reads such
            treebanks.
        ValueError: ``errors`` is neither of the two.
        LookupError: Python does not know the encoding.
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
    spread = _Spread()
    number = 0
    with collector_paused():
        for number, line in enumerate(raw_lines(source, encoding), start=1):
            try:
                text = line_text(line, number, encoding)
                if text and not text.isspace():
                    result.values.append(parse(text))
                    spread.good()
            except ValueError as error:
                located = _located(error, line, number, name, encoding)
                if errors == "raise":
                    located = _hinted(located)
                    raise located from (None if isinstance(error, ParseError) else error)
                spread.bad(located)
                result.skipped.append((number, f"column {located.column}: {located.message}"))
    if spread.first is not None and 1 < spread.spanning > spread.outside:
        raise spread.error()
    if result.skipped:
        warnings.warn(_report(result, number, name), stacklevel=2)
    return result


class _Spread:
    """Finds out if trees span lines: if brackets open on one line and close on another."""

    def __init__(self) -> None:
        self.depth = 0  # brackets left open by bad lines
        self.spanning = 0  # trees that bad lines open and close again
        self.outside = 0  # good lines while none is open
        self.first: ParseError | None = None  # that left brackets open

    def good(self) -> None:
        self.outside += not self.depth

    def bad(self, error: ParseError) -> None:
        line = error.source
        opened = sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if opened > 0:
            self.first = self.first or error
        if self.depth > 0 and self.depth + opened <= 0:
            self.spanning += 1
        self.depth = max(self.depth + opened, 0)

    def error(self) -> ParseError:
        assert self.first is not None
        message = (
            f"{self.spanning} trees span lines, and read_lines reads one a line; bracketed_many "
            f"reads a treebank"
        )
        return self.first.but(message=message, column=1)


def _hinted(error: ParseError) -> ParseError:
    """The error of a line; if it leaves a bracket open, with what to do if trees span lines."""
    if " unclosed '('" not in error.message:
        return error
    return error.but(message=f"{error.message}; if trees span lines, bracketed_many reads them")


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
    return error.but(line=number, column=column, source=line, file=name)


def _start(part: str, line: str) -> int:
    """The offset in its line of the text that a parser was given, as of a field between tabs."""
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
