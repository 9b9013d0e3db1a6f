"""Reads CSV files whose rows have equal lengths; errors name the line and the column."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from pathlib import Path

import numpy as np

from structnet.checks import wrong
from structnet.datasets.written_numbers import Style, style_of
from structnet.parse.lines import decoded, marked_encoding, undecoded
from structnet.parse.packed import opening

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null"})  # in lower or upper case
DELIMITERS = (",", ";", "\t")  # from which one is guessed; the first, if several fit equally
UNNAMED = [""], ["Unnamed: 0"]  # as pandas writes it when it has read such a file
SEPARATOR = re.compile(r'sep=([^"\r\n])\r?\n', re.IGNORECASE)
GUESSED_FROM = 20  # rows
WORDS_APART = re.compile(r",(?!\d)|(?<!\d),")  # commas that are no marks of numbers
ALIKE = 10  # least number of rows that tell a name above numbers from a class
COUNTED = 3  # columns, counted from 0, that look like names
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")  # or, between semicolons, decimals
DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?")  # or a whole number
DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


class TableError(ValueError):
    """A table cannot be read; the message names the line and, where it is known, the column."""


@dataclass(frozen=True)
class Table:
    """The fields of a file.

    Attributes:
        path: path of the file.
        names: names of the columns from the header; None if there is no header.
        rows: fields of each row, without the spaces around them.
        lines: number of the line on which each row begins, from 1.
        commas: numbers of the columns, from 0, whose decimal commas became points.
    """

    path: Path
    names: tuple[str, ...] | None
    rows: list[list[str]]
    lines: list[int]
    commas: frozenset[int] = field(default=frozenset(), repr=False)
    _parsed: dict[tuple[int, Style | None], np.ndarray] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def num_columns(self) -> int:
        """The number of fields in a row."""
        return len(self.rows[0])

    def features(self, target: int | None = None) -> list[int]:
        """The numbers of all columns but the target's, and but that of the rows' labels.

        pandas and R write the labels of rows, such as their numbers, as a first column without a
        name. A model would learn from them where rows were sorted, and know nothing of other rows.
        """
        columns = [column for column in range(self.num_columns) if column != target]
        names = [self.names[column] for column in columns] if self.names else []
        labelled = len(columns) > 1 and columns[0] == 0 and all(names[1:])
        return columns[1:] if labelled and names[:1] in UNNAMED else columns

    def known_as(self, column: int) -> str:
        """What ``--without`` calls a column, numbered from 0: its name, or its number from 1.

        The flag finds no column by an empty name or one of several equal names, is split at commas,
        and takes a name that begins with a hyphen for another flag.
        """
        name = self.names[column] if self.names else ""
        usable = name and not name.startswith("-") and "," not in name
        return name if usable and (self.names or ()).count(name) == 1 else str(column + 1)

    def error(self, row: int, column: int, message: str) -> TableError:
        """The error for one field, whose row and column are counted from 0."""
        name = f" ({self.names[column]!r})" if self.names and self.names[column] else ""
        where = f"{self.path}, line {self.lines[row]}, column {column + 1}{name}"
        return TableError(f"{where}: {message}")

    def numbers(self, columns: Sequence[int], style: Style | None = None) -> np.ndarray:
        """The fields of some columns, numbered from 0, as numbers, which may be written in a style.

        Shapes:
            ``[rows, columns]``, float64.

        Raises:
            TableError: a field is missing or is not a finite number.
        """
        values = np.empty((len(self.rows), len(columns)))
        for j, column in enumerate(columns):
            values[:, j] = self.parsed(column, style)
        for i, j in np.argwhere(np.isnan(values))[:1]:
            try:
                number(self.as_written(columns[j])[i], style)
            except ValueError as error:
                raise self.error(i, columns[j], str(error)) from None
        return values

    def parsed(self, column: int, style: Style | None = None) -> np.ndarray:
        """The number in each field of a column, numbered from 0; NaN where :func:`number` has none.

        The fields of a column with a style are read as they are written in the file.

        Shapes:
            ``[rows]``, float64; not to be written to, as it is read once.
        """
        if (column, style) not in self._parsed:
            fields = self.texts(column) if style is None else self.as_written(column)
            plain = style is None  # which may read a point otherwise
            try:  # all at once, which is ten times as fast
                if plain:
                    numbers = np.array(list(map(float, fields)))
                    plain = bool(np.isfinite(numbers).all()) and "_" not in "".join(fields)
            except ValueError:
                plain = False
            if not plain:
                known = {
                    each: number(each, style) if is_number(each, style) else np.nan
                    for each in set(fields)
                }
                numbers = np.array([known[each] for each in fields])
            self._parsed[column, style] = numbers
        return self._parsed[column, style]

    def without_gaps(self, column: int) -> tuple[Table, list[str]]:
        """The rows that have a value in a column, numbered from 0, and the fields of the others."""
        gaps = [row[column].lower() in MISSING for row in self.rows]
        if not any(gaps):
            return self, []
        kept = [i for i, gap in enumerate(gaps) if not gap]
        rows, lines = [self.rows[i] for i in kept], [self.lines[i] for i in kept]
        left_out = [row[column] for row, gap in zip(self.rows, gaps, strict=True) if gap]
        return Table(self.path, self.names, rows, lines, self.commas), left_out

    def texts(self, column: int) -> list[str]:
        """The fields of one column, numbered from 0."""
        return [row[column] for row in self.rows]

    def as_written(self, column: int) -> list[str]:
        """The fields of one column, numbered from 0, with the decimal commas that they had."""
        texts = self.texts(column)
        return [text.replace(".", ",") for text in texts] if column in self.commas else texts


def number(text: str, style: Style | None = None) -> float:
    """The finite number in a field, which may be written in a style.

    Raises:
        ValueError: the value is missing, or is not a finite number.

    Example:
        >>> number("-1.5e3")
        -1500.0
        >>> number("12,5")
        Traceback (most recent call last):
        ValueError: expected a number; got '12,5'
    """
    if text.lower() in MISSING:
        raise ValueError(_missing(text))
    try:
        value = float(text) if style is None else style.number(text)
    except ValueError:
        if style is not None:
            raise  # it has told how to write the number
        value = None
    if value is None or "_" in text:  # Python reads 1_000 as a number; files do not write it so
        raise ValueError(f"expected a number; got {text!r}")
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number; got {text!r}")
    return value


def is_number(text: str, style: Style | None = None) -> bool:
    """True if :func:`number` accepts a text."""
    try:
        return number(text, style) is not None
    except ValueError:
        return False


def read(
    path: str | Path,
    header: bool | None = None,
    delimiter: str | None = None,
    *,
    known: Collection[str] | None = (),
    text: str | None = None,
) -> Table:
    """Reads a file in UTF-8, which may be compressed; fields may be quoted.

    Blank lines are skipped.

    Between semicolons, numbers may have decimal commas (``12,5``) if none has a decimal point. A
    first line ``sep=;``, as Excel writes it, names the delimiter.

    Args:
        path: path of the file.
        header: True if the first row names the columns, False if not; None to take it for names if
            none of its fields is a number. Above at least 10 rows, it has names, too, if it
            consists of years and of words one of which stands above nothing but numbers, or counts
            at least three columns from 0, with or without words that do not occur again. It has
            names, too, if it counts columns from 0 behind an empty field, below which all rows have
            different labels.
        delimiter: character between fields; None to take the comma, the semicolon or the tab,
            whichever fits the first rows best.
        known: names of columns; the first row has names if these are among its fields. None if it
            belongs to a table without names: it has some only if none of its fields is a number.
        text: content of the file, if it has been read; the path is then its name in errors.

    Raises:
        TableError: the file is no text or not UTF-8, it has no rows, its rows have different
            lengths, or a quotation is broken.
        ValueError: the delimiter is not one character, or is a quotation mark or a line break; or
            a compressed file is damaged.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.csv")
        ...     _ = path.write_text("height,species\\n3.5,oak\\n")
        ...     read(path)
        Table(..., names=('height', 'species'), rows=[['3.5', 'oak']], lines=[2])
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise wrong("delimiter", "one character", delimiter)
    path = Path(path)
    text = _text(path) if text is None else text
    if named := SEPARATOR.match(text):
        delimiter, text = named[1], "\n" + text[named.end() :]
    delimiter = delimiter or _guessed(text)
    rows, lines = _rows(path, text, delimiter)
    if not rows:
        raise TableError(f"{path} is empty; expected rows of fields")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(rows[0]):
            raise TableError(
                f"{path}, line {line}, column {min(len(row), len(rows[0])) + 1}: the row has "
                f"{len(row)} field{'s' * (len(row) > 1)}; line {lines[0]} has {len(rows[0])}"
            )
    if header is None:
        first, below = _with_points(rows[:1], delimiter)[0][0], [] if known is None else rows[1:]
        header = bool(known) and set(known or ()) <= set(rows[0])
        header = header or _has_names(first, below, delimiter)
    names = tuple(rows[0]) if header else None
    if len(rows) == header:
        raise TableError(f"{path} has a header and no rows; expected at least one row")
    fields, commas = _with_points(rows[header:], delimiter)
    return Table(path, names, fields, lines[header:], commas)


