"""Sentences from files of text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from structnet.parse.lines import decoded, opening_text, undecoded
from structnet.parse.packed import opening


class TextError(ValueError):
    """A text file cannot be read; the error has the place where it is wrong."""


def read_lines(path: str | Path, blanks: str | None = None) -> Iterator[tuple[int, str]]:
    """Yields the lines of a file that are not blank, with their numbers from 1.

    Only a newline ends a line: other separators of Unicode occur inside sentences.

    Args:
        path: file of UTF-8 text, or of UTF-16 with a byte order mark; it may be compressed (.gz,
            .bz2).
        blanks: characters that are removed at both ends of a line; by default all that Unicode
            calls blank.

    Raises:
        TextError: the file is not UTF-8 text.
    """
    path = Path(path)
    with opening_text(path, newline="\n") as file:
        try:
            for number, line in enumerate(file, 1):
                if text := line.strip(blanks):
                    yield number, text
        except UnicodeDecodeError:  # of a part of the file, which tells no place in it
            raise _undecoded(path) from None


def _undecoded(path: Path) -> TextError:
    """The error of a file that does not have its encoding, with its first wrong line."""
    if not path.is_file():  # a pipe, which cannot be read again
        return TextError(f"{path} is not UTF-8 text; save it with the encoding UTF-8")
    with opening(path) as file:
        content = file.read()
    try:
        decoded(content)
    except UnicodeDecodeError as error:
        return TextError(f"{path}, {undecoded(error)}; save it with the encoding UTF-8")
    return TextError(f"{path} was changed while it was read")


def read_sentences(path: str | Path) -> list[list[str]]:
    """The sentences of a file with one sentence per line and spaces between words.

    Args:
        path: file of UTF-8 text, which may be compressed (.gz, .bz2); empty lines are skipped.

    Raises:
        TextError: the file is not UTF-8 text, or contains no word.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "two.txt")
        ...     _ = file.write_text("the cat sat .\\n\\nit  slept .\\n", encoding="utf-8")
        ...     read_sentences(file)
        [['the', 'cat', 'sat', '.'], ['it', 'slept', '.']]
    """
    sentences = [line.split() for _, line in read_lines(path)]
    if not sentences:
        raise TextError(f"{path} holds no word; expected one sentence a line, words between blanks")
    return sentences
