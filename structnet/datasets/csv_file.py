"""Reads CSV files whose rows have equal lengths; errors name the line and the column."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structnet.checks import wrong

MISSING = frozenset({"", "?", "na", "n/a", "nan", "null"})  # in lower or upper case


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
    """

    path: Path
    names: tuple[str, ...] | None
    rows: list[list[str]]
    lines: list[int]

    @property
    def num_columns(self) -> int:
        """The number of fields in a row."""
        return len(self.rows[0])

    def error(self, row: int, column: int, message: str) -> TableError:
        """The error for one field, whose row and column are counted from 0."""
        name = f" ({self.names[column]!r})" if self.names and self.names[column] else ""
        where = f"{self.path}, line {self.lines[row]}, column {column + 1}{name}"
        return TableError(f"{where}: {message}")

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """The fields of some columns, numbered from 0, as numbers.

        Shapes:
            ``[rows, columns]``, float64.

        Raises:
            TableError: a field is missing or is not a finite number.
        """
        values = np.empty((len(self.rows), len(columns)))
        for i, row in enumerate(self.rows):
            for j, column in enumerate(columns):
                try:
                    values[i, j] = number(row[column])
                except ValueError as error:
                    raise self.error(i, column, str(error)) from None
        return values

    def texts(self, column: int) -> list[str]:
        """The fields of one column, numbered from 0.

        Raises:
            TableError: a field is missing.
        """
        for i, row in enumerate(self.rows):
            if row[column].lower() in MISSING:
                raise self.error(i, column, _missing(row[column]))
        return [row[column] for row in self.rows]


def number(text: str) -> float:
    """The finite number in a field.

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
        value = float(text)
    except ValueError:
        value = None
    if value is None or "_" in text:  # Python reads 1_000 as a number; files do not write it so
        raise ValueError(f"expected a number; got {text!r}")
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number; got {text!r}")
    return value


def is_number(text: str) -> bool:
    """True if :func:`number` accepts a text."""
    try:
        return number(text) is not None
    except ValueError:
        return False


def read(path: str | Path, header: bool | None = None, delimiter: str = ",") -> Table:
    """Reads a file in UTF-8; fields may be quoted, and blank lines are skipped.

    Args:
        path: path of the file.
        header: True if the first row names the columns, False if not; None to take it for names if
            none of its fields is a number.
        delimiter: character between fields.

    Raises:
        TableError: the file is not UTF-8, it has no rows, its rows have different lengths, or a
            quotation is broken.
        ValueError: the delimiter is not one character, or is a quotation mark or a line break.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.csv")
        ...     _ = path.write_text("height,species\\n3.5,oak\\n")
        ...     read(path)
        Table(..., names=('height', 'species'), rows=[['3.5', 'oak']], lines=[2])
    """
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise wrong("delimiter", "one character", delimiter)
    path = Path(path)
    rows, lines = _rows(path, delimiter)
    if not rows:
        raise TableError(f"{path} is empty; expected rows of fields")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(rows[0]):
            raise TableError(
                f"{path}, line {line}, column {min(len(row), len(rows[0])) + 1}: the row has "
                f"{len(row)} field{'s' * (len(row) > 1)}; line {lines[0]} has {len(rows[0])}"
            )
    if header is None:
        header = not any(map(is_number, rows[0]))
    names = tuple(rows[0]) if header else None
    if len(rows) == header:
        raise TableError(f"{path} has a header and no rows; expected at least one row")
    return Table(path, names, rows[header:], lines[header:])


def _rows(path: Path, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """The rows that are not blank, and the number of the line on which each begins."""
    rows, lines = [], []
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True, strict=True)
        begin = 1
        try:
            for row in reader:
                fields = [field.strip() for field in row]
                if len(fields) > 1 or any(fields):
                    rows.append(fields)
                    lines.append(begin)
                begin = reader.line_num + 1  # a quoted field may span several lines
        except csv.Error as error:
            raise TableError(f"{path}, line {begin}: {error}") from None
        except UnicodeDecodeError as error:
            raise TableError(f"{path} is not UTF-8 text: {error}") from None
    return rows, lines


def _missing(text: str) -> str:
    return f"the value is missing ({text!r})" if text else "the value is missing"
