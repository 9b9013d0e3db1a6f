"""Sentences from files of text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from structnet.parse.lines import encoding_of
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
    number = 0
    path = Path(path)
    with opening(path, "rt", encoding=encoding_of(path), newline="\n") as file:
        try:
            for number, line in enumerate(file, 1):
                if text := line.strip(blanks):
                    yield number, text
        except UnicodeDecodeError as error:
            byte = f"the byte {error.object[error.start]:#x}"
            raise TextError(
                f"{path}, after line {number}: the file is not UTF-8 text; got {byte}; save it "
                "with the encoding UTF-8"
            ) from None


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
