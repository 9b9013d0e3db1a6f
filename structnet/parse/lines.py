"""Texts, files and streams as lines, and bytes as text."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from structnet.parse.errors import ParseError
from structnet.parse.packed import opening

UTF_8 = "utf-8"
_BYTE_ORDER_MARKS = {  # that of UTF-32 begins as that of UTF-16 does
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
# A text; the path of a file, which is no str and may be compressed; or the lines of either, as an
# open file gives them.
Lines: TypeAlias = str | bytes | PathLike[str] | Iterable[str] | Iterable[bytes]
Line: TypeAlias = tuple[int, str | bytes]  # the number, from 1, and the line


def text_of(text: str | bytes, encoding: str = UTF_8) -> str:
    """A text, given as str or bytes, without a byte order mark.

    Raises:
        ParseError: the bytes do not have the encoding.
        TypeError: the text is neither str nor bytes.

    Example:
        >>> text_of("é".encode())
        'é'
    """
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    if not isinstance(text, (bytes, bytearray)):
        read = "; give its read_bytes()" if isinstance(text, PathLike) else ""
        raise TypeError(f"expected a text, as str or bytes; got {type(text).__name__}{read}")
    try:
        return text.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        raise _undecoded(error, text, encoding) from None


def content_of(source: str | bytes | PathLike[str]) -> str | bytes:
    """A text as it is, or the bytes of a file, which may be compressed.

    Raises:
        OSError: the file cannot be read.
        ValueError: a compressed file is damaged.
    """
    if not isinstance(source, PathLike):
        return source
    with opening(Path(source)) as file:
        return file.read()


def marked_encoding(begin: bytes) -> str | None:
    """The encoding that a byte order mark declares, without which it is then read; None if none.

    Args:
        begin: text, or its first four bytes.

    Example:
        >>> marked_encoding("é".encode("utf-16")), marked_encoding("é".encode())
        ('utf-16', None)
    """
    marked = (name for mark, name in _BYTE_ORDER_MARKS.items() if begin.startswith(mark))
    return next(marked, None)


def decoded(content: bytes) -> str:
    """The text of a file's content: by its byte order mark, or as UTF-8.

    Raises:
        UnicodeDecodeError: the content does not have that encoding.

    Example:
        >>> decoded("é".encode("utf-16")), decoded("é".encode("utf-8-sig"))
        ('é', 'é')
    """
    return content.decode(marked_encoding(content) or UTF_8)


def undecoded(error: UnicodeDecodeError) -> str:
    """What is wrong with a file that does not have its encoding, and in which line.

    Args:
        error: error of :func:`decoded`, whose object is the content of the file.

    Example:
        >>> undecoded(UnicodeDecodeError("utf-8", b"a\\n\\xff", 2, 3, ""))
        'line 2: the file is not UTF-8 text; got the byte 0xff'
    """
    content, start = error.object, error.start
    encoding = marked_encoding(content) or UTF_8
    line = content[:start].decode(encoding, "ignore").count("\n") + 1
    name = encoding.upper().removesuffix("-SIG")
    return f"line {line}: the file is not {name} text; got the byte {content[start]:#x}"


@contextmanager
def opening_text(path: Path, **how: Any) -> Iterator[TextIO]:
    """The text of a file, which may be compressed: by its byte order mark, or as UTF-8.

    It is opened once, so that it may be a pipe.

    Args:
        path: path of the file.
        how: arguments of :class:`io.TextIOWrapper`, such as ``errors`` and ``newline``.

    Raises:
        OSError: the file cannot be read.
        ValueError: a compressed file is damaged.
    """
    with opening(path) as file:
        yield TextIOWrapper(file, marked_encoding(file.peek(4)[:4]) or UTF_8, **how)


def document_text(text: str | bytes, declared: Callable[[bytes], str | None]) -> str:
    """A document as text; bytes by their byte order mark, as they declare, or as UTF-8.

    Args:
        text: the document.
        declared: function that returns the encoding that bytes without a byte order mark declare,
            or None.

    Raises:
        ParseError: the bytes do not have the encoding, or Python does not know it.
        TypeError: the text is neither str nor bytes.
    """
    if not isinstance(text, (bytes, bytearray)):
        return text_of(text)
    encoding = marked_encoding(text) or declared(text) or UTF_8
    try:
        return text_of(text, encoding)
    except LookupError:
        raise ParseError(f"Python knows no encoding {encoding!r}", 1, 1, "") from None


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
            raise error.but(line=number, source=error.source.rstrip("\r\n")) from None
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
    return decoded_lines(enumerate(raw_lines(source, encoding), start=1), encoding)


def decoded_lines(lines: Iterable[Line], encoding: str) -> Iterator[tuple[int, str]]:
    """Numbered lines as text, as :func:`numbered_lines` gives them."""
    for number, line in lines:
        if type(line) is str and number > 1:  # without a call for each of millions
            yield number, line.rstrip("\r\n")
        else:
            yield number, line_text(line, number, encoding)


def file_name(source: Lines) -> str | None:
    """The name of a file in errors; None if the source is not a path."""
    return fspath(source) if isinstance(source, PathLike) else None


def _file_lines(path: Path, encoding: str) -> Iterator[str | bytes]:
    if _has_plain_line_ends(encoding):
        with opening(path) as file:
            yield from file
    else:  # as of UTF-16, in which a line's end takes more than one byte
        with opening(path, "rt", encoding=encoding, newline="\n") as text:
            yield from text


def _has_plain_line_ends(encoding: str) -> bool:
    return "a\n".encode(encoding).endswith(b"a\n")