def _has_names(first: list[str], rows: list[list[str]], delimiter: str) -> bool:
    """Whether the first row looks like names of columns, of which some may be numbers, as years."""
    if not any(map(is_number, first)):
        return not all(style_of([text]) for text in first)
    words = [i for i, text in enumerate(first) if re.search(r"[^\W\d_]", text)]
    words = [i for i in words if not is_number(first[i]) and first[i].lower() not in MISSING]
    # Labels of rows below no name, as pandas writes them; as a row, it would lack a value.
    behind = [i for i, text in enumerate(first[1:], 1) if text == str(i - 1)]
    if rows and not first[0] and behind and len(behind) + len(words) == len(first) - 1:
        labels = {row[0] for row in rows}
        return len(labels) == len(rows) and "" not in labels
    if len(rows) < ALIKE:
        return False
    # As pandas names columns; two such numbers may be the first of many points.
    counted = [i for i, text in enumerate(first) if text == str(i)]
    again = first in rows or any(row[i] == first[i] for row in rows for i in words)
    if len(counted) >= COUNTED and len(counted) + len(words) == len(first) and not again:
        return rows[0][0] != "1"  # else they are numbers of rows
    years = [i for i, text in enumerate(first) if re.fullmatch(r"\d{4}", text)]
    if len(years) + len(words) < len(first):
        return False
    rows, _ = _with_points(rows, delimiter)
    return any(all(is_number(row[i]) for row in rows) for i in words)


