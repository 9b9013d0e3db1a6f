"""Sentences as tables of one word per line: the columns of each format, and the heads of words.

:mod:`structnet.parse.dependencies` describes the formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from structnet.checks import check_one_of
from structnet.parse.errors import ParseError
from structnet.parse.lines import Line, decoded_lines
from structnet.parse.reading import cycle_above

DIGITS = 19  # no sentence has so many words that it takes them to number one

_NUMBERS = {str(number): number for number in range(200)}  # those that most sentences need
_WRITTEN = list(_NUMBERS)

Format: TypeAlias = Literal["conllu", "conllx", "dp"]


class Layout(NamedTuple):
    """The form of a format's lines.

    Attributes:
        columns: names of the columns.
        widths: numbers of columns that a line may have.
        head: place of the column of heads.
        numbered: True if the first column has the numbers of the words.
    """

    columns: tuple[str, ...]
    widths: tuple[int, ...]
    head: int
    numbered: bool

    def column(self, argument: str, name: str) -> int:
        """The place of the column that an argument names.

        Raises:
            ValueError: the format has no such column.
        """
        if name not in self.columns:
            raise ValueError(f"{argument} must be a column of {self.columns}; got {name!r}")
        return self.columns.index(name)


def _layout(columns: str, widths: tuple[int, ...]) -> Layout:
    names = tuple(columns.split())
    return Layout(names, widths, names.index("head"), names[0] == "id")


_LAYOUTS = {
    "conllu": _layout("id form lemma upos xpos feats head deprel deps misc", (10,)),
    "conllx": _layout("id form lemma cpostag postag feats head deprel phead pdeprel", (8, 10)),
    "dp": _layout("form tag head deprel", (3, 4)),
}


def layout_of(format: str, function: str) -> Layout:
    """The layout of the format that an argument of a function names.

    Raises:
        ValueError: there is no such format.
    """
    check_one_of("format", format, tuple(_LAYOUTS), function)
    return _LAYOUTS[format]


class Sentence(NamedTuple):
    """The words of a sentence.

    Attributes:
        layout: layout of its lines.
        lines: lines of the words, and their numbers.
        rows: fields of each word.
        heads: number of each word's head, from 1; 0 for a root.
    """

    layout: Layout
    lines: list[tuple[int, str]]
    rows: list[list[str]]
    heads: list[int]

    def error(self, message: str, place: int, column: int) -> ParseError:
        """The error in one column of the word at a place."""
        return _error(message, *self.lines[place], self.rows[place], column)

    def head_error(self, message: str, number: int) -> ParseError:
        """The error in the head of a word by its number."""
        return self.error(message, number - 1, self.layout.head)

    def dependents(self) -> list[list[int]]:
        """For each number of a word, and 0 for the roots' head, the words below it, in order.

        Raises:
            ParseError: a head is outside of the sentence, or there is no root.
        """
        size = len(self.heads)
        below: list[list[int]] = [[] for _ in range(size + 1)]
        for number, head in enumerate(self.heads, start=1):
            if head > size:
                shown = self.rows[number - 1][self.layout.head][:DIGITS]
                raise self.head_error(f"head {shown} in a sentence of {size} words", number)
            below[head].append(number)
        if not below[0]:
            raise self.head_error("no root; one word of the sentence must have head 0", 1)
        return below

    def cycle(self, reached: set[int]) -> ParseError:
        """The error of words from which the roots cannot be reached."""
        start = next(n for n in range(1, len(self.heads) + 1) if n not in reached)
        cycle = cycle_above(start, lambda number: self.heads[number - 1])
        shown = " -> ".join(map(str, cycle[:8])) + " -> ..." * (len(cycle) > 8)
        return self.head_error(f"a cycle of heads: {shown} -> {cycle[0]}", cycle[0])


def blocks(lines: Iterable[str | bytes], layout: Layout) -> Iterator[list[Line]]:
    """The lines between two blank ones, with their numbers and without comments."""
    block: list[Line] = []
    for number, line in enumerate(lines, start=1):
        if line[:1].isalnum():  # as of a word's number: the most of them
            block.append((number, line))
        elif not line or line.isspace():
            if block:
                yield block
                block = []
        elif not (layout.numbered and line[:1] in ("#", b"#")):
            block.append((number, line))
    if block:
        yield block


def sentence_of(block: list[Line], layout: Layout, encoding: str) -> Sentence:
    """The words of a block of lines; there may be none.

    Raises:
        ParseError: the bytes of a line do not have the encoding, it has a wrong number of columns,
            or the number or head of a word is not a number.
    """
    _, widths, at, numbered = layout
    sentence = Sentence(layout, [], [], [])
    _, lines, rows, heads = sentence
    for number, source in decoded_lines(block, encoding):
        fields = source.split("\t") if numbered or "\t" in source else source.split()
        if len(fields) not in widths:
            kind = "tabs" if numbered else "tabs or blanks"
            expected = " or ".join(map(str, widths))
            message = f"{len(fields)} columns separated by {kind}; expected {expected}"
            raise ParseError(message, number, 1, source)
        place = len(rows) + 1
        if numbered and fields[0] != (_WRITTEN[place] if place < len(_WRITTEN) else str(place)):
            if re.fullmatch(r"[0-9]+[-.][0-9]+", fields[0]):
                continue  # 3-4 is a multiword token, 3.1 is empty
            message = f"word number {fields[0]!r}; expected {place}"
            raise _error(message, number, source, fields, 0)
        head = fields[at]
        above = _NUMBERS.get(head)
        if above is None:
            if not (head.isdigit() and head.isascii()):
                message = f"the head must be a number; got {head!r}"
                raise _error(message, number, source, fields, at)
            # A number of more digits than Python reads is far outside.
            above = int(head) if len(head) < DIGITS else 10**DIGITS
        lines.append((number, source))
        rows.append(fields)
        heads.append(above)
    return sentence


def _error(message: str, number: int, source: str, fields: list[str], column: int) -> ParseError:
    if "\t" in source:
        offset = sum(len(text) + 1 for text in fields[:column])
    else:
        offset = [match.start() for match in re.finditer(r"\S+", source)][column]
    return ParseError(message, number, offset + 1, source)
