"""How the columns of a user's table become numbers: learned from its training rows, then kept.

=====================  ===========================================================================
numbers                stay as they are; a column may write all of them in one style
                       (``1.234,5``, ``5 €``), see :mod:`.written_numbers`
true and false         become 1 and 0, which may stand among them
dates                  the year, and of months, weekdays and hours, if the training rows show more
                       than one, a number with its sine and cosine, see :mod:`.written_dates`
text                   one number for each value that occurs twice, 1 where the field has it; of
                       more than 50 such values, for the most frequent ones
other kinds            are left out, see :mod:`.column_kinds`
=====================  ===========================================================================

A gap among numbers or dates is filled with their median, and a column with gaps gives one number
more, 1 where the field is missing. A value that is not known has 0 for every known value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from shlex import quote
from typing import Any

import numpy as np

from structnet.datasets.column_kinds import (
    DATES,
    DIFFERENT,
    DOUBTFUL,
    EMPTY,
    IDLE,
    NUMBERS,
    TEXT,
    TRUTH,
    check_written,
    is_missing,
    kind_of,
    missing_of,
    remedy_for,
    repeated,
    truths,
)
from structnet.datasets.csv_file import Table, TableError, number
from structnet.datasets.telling import tell
from structnet.datasets.written_dates import DateStyle, names_of, numbers_of, told_by, year_of
from structnet.datasets.written_numbers import Style

WRITTEN = "; write these dates with the year first, such as 2024-05-31, to use them"
SHOWN = 5  # columns that are named in a line
EPOCH = datetime(1970, 1, 1)  # from which the days of a median are counted


@dataclass(frozen=True)
class Column:
    """A column of a table, and the numbers that it becomes.

    Args:
        place: number of the column in the file, from 1.
        name: name from the header; None if there is none.
        kind: kind of the column, one of those of :mod:`.column_kinds`.
        median: number that fills a gap, of dates the days since 1970; None if a gap is an error.
        values: values of a text, or parts of dates, that become numbers.
        gaps: True if training rows have gaps, so that there is a number that tells them.
        written: style of its numbers; None if they are plain.
        dated: style of its dates; None if they are left out, or are none.
        years: first and last date of the training rows, in years; a date beyond them counts as
            these, as no row tells how a trend goes on.
    """

    place: int
    name: str | None
    kind: str = NUMBERS
    median: float | None = None
    values: tuple[str, ...] = ()
    gaps: bool = False
    written: Style | None = None
    dated: DateStyle | None = None
    years: tuple[float, ...] = ()

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
        missing = missing_of(table, place)
        there = np.asarray(rows)[~missing[rows]]
        if not len(there):
            return cls(place + 1, name, EMPTY)
        kind, style = kind_of(table, place, missing)
        values = repeated(fields[row] for row in there) if kind == TEXT else ()
        if kind not in (NUMBERS, TRUTH, DATES) and not values:
            return cls(place + 1, name, DIFFERENT if kind == TEXT else kind)
        dated = style if isinstance(style, DateStyle) else None
        written = None if isinstance(style, DateStyle) else style
        column = cls(place + 1, name, kind, None, values, len(there) < len(rows), written, dated)
        if kind == TEXT:
            return column
        try:
            if style is not None:
                check_written(table, place, style)
            if dated is not None:
                dates = [dated.date(fields[row]) for row in there]
                days = float(np.median([(date - EPOCH) / timedelta(days=1) for date in dates]))
                years = [year_of(date) for date in (min(dates), max(dates))]
                return replace(column, values=told_by(dates), median=days, years=tuple(years))
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
        if self.kind == DATES:
            named = [f"{self.title} ({name})" for part in self.values for name in names_of(part)]
        else:
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
        elif self.dated is not None:
            numbers[:, : numbers.shape[1] - self.gaps] = self._parts(table, place)
            first, last = self.years
            numbers[:, 0] = np.clip(numbers[:, 0], first, last)
        elif self.inputs:
            numbers[:, 0] = self._numbers(table, place)
        if self.gaps:
            numbers[:, -1] = missing_of(table, place)
        return numbers

    def _parts(self, table: Table, place: int) -> list[list[float]]:
        """The numbers of each row's date, in gaps those of the median."""
        assert self.dated is not None and self.median is not None
        known = {}
        for row, field in enumerate(table.texts(place)):
            if field not in known:
                try:
                    missing = is_missing(field)
                    when = EPOCH + timedelta(self.median) if missing else self.dated.date(field)
                except ValueError as error:
                    raise table.error(row, place, str(error)) from None
                known[field] = numbers_of(when, self.values)
        return [known[field] for field in table.texts(place)]

    def _numbers(self, table: Table, place: int) -> np.ndarray:
        """The number of each row, in gaps the median. ``[rows]``."""
        fields = table.as_written(place)
        values = truths(fields) if self.kind == TRUTH else table.parsed(place, self.written)
        none = np.isnan(values)
        if not none.any():
            return values
        wrong = np.flatnonzero(none & ~(missing_of(table, place) & (self.median is not None)))
        if len(wrong):
            raise table.error(int(wrong[0]), place, self._fault(fields, wrong))
        assert self.median is not None  # otherwise all of them are wrong
        return np.where(none, self.median, values)

    def _fault(self, fields: Sequence[str], wrong: np.ndarray) -> str:
        """The words for the first of the fields that are wrong."""
        field, count = fields[wrong[0]], len(wrong)
        expected = f"expected true or false; got {field!r}"
        if self.kind != TRUTH or is_missing(field):
            try:
                number(field, self.written)
            except ValueError as error:
                expected = str(error)
        many = f" ({count:,} of {len(fields):,} fields are wrong)" * (count > 1)
        empty = "; leave the field empty if it is missing" * (self.median is not None)
        plain = self.written is None or is_missing(field)  # else the error has told how to write
        return f"{expected}{many}{(plain and remedy_for(field)) or empty}"


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

    def without_idle_dates(self, x: np.ndarray, y: np.ndarray) -> Encoding:
        """The encoding without dates that tell nothing of the target.

        A date becomes up to ten numbers, which are noise to a model that reads all of them.

        Args:
            x: training rows as numbers.
            y: their classes, or numbers in columns.

        Shapes:
            x ``[rows, features]``; y ``[rows]`` or ``[rows, targets]``.
        """
        ends = np.cumsum([len(column.inputs) for column in self.columns])
        columns = [
            Column(column.place, column.name, IDLE) if column.dated and not tell(own, y) else column
            for column, own in zip(self.columns, np.split(x, ends[:-1], axis=1), strict=True)
        ]
        kept = tuple(columns)
        same = kept == self.columns or not any(column.inputs for column in kept)
        return self if same else Encoding(kept)

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
            places: number in that file of each column, from 0; of one that is None, all numbers
                are 0.

        Shapes:
            ``[rows, features]``, float64.

        Raises:
            TableError: a field among numbers is none.
        """
        pairs = zip(self.columns, places, strict=True)
        parts = [
            np.zeros((len(table.rows), len(each.inputs))) if at is None else each.numbers(table, at)
            for each, at in pairs
        ]
        return np.concatenate(parts, axis=1)

    def lines(self) -> Iterator[str]:
        """What happens to columns that are not plain numbers, one line for each kind of them."""
        out = [column for column in self.columns if not column.inputs]
        text = [column for column in self.columns if column.kind == TEXT]
        dates = [column for column in self.columns if column.dated]
        gaps = [column for column in self.columns if column.gaps and column.kind != TEXT]
        written = [column for column in self.columns if column.written]
        if text:
            listed = self._listed(text, "values")
            yield f"text, one number for each value: {', '.join(listed)}"
        if dates:
            yield f"dates: {', '.join(self._listed(dates, 'values'))}"
        if written:
            yield f"numbers in a style of their own: {', '.join(self._listed(written, 'written'))}"
        if gaps:
            yield f"gaps, filled with the median: {', '.join(self._listed(gaps))}"
        if out:
            remedy = WRITTEN * any(column.kind == DOUBTFUL for column in out)
            yield f"left out: {', '.join(self._listed(out, 'kind'))}{remedy}"

    def _listed(self, columns: Sequence[Column], what: str = "") -> Iterator[str]:
        for column in columns[:SHOWN]:
            about = getattr(column, what) if what else ""
            if what == "values":
                number = f"{len(about)} value{'s' * (len(about) != 1)}"
                about = ", ".join(about) if column.kind == DATES else number
            yield f"{column.title!r}{f' ({about})' * bool(about)}"
        if len(columns) > SHOWN:
            yield f"and {len(columns) - SHOWN} more"

    def to_list(self) -> list[dict[str, Any]]:
        """The columns for JSON and :meth:`from_list`."""
        columns = [asdict(column) | {"values": list(column.values)} for column in self.columns]
        for column in columns:
            for name in ("written", "dated", "years"):  # plain numbers need no word on it
                if style := column.pop(name):
                    column[name] = list(style)
        return columns

    @classmethod
    def from_list(cls, columns: Sequence[Mapping[str, Any]]) -> Encoding:
        """The encoding that :meth:`to_list` wrote."""
        return cls(tuple(_described(**each) for each in columns))


def _described(
    values: Sequence[str],
    written: Sequence[Any] | None = None,
    dated: Sequence[str] | None = None,
    years: Sequence[float] = (),
    **rest: Any,
) -> Column:
    """The column that a run describes."""
    dates = None if dated is None else DateStyle(*dated)
    style = style_from(written)
    return Column(values=tuple(values), written=style, dated=dates, years=tuple(years), **rest)


def style_from(written: Sequence[Any] | None) -> Style | None:
    """The style that a run describes by a list; None if it describes none."""
    return None if written is None else Style(*written)