def _text(path: Path) -> str:
    with opening(path) as file:
        content = file.read()
    if b"\0" in content and marked_encoding(content) is None:  # Excel's Unicode text is UTF-16
        raise TableError(
            f"{path} is not a text file, as it has zero bytes; expected a table saved as CSV with "
            "the encoding UTF-8"
        )
    try:
        return decoded(content)
    except UnicodeDecodeError as error:
        message = f"{path}, {undecoded(error)}; save it as CSV with the encoding UTF-8"
        raise TableError(message) from None


def _guessed(text: str) -> str:
    """The delimiter with which rows have equal lengths and most fields are numbers.

    It is no comma if all of them stand between digits, and another one makes rows of equal lengths.
    """
    fits = {}
    for delimiter in DELIMITERS:
        reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
        try:
            rows = [row for row in islice(reader, GUESSED_FROM) if any(row)]
        except csv.Error:  # which is reported where all rows are read
            continue
        if rows and len(rows[0]) > 1:
            equal = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
            fields = [field.strip() for row in rows for field in row]
            fields = [text.replace(",", ".", 1) if delimiter == ";" else text for text in fields]
            fits[delimiter] = equal, sum(map(is_number, fields)) / len(fields)
    others = {delimiter: fit for delimiter, fit in fits.items() if delimiter != ","}
    if any(equal == 1 for equal, _ in others.values()) and not WORDS_APART.search(text):
        fits = others
    return max(fits, key=fits.__getitem__, default=DELIMITERS[0])


def _with_points(rows: list[list[str]], delimiter: str) -> tuple[list[list[str]], frozenset[int]]:
    """Rows between semicolons, with points for the decimal commas of columns of numbers alone.

    Also returns the numbers of these columns.

    Beside a number with a point, a comma may separate thousands, and all rows stay as they are.
    """
    if delimiter != ";":
        return rows, frozenset()
    commas = {column for row in rows for column, text in enumerate(row) if "," in text}
    if not commas or any(DECIMAL_POINT.fullmatch(text) for row in rows for text in row):
        return rows, frozenset()
    numbers = frozenset(
        column
        for column in commas
        if all(
            DECIMAL_COMMA.fullmatch(row[column]) or row[column].lower() in MISSING for row in rows
        )
    )
    return [
        [text.replace(",", ".") if column in numbers else text for column, text in enumerate(row)]
        for row in rows
    ], numbers


def _rows(path: Path, text: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """The rows that are not blank, and the number of the line on which each begins."""
    rows, lines, begin = [], [], 1
    file = StringIO(text, newline="")
    reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if len(fields) > 1 or any(fields):
                rows.append(fields)
                lines.append(begin)
            begin = reader.line_num + 1  # a quoted field may span several lines
    except csv.Error as error:
        quoted = "a quotation mark is opened and not closed"
        what = quoted if str(error) == "unexpected end of data" else error
        raise TableError(f"{path}, line {begin}: {what}") from None
    return rows, lines


def _missing(text: str) -> str:
    return f"the value is missing ({text!r})" if text else "the value is missing"
