"""The error of every parser: the place, what is wrong, the line, and a caret under the place."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any
from unicodedata import combining, east_asian_width

WINDOW = 80  # characters of a source line that a message shows


class ParseError(ValueError):
    """A text does not follow its format; the error has the place.

    Args:
        message: one clause that says what is wrong.
        line: number of the line, from 1.
        column: place of the character in the line, from 1; one past the end if something is
            missing there.
        source: text of the line.
        file: name of the file, if the text came from one.

    Example:
        >>> print(ParseError("1 unclosed '['", 3, 8, "[MAX 2 [MIN 4 7 ]", "trees.txt"))
        trees.txt, line 3, column 8: 1 unclosed '['
            [MAX 2 [MIN 4 7 ]
                   ^
    """

    def __init__(
        self, message: str, line: int, column: int, source: str, file: str | None = None
    ) -> None:
        # All of them go to args, from which pickle rebuilds an exception in another process.
        super().__init__(message, line, column, source, file)
        self.message = message
        self.line = line
        self.column = column
        self.source = source
        self.file = file

    @classmethod
    def at(cls, message: str, text: str, offset: int) -> ParseError:
        """The error at a character of a text, counted from 0.

        Example:
            >>> error = ParseError.at("unknown token 'x'", "[MAX 1\\n x ]", 8)
            >>> error.line, error.column, error.source
            (2, 2, ' x ]')
        """
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", offset)
        source = text[start:] if end < 0 else text[start:end]
        line = text.count("\n", 0, offset) + 1
        return cls(message, line, offset - start + 1, source.rstrip("\r"))

    @classmethod
    def on_line(cls, message: str, text: str, line: int, column: int) -> ParseError:
        """The error at a line and column of a text, both from 1, as another library gives them.

        Example:
            >>> print(ParseError.on_line("no operand", "a\\r\\nb +", 2, 4))
            line 2, column 4: no operand
                b +
                   ^
        """
        lines = re.split("\r\n|\r|\n", text)  # what expat and Python take for a line's end
        source = lines[line - 1] if line <= len(lines) else ""
        # Python counts on past the end of a line that a backslash continues.
        return cls(message, line, min(column, len(source) + 1), source)

    def but(self, **changed: Any) -> ParseError:
        """The same error with another message, place, source or file."""
        names = ("message", "line", "column", "source", "file")
        return ParseError(**dict(zip(names, self.args, strict=True)) | changed)

    @property
    def summary(self) -> str:
        """The first line of the error: place and message, without the source."""
        place = f"line {self.line}, column {self.column}: {self.message}"
        return place if self.file is None else f"{self.file}, {place}"

    def __str__(self) -> str:
        if not self.source.strip():
            return self.summary  # nothing to point at
        shown, caret = _window(self.source, self.column - 1)
        return f"{self.summary}\n    {shown.rstrip()}\n    {' ' * caret}^"


def warn_of_skipped(errors: Sequence[ParseError], total: int, what: str, file: str | None) -> None:
    """Gives one warning for everything that was skipped in a text or a file, if anything was.

    Args:
        errors: one error for each item that was skipped.
        total: number of all items, good or bad.
        what: noun for the items, in the plural.
        file: name of the file; None if there is no file.

    Warns:
        UserWarning: there are errors.
    """
    if errors:
        first = errors[0]
        warnings.warn(
            f"{file or 'input'}: {len(errors)} of {total} {what} were skipped, as they are no "
            f"trees; the first error is in line {first.line}, column {first.column}: "
            f"{first.message}",
            stacklevel=4,  # 3 is in_batches, which the user iterates over
        )


def _window(source: str, offset: int) -> tuple[str, int]:
    """The part of a line around a character, and how many cells of a terminal precede it."""
    start = 0
    if len(source) > WINDOW:
        start = min(max(offset - WINDOW // 2, 0), len(source) - WINDOW)
    # A tab or another control character would move the caret away from its place.
    visible = "".join(c if c.isprintable() else " " for c in source[start : start + WINDOW])
    before = "..." if start else ""
    after = "..." if start + WINDOW < len(source) else ""
    # A terminal gives two cells to a wide character, none to a combining one.
    text = visible[: offset - start]
    cells = sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
    return before + visible + after, len(before) + cells
