"""Books of Project Gutenberg as it distributes them: plain text, one book in each file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from structnet.text.sentences import TextError

FEWEST = 10  # books for which each part of an 8:1:1 split has one
# The licence and other text of Project Gutenberg comes before the first mark and after the second.
START = re.compile(
    r"^\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG(?:(?!\n\s*\n).)*?\*\*\*[^\n]*$",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
END = re.compile(
    r"^(?:\*\*\* ?END OF (?:THE|THIS) PROJECT|End of (?:the )?Project) Gutenberg",
    re.MULTILINE | re.IGNORECASE,
)


def sentences_of(text: str) -> list[list[str]]:
    """The sentences of running text, in lower case; punctuation marks count as words.

    Example:
        >>> sentences_of("It was late. Who came?")
        [['it', 'was', 'late', '.'], ['who', 'came', '?']]
    """
    sentences = []
    for part in re.split(r"(?<=[.?!:])\s+|\n\s*\n", text.lower()):
        if words := re.findall(r"\w+(?:['.]\w+)*|[^\w\s]", part):
            sentences.append(words)
    return sentences


def read_book(path: str | Path) -> list[list[str]]:
    """The sentences of a book, without the text that Project Gutenberg puts before and after it.

    Args:
        path: path of the file, in UTF-8 or, like older ones, in Latin-1.

    Raises:
        TextError: the file contains no words.
    """
    content = Path(path).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    text = text.replace("\r\n", "\n")
    if start := START.search(text):
        text = text[start.end() :]
    if end := END.search(text):
        text = text[: end.start()]
    sentences = sentences_of(text)
    if not sentences:
        raise TextError(f"{path} contains no words; expected a book in plain text")
    return sentences


def books_in(folder: Path) -> list[Path]:
    """The books in a folder or else in its folder ``txt``, by name; none if there is no folder."""
    return sorted(folder.glob("*.txt")) or sorted(folder.glob("txt/*.txt"))


def read_books(books: list[Path], seed: int = 0) -> list[list[list[str]]]:
    """The sentences of books for training, validation and testing, split 8:1:1 by book.

    Args:
        books: paths of the books, at least one.
        seed: seed of the split.

    Raises:
        TextError: there are fewer than 10 books, or one contains no words.
    """
    if len(books) < FEWEST:
        raise TextError(
            f"{books[0].parent} needs at least {FEWEST} books, to split them. Got {len(books)}."
        )
    parts = in_three(len(books), seed)
    return [[line for i in part for line in read_book(books[i])] for part in parts]


def in_three(number: int, seed: int) -> list[np.ndarray]:
    """Random places for training, validation and testing, 8:1:1, ascending within each part.

    Shapes:
        three arrays ``[m]`` of int64, together the places below ``number``.
    """
    order = np.random.default_rng(seed).permutation(number)
    tenth = round(number / 10)
    return [np.sort(part) for part in (order[2 * tenth :], order[:tenth], order[tenth : 2 * tenth])]
