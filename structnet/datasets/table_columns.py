"""How the columns of a user's table become numbers: learned from its training rows, then kept.

=====================  ===========================================================================
numbers                stay as they are; a column may write all of them in one style
                       (``1.234,5``, ``5 €``), see :mod:`.written_numbers`
true and false         become 1 and 0, which may stand among them
text                   one number for each value that occurs twice, 1 where the field has it; of
                       more than 50 such values, for the most frequent ones
dates; text of too     are left out: few values of a new row would be known
many different values
=====================  ===========================================================================

A gap among numbers is filled with their median, and a column with gaps gives one number more, 1
where the field is missing. A value that is not known has 0 for every known value. One other word
among numbers, or one in twenty, is a misprint, and an error; with more of them a column is text.

The kind of a column is that of all rows: whether a table can be read depends on no draw of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from shlex import quote
from typing import Any

import numpy as np

from structnet.datasets.csv_file import (
    DATE,
    DECIMAL_COMMA,
    MISSING,
    THOUSANDS,
    Table,
    TableError,
    number,
)
from structnet.datasets.written_numbers import MISPRINTS, Style, style_of

NUMBERS, TRUTH, TEXT = "numbers", "true and false", "text"
DATES, EMPTY, DIFFERENT = "dates", "no values", "text of too many different values"
AS_NUMBERS = "; to use dates, write them as numbers, such as days since a day, months or hours"
TRUE = {"true": 1.0, "false": 0.0}  # in lower or upper case
BITS = {"1": 1.0, "0": 0.0}  # which are true and false only among words
MOST_VALUES = 50  # of a text that become numbers
KNOWN = 0.25  # least share of a text's fields that have one of these values
SHOWN = 5  # columns that are named in a line


@dataclass(frozen=True)
class Column:
    """A column of a table, and the numbers that it becomes.

    Args:
        place: number of the column in the file, from 1.
        name: name from the header; None if there is none.
        kind: content of the rows, one of those in the module's header; "dates", "no values", and
            text of too many values are left out.
        median: number that fills a gap; None if a gap is an error.
        values: values of a text that become numbers.
        gaps: True if training rows have gaps, so that there is a number that tells them.
        written: style of its numbers; None if they are plain.
    """

    place: int
    name: str | None
    kind: str = NUMBERS
    median: float | None = None
    values: tuple[str, ...] = ()
    gaps: bool = False
    written: Style | None = None

    @classmethod
    def learned(cls, table: Table, place: int, rows: Sequence[int] | np.ndarray) -> Column:
        """The column of a table, by its training rows, except for its kind.

        Args:
            table: fields of the file.
            place: number of the column, from 0.
            rows: numbers of the training rows.

        Shapes:
            rows ``[training rows]``.

        Raises:
            TableError: a field among numbers is none.
        """
        name = table.names[place] if table.names else None
        fields = [row[place] for row in table.rows]
        missing = _missing_of(table, place)
        there = np.asarray(rows)[~missing[rows]]
        if not len(there):
            return cls(place + 1, name, EMPTY)
        written = style_in(table, place, ~missing)
        kind = _kind_of(table, place, ~missing) if written is None else NUMBERS
        values = _repeated(fields[row] for row in there) if kind == TEXT else ()
        if kind not in (NUMBERS, TRUTH) and not values:
            return cls(place + 1, name, DIFFERENT if kind == TEXT else kind)
        column = cls(place + 1, name, kind, None, values, len(there) < len(rows), written)
        if kind == TEXT:
            return column
        try:
            if written is not None:
                check_written(table, place, written)
            known = replace(column, median=0.0)._numbers(table, place)[there]
        except TableError as error:
            out = f"or leave the column out (--without {quote(table.known_as(place))})"
            raise TableError(f"{error}, {out}") from None
        return replace(column, median=float(np.median(known)))

    @property
    def title(self) -> str:
        """The column's name, or its number in the file."""
        return self.name or f"column {self.place}"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the numbers that it becomes."""
        named = [f"{self.title} = {value}" for value in self.values]
        named += [self.title] * (self.kind in (NUMBERS, TRUTH))
        return (*named, *[f"{self.title} is missing"] * self.gaps)

    def numbers(self, table: Table, place: int) -> np.ndarray:
        """The numbers of each row.

        Args:
            table: fields of a file, which need not be the one that it was learned from.
            place: number of the column in that file, from 0.

        Shapes:
            ``[rows, inputs]``, float64.

        Raises:
            TableError: a field among numbers is none, or is missing and there is no median.
        """
        fields = [row[place] for row in table.rows]
        numbers = np.zeros((len(fields), len(self.inputs)))
        if self.kind == TEXT:
            known = {value: i for i, value in enumerate(self.values)}
            pairs = [(row, known[x]) for row, x in enumerate(fields) if x in known]
            numbers[tuple(np.array(pairs, int).reshape(-1, 2).T)] = 1
        elif self.inputs:
            numbers[:, 0] = self._numbers(table, place)
        if self.gaps:
            numbers[:, -1] = _missing_of(table, place)
        return numbers

    def _numbers(self, table: Table, place: int) -> np.ndarray:
        """The number of each row, in gaps the median. ``[rows]``."""
        fields = table.as_written(place)
        values = _truths(fields) if self.kind == TRUTH else table.parsed(place, self.written)
        none = np.isnan(values)
        if not none.any():
            return values
        wrong = np.flatnonzero(none & ~(_missing_of(table, place) & (self.median is not None)))
        if len(wrong):
            raise table.error(int(wrong[0]), place, self._fault(fields, wrong))
        assert self.median is not None  # otherwise all of them are wrong
        return np.where(none, self.median, values)

    def _fault(self, fields: Sequence[str], wrong: np.ndarray) -> str:
        """The words for the first of the fields that are wrong."""
        field, count = fields[wrong[0]], len(wrong)
        expected = f"expected true or false; got {field!r}"
        if self.kind != TRUTH or _is_missing(field):
            try:
                number(field, self.written)
            except ValueError as error:
                expected = str(error)
        many = f" ({count:,} of {len(fields):,} fields are wrong)" * (count > 1)
        empty = "; leave the field empty if it is missing" * (self.median is not None)
        plain = self.written is None or _is_missing(field)  # else the error has told how to write
        return f"{expected}{many}{(plain and _remedy(field)) or empty}"


@dataclass(frozen=True)
class Encoding:
    """How the rows of a table become numbers.

    Args:
        columns: columns of the features, in the order of the file that it was learned from; also
            those that become no numbers.

    Example:
        >>> from pathlib import Path
        >>> rows = [["3", "oak"], ["", "elm"], ["5", "oak"], ["7", "elm"]]
        >>> table = Table(Path("trees.csv"), ("height", "kind"), rows, [2, 3, 4, 5])
        >>> encoding = Encoding.learned(table, [0, 1], range(4))
        >>> encoding.features
        ('height', 'height is missing', 'kind = elm', 'kind = oak')
        >>> encoding(table, [0, 1])[1]
        array([5., 1., 1., 0.])
    """

    columns: tuple[Column, ...]

    @classmethod
    def learned(
        cls, table: Table, places: Sequence[int], rows: Sequence[int] | np.ndarray
    ) -> Encoding:
        """The encoding of some columns of a table, by its training rows.

        Args:
            table: fields of the file.
            places: numbers of the features' columns, from 0.
            rows: numbers of the training rows.

        Shapes:
            rows ``[training rows]``.

        Raises:
            TableError: a field among numbers is none, or no column becomes numbers.
        """
        encoding = cls(tuple(Column.learned(table, place, rows) for place in places))
        if not any(column.inputs for column in encoding.columns):
            kinds = ", ".join(encoding._listed(encoding.columns, "kind"))
            raise TableError(f"{table.path} has no feature that becomes numbers: {kinds}")
        return encoding

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns in the file; None if they have none."""
        names = [column.name for column in self.columns if column.name is not None]
        return tuple(names) if len(names) == len(self.columns) else None

    @property
    def features(self) -> tuple[str, ...] | None:
        """The names of the numbers; None if they are those of columns without names."""
        named = tuple(name for column in self.columns for name in column.inputs)
        same = len(named) == len(self.columns) and all(c.kind == NUMBERS for c in self.columns)
        return self.names if same else named

    @property
    def has_words(self) -> bool:
        """True if there may be rows without a number."""
        return any(column.kind != NUMBERS or column.written for column in self.columns)

    def __call__(self, table: Table, places: Sequence[int | None]) -> np.ndarray:
        """The rows of a table as numbers.

        Args:
            table: fields of a file.
            places: number in that file of each column, from 0; one that becomes no numbers may be
                None.

        Shapes:
            ``[rows, features]``, float64.

        Raises:
            TableError: a field among numbers is none.
        """
        pairs = zip(self.columns, places, strict=True)
        parts = [each.numbers(table, at) for each, at in pairs if each.inputs and at is not None]
        return np.concatenate(parts, axis=1)

    def lines(self) -> Iterator[str]:
        """What happens to columns that are not plain numbers, one line for each kind of them."""
        out = [column for column in self.columns if not column.inputs]
        text = [column for column in self.columns if column.kind == TEXT]
        gaps = [column for column in self.columns if column.gaps and column.kind != TEXT]
        written = [column for column in self.columns if column.written]
        if text:
            listed = self._listed(text, "values")
            yield f"text, one number for each value: {', '.join(listed)}"
        if written:
            yield f"numbers in a style of their own: {', '.join(self._listed(written, 'written'))}"
        if gaps:
            yield f"gaps, filled with the median: {', '.join(self._listed(gaps))}"
        if out:
            remedy = AS_NUMBERS * any(column.kind == DATES for column in out)
            yield f"left out: {', '.join(self._listed(out, 'kind'))}{remedy}"

    def _listed(self, columns: Sequence[Column], what: str = "") -> Iterator[str]:
        for column in columns[:SHOWN]:
            about = getattr(column, what) if what else ""
            about = f"{len(about)} value{'s' * (len(about) != 1)}" if what == "values" else about
            yield f"{column.title!r}{f' ({about})' * bool(about)}"
        if len(columns) > SHOWN:
            yield f"and {len(columns) - SHOWN} more"

    def to_list(self) -> list[dict[str, Any]]:
        """The columns for JSON and :meth:`from_list`."""
        columns = [asdict(column) | {"values": list(column.values)} for column in self.columns]
        for column in columns:
            if (style := column.pop("written")) is not None:  # plain ones need no word on it
                column["written"] = list(style)
        return columns

    @classmethod
    def from_list(cls, columns: Sequence[Mapping[str, Any]]) -> Encoding:
        """The encoding that :meth:`to_list` wrote."""
        return cls(tuple(_described(**each) for each in columns))


