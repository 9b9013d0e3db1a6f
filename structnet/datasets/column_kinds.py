"""What kind a column of a user's table is, as all of its rows tell, and how it is written.

======================  ==========================================================================
numbers                 all fields are numbers, of one style, see :mod:`.written_numbers`
true and false          all are one of these, or 1 and 0 among them
dates                   most are dates, of one style, see :mod:`.written_dates`
text                    a quarter or more have values that occur twice
the others              are not used: no values, text of too many different values, dates of
                        which no field tells the day from the month, dates among text, and those
                        that tell no more of the target than chance would, by themselves
======================  ==========================================================================

A word or two among numbers or dates, or one in twenty, is a misprint, and an error for the reader
of the column. Whether a table can be read depends on no draw of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from structnet.datasets import written_dates
from structnet.datasets.csv_file import DECIMAL_COMMA, MISSING, THOUSANDS, Table
from structnet.datasets.written_dates import DATE, DateStyle
from structnet.datasets.written_numbers import MISPRINTS, Style, style_of

NUMBERS, TRUTH, DATES, TEXT = "numbers", "true and false", "dates", "text"
EMPTY, DIFFERENT = "no values", "text of too many different values"
DOUBTFUL = "dates, days and months in doubt"
AMONG_TEXT = "dates among other text"
IDLE = "dates that tell nothing of the target"
TRUE = {"true": 1.0, "false": 0.0}  # in lower or upper case
BITS = {"1": 1.0, "0": 0.0}  # which are true and false only among words
MOST_VALUES = 50  # of a text that become numbers
KNOWN = 0.25  # least share of a text's fields that have one of these values


def kind_of(table: Table, place: int, missing: np.ndarray) -> tuple[str, Style | DateStyle | None]:
    """The kind of a column, and the style of its numbers or dates; None for plain numbers.

    Args:
        table: fields of the file.
        place: number of the column, from 0.
        missing: True for each row in which the field is missing; there is one in which it is not.

    Shapes:
        missing ``[rows]``.
    """
    if (style := style_in(table, place, ~missing)) is not None:
        return NUMBERS, style
    fields = [table.rows[row][place] for row in np.flatnonzero(~missing)]
    kind = _kind_of(table, place, ~missing)
    if kind != DATES:
        return kind, None
    dates = written_dates.style_of(fields)
    if dates is None:
        return DOUBTFUL, None
    wrong = sum(not dates.wrote(field) for field in fields)
    return (DATES, dates) if _may_be_misprints(wrong, len(fields)) else (AMONG_TEXT, None)


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
    counts, values = Counter(there), repeated(there)
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


def check_written(table: Table, place: int, style: Style | DateStyle) -> None:
    """Refuses a column in which a field is written otherwise.

    Raises:
        TableError: a field that is not missing is not of the style.
    """
    for row, field in enumerate(table.as_written(place)):
        if not is_missing(field) and not style.wrote(field):
            raise table.error(row, place, style.unlike(field))


def repeated(fields: Iterable[str]) -> tuple[str, ...]:
    """The most frequent of the values that occur twice, in alphabetical order."""
    frequent = Counter(fields).most_common(MOST_VALUES)
    return tuple(sorted(value for value, count in frequent if count > 1))


def missing_of(table: Table, place: int) -> np.ndarray:
    """True for each row in which the field is missing. ``[rows]``."""
    missing = np.isnan(table.parsed(place))
    missing[missing] = [is_missing(table.rows[row][place]) for row in np.flatnonzero(missing)]
    return missing


def truths(fields: Sequence[str]) -> np.ndarray:
    """1 for true and 0 for false, NaN for other fields. ``[fields]``."""
    return np.array([(TRUE | BITS).get(field.lower(), np.nan) for field in fields])


def is_missing(field: str) -> bool:
    """Whether a field says that there is no value."""
    return field.lower() in MISSING


def _is_other_number(field: str) -> bool:
    """Whether a field that is no number is infinite, or written as numbers are elsewhere."""
    try:
        return isinstance(float(field), float)
    except ValueError:
        return bool(THOUSANDS.fullmatch(field) or DECIMAL_COMMA.fullmatch(field))


def remedy_for(field: str) -> str:
    """The words that end the error for a field that is not a number."""
    if is_missing(field):
        return "; fill it in, for example with the median of the column, or leave the row out"
    if THOUSANDS.fullmatch(field):
        return "; write numbers without commas between thousands, and decimals with points"
    if DECIMAL_COMMA.fullmatch(field):
        return "; write the decimals of the column with points"
    return ""
