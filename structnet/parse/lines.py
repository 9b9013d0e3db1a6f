"""Texts, files and streams as lines, and bytes as text."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from structnet.parse.errors import ParseError

UTF_8 = "utf-8"
# A text; the path of a file, which is no str; or the lines of either, as an open file gives them.
Lines: TypeAlias = str | bytes | PathLike[str] | Iterable[str] | Iterable[bytes]


def text_of(text: str | bytes, encoding: str = UTF_8) -> str:
    """A text, which may be given as bytes, without a byte order mark.

    Raises:
        ParseError: the bytes are not of the encoding.
        TypeError: it is neither str nor bytes.

    Example:
        >>> text_of("é".encode())
        'é'
    """
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    if not isinstance(text, (bytes, bytearray)):
        raise TypeError(f"expected a text, as str or bytes; got {type(text).__name__}")
    try:
        return text.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        raise _undecoded(error, text, encoding) from None


def _undecoded(error: UnicodeError, text: bytes, encoding: str) -> ParseError:
    """The error of bytes that are not of an encoding, with its place, if the codec tells it."""
    try:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        before = text[:start].decode(encoding, errors="replace")
        shown = text.decode(encoding, errors="replace")
    except UnicodeError:  # of a codec that replaces nothing, such as idna
        return ParseError(f"the bytes are not of the encoding {encoding!r}", 1, 1, "")
    message = " ".join(f"{error}".split())  # of a codec that quotes the end of a line
    return ParseError.at(message, shown, len(before))


def raw_lines(source: Lines, encoding: str = UTF_8) -> Iterable[str | bytes]:
    """The lines of a text, a file or a stream, not yet decoded where they are bytes.

    So a byte that is not of the encoding spoils its own line only.
    """
    codecs.lookup(encoding)  # an unknown one is an error before anything is read
    # str.splitlines would also split at a form feed or U+2028, which no editor counts as a line.
    if isinstance(source, str):
        return source.split("\n")
    if isinstance(source, PathLike):
        return _file_lines(Path(source), encoding)
    if not isinstance(source, (bytes, bytearray)):
        return source
    if _has_plain_line_ends(encoding):
        return bytes(source).split(b"\n")
    return text_of(source, encoding).split("\n")


def line_text(line: str | bytes, number: int, encoding: str = UTF_8) -> str:
    """One line as text, without its end; the first one without a byte order mark.

    Raises:
        ParseError: the bytes are not of the encoding.
    """
    if not isinstance(line, str):
        try:
            line = text_of(line, encoding)
        except ParseError as error:
            source = error.source.rstrip("\r\n")
            raise ParseError(error.message, number, error.column, source) from None
    elif number == 1:
        line = line.removeprefix("\ufeff")
    return line.rstrip("\r\n")


def numbered_lines(source: Lines, encoding: str = UTF_8) -> Iterator[tuple[int, str]]:
    """The lines of a text, a file or a stream, numbered from 1, without their line ends.

    Raises:
        ParseError: a line's bytes are not of the encoding.

    Example:
        >>> list(numbered_lines("one\\r\\ntwo"))
        [(1, 'one'), (2, 'two')]
    """
    for number, line in enumerate(raw_lines(source, encoding), start=1):
        if type(line) is str and number > 1:  # without a call for each of millions
            yield number, line.rstrip("\r\n")
        else:
            yield number, line_text(line, number, encoding)


def file_name(source: Lines) -> str | None:
    """The path of a file, as errors name it; None of what is no path."""
    return fspath(source) if isinstance(source, PathLike) else None


def _file_lines(path: Path, encoding: str) -> Iterator[str | bytes]:
    if _has_plain_line_ends(encoding):
        with path.open("rb") as file:
            yield from file
    else:  # as of UTF-16, in which a line's end takes more than one byte
        with path.open(encoding=encoding, newline="\n") as text:
            yield from text


def _has_plain_line_ends(encoding: str) -> bool:
    return "a\n".encode(encoding).endswith(b"a\n")