def _described(values: Sequence[str], written: Sequence[Any] | None = None, **rest: Any) -> Column:
    """The column that a run describes."""
    return Column(values=tuple(values), written=style_from(written), **rest)


def _kind_of(table: Table, place: int, rows: np.ndarray) -> str:
    """The kind of a column by its fields that are not missing, in ``rows [n]``."""
    none = np.flatnonzero(rows & np.isnan(table.parsed(place)))
    if not len(none):
        return NUMBERS
    there = [table.rows[row][place] for row in np.flatnonzero(rows)]
    if {field.lower() for field in set(there)} <= TRUE.keys() | BITS.keys():
        return TRUTH
    # A number that is infinite, or written otherwise, is one, too, whose error says what to do.
    words = sum(not _is_other_number(table.rows[row][place]) for row in none)
    if _may_be_misprints(words, len(there)):
        return NUMBERS
    if 2 * sum(DATE.fullmatch(field) is not None for field in there) > len(there):
        return DATES
    counts, values = Counter(there), _repeated(there)
    return TEXT if sum(counts[value] for value in values) >= KNOWN * len(there) else DIFFERENT


def style_in(table: Table, place: int, rows: np.ndarray) -> Style | None:
    """The style of a column's numbers; None if they are plain or too many fields are none.

    Args:
        table: fields of the file.
        place: number of the column, from 0.
        rows: True for each row in which the field is not missing.

    Shapes:
        rows ``[rows]``.
    """
    if not np.isnan(table.parsed(place)[rows]).any():
        return None
    fields = table.as_written(place)
    there = [fields[row] for row in np.flatnonzero(rows)]
    style = style_of(there)
    if style is None:
        return None
    wrong = sum(not style.wrote(field) for field in there)
    return style if _may_be_misprints(wrong, len(there)) else None


def _may_be_misprints(wrong: int, number: int) -> bool:
    """Whether so few of a number of fields are wrong that the others tell what they should be."""
    return wrong <= max(1, MISPRINTS * number) and 2 * wrong <= number


def check_written(table: Table, place: int, style: Style) -> None:
    """Refuses a column in which a field is written otherwise.

    Raises:
        TableError: a field that is not missing is not of the style.
    """
    for row, field in enumerate(table.as_written(place)):
        if not _is_missing(field) and not style.wrote(field):
            raise table.error(row, place, style.unlike(field))


def style_from(written: Sequence[Any] | None) -> Style | None:
    """The style that a run describes by a list; None if it describes none."""
    return None if written is None else Style(*written)


def _repeated(fields: Iterable[str]) -> tuple[str, ...]:
    """The most frequent of the values that occur twice, in alphabetical order."""
    frequent = Counter(fields).most_common(MOST_VALUES)
    return tuple(sorted(value for value, count in frequent if count > 1))


def _missing_of(table: Table, place: int) -> np.ndarray:
    """True for each row in which the field is missing. ``[rows]``."""
    missing = np.isnan(table.parsed(place))
    missing[missing] = [_is_missing(table.rows[row][place]) for row in np.flatnonzero(missing)]
    return missing


def _truths(fields: Sequence[str]) -> np.ndarray:
    """1 for true and 0 for false, NaN for other fields. ``[fields]``."""
    return np.array([(TRUE | BITS).get(field.lower(), np.nan) for field in fields])


def _is_missing(field: str) -> bool:
    return field.lower() in MISSING


def _is_other_number(field: str) -> bool:
    """Whether a field that is no number is infinite, or written as numbers are elsewhere."""
    try:
        return isinstance(float(field), float)
    except ValueError:
        return bool(THOUSANDS.fullmatch(field) or DECIMAL_COMMA.fullmatch(field))


def _remedy(field: str) -> str:
    """The words that end the error for a field that is not a number."""
    if _is_missing(field):
        return "; fill it in, for example with the median of the column, or leave the row out"
    if THOUSANDS.fullmatch(field):
        return "; write numbers without commas between thousands, and decimals with points"
    if DECIMAL_COMMA.fullmatch(field):
        return "; write the decimals of the column with points"
    return ""
