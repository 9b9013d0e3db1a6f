"""Dates as a column writes them, and the numbers that they become.

==========================  ====================================================================
``2024-05-31``              the year first, also between slashes or points
``31.5.2024``, ``5/31/24``  the year last; which of the others is the day, some field has to
                            tell by a number above 12, except between points, where days are first
``... 17:05:30 +02:00``     a time behind it, also with ``T``, am or pm; its zone does not count
==========================  ====================================================================

What recurs with the seasons, on some days of a week or at some time of a day may be told by a
threshold or by a wave. So a date is a year with decimals and, of each cycle that the training rows
show, a number with its sine and cosine. No rows of less than a year can tell a season from a trend.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

PART = r"(0?[1-9]|[12]\d|3[01])"  # a month or a day
TIME = (
    r"[T ]\s?(?P<hour>\d\d?):(?P<minute>\d\d)(:(?P<second>\d\d)([.,]\d+)?)?"
    r"(\s?(?P<half>[AaPp])\.?[Mm]\.?)?\s?(Z|UTC?|GMT|[+-]\d\d(:?\d\d)?)?"
)
DATE = re.compile(
    rf"((?P<first>\d{{4}})(?P<a>[-/.])(?P<b>{PART})(?P=a)(?P<c>{PART})"
    rf"|(?P<d>{PART})(?P<e>[-/.])(?P<f>{PART})(?P=e)(?P<last>\d\d|\d{{4}}))({TIME})?"
)
EXAMPLE = {"ymd": "2024-05-31", "dmy": "31{0}05{0}2024", "mdy": "05{0}31{0}2024"}
CENTURY = 69  # from which on years of two digits are those of 1900, as in POSIX
YEAR, WEEK = timedelta(days=365.2425), timedelta(days=7)
CYCLES = "month", "weekday", "hour"  # parts that recur, in a year, a week and a day


class DateStyle(NamedTuple):
    """How a column writes dates.

    Args:
        order: order of year, month and day: "ymd", "dmy" or "mdy".
        mark: mark between them, if the year is last.
    """

    order: str
    mark: str = "-"

    def __str__(self) -> str:
        return EXAMPLE[self.order].format(self.mark)

    def date(self, text: str) -> datetime:
        """The date in a field.

        Raises:
            ValueError: the field is no date of this style.

        Example:
            >>> DateStyle("dmy", "/").date("1/2/24 5:30 pm").isoformat()
            '2024-02-01T17:30:00'
            >>> DateStyle("ymd").date("31.12.2024")
            Traceback (most recent call last):
            ValueError: expected a date written as 2024-05-31; got '31.12.2024'; leave ...
        """
        found = DATE.fullmatch(text)
        year_first = bool(found and found["first"])
        if not found or year_first != (self.order == "ymd") or found["e"] not in (None, self.mark):
            raise ValueError(self.unlike(text))
        if self.order == "ymd":
            year, month, day = map(int, found.group("first", "b", "c"))
        else:
            year, parts = int(found["last"]), tuple(map(int, found.group("d", "f")))
            day, month = parts if self.order == "dmy" else parts[::-1]
            if len(found["last"]) == 2:
                year += 1900 if year >= CENTURY else 2000
        hour, minute, second = (int(each or 0) for each in found.group("hour", "minute", "second"))
        if found["half"]:
            hour = hour % 12 + 12 * (found["half"] in "pP")
        over = (hour, minute, second) == (24, 0, 0)  # as ISO 8601 writes the end of a day
        try:
            date = datetime(year, month, day, hour % 24 if over else hour, minute, min(second, 59))
            return date + timedelta(days=over)  # a leap second is the one before it
        except (ValueError, OverflowError):  # such as the 31st of February
            raise ValueError(self.unlike(text)) from None

    def wrote(self, text: str) -> bool:
        """Whether a field is a date of this style."""
        try:
            return self.date(text) is not None
        except ValueError:
            return False

    def unlike(self, text: str) -> str:
        """The words for a field that is none."""
        missing = "leave the field empty if it is missing"
        return f"expected a date written as {self}; got {text!r}; {missing}"


def style_of(fields: Iterable[str]) -> DateStyle | None:
    """The style of most of a column's dates; None if day and month are in doubt.

    Args:
        fields: fields of the column that are not missing.

    Example:
        >>> style_of(["1/2/2024", "1/31/2024"]), style_of(["1.2.2024"]), style_of(["1/2/2024"])
        (DateStyle(order='mdy', mark='/'), DateStyle(order='dmy', mark='.'), None)
    """
    counts = Counter(fields)
    found = [(match, n) for field, n in counts.items() if (match := DATE.fullmatch(field))]
    last = [(match, n) for match, n in found if match["last"]]
    if 2 * sum(n for _, n in last) < sum(n for _, n in found):
        return DateStyle("ymd")
    marks = Counter[str]()
    for match, n in last:
        marks[match["e"]] += n
    mark = max(sorted(marks), key=marks.__getitem__, default="")
    days_first = sum(n for match, n in last if match["e"] == mark and int(match["d"]) > 12)
    months_first = sum(n for match, n in last if match["e"] == mark and int(match["f"]) > 12)
    if mark == "." and not months_first:
        return DateStyle("dmy", mark)
    if days_first == months_first:
        return None
    return DateStyle("dmy" if days_first > months_first else "mdy", mark)


def told_by(dates: Sequence[datetime]) -> tuple[str, ...]:
    """The parts of dates that tell something in a column: "year", "month", "weekday", "hour".

    Args:
        dates: dates of the training rows, at least one.
    """
    time = max(dates) - min(dates)
    parts = {
        "year": True,
        "month": time >= YEAR,
        "weekday": time >= 2 * WEEK and len({date.weekday() for date in dates}) > 1,
        "hour": len({date.time() for date in dates}) > 1,
    }
    return tuple(part for part, told in parts.items() if told)


def names_of(part: str) -> tuple[str, ...]:
    """The names of the numbers that a part of a date becomes."""
    return (part, f"{part}, sine", f"{part}, cosine") if part in CYCLES else (part,)


def year_of(date: datetime) -> float:
    """The year of a date, with decimals."""
    return date.year + _share(date)


def _share(date: datetime) -> float:
    """The share of its year that is over."""
    return (date - datetime(date.year, 1, 1)) / timedelta(days=365 + isleap(date.year))


def numbers_of(date: datetime, parts: Iterable[str]) -> list[float]:
    """The numbers that a date becomes, as many as the parts have names.

    Example:
        >>> numbers = numbers_of(datetime(2024, 7, 2, 6), ["year", "weekday", "hour"])
        >>> [round(number, 3) for number in numbers]  # a Tuesday, at six
        [2024.501, 2, 0.782, 0.623, 6.0, 1.0, 0.0]
    """
    hour = date.hour + date.minute / 60 + date.second / 3600
    share = _share(date)
    known = {
        "year": (year_of(date), 0.0),
        "month": (1 + 12 * share, share),
        "weekday": (date.isoweekday(), date.weekday() / 7),
        "hour": (hour, hour / 24),
    }
    numbers: list[float] = []
    for part in parts:
        number, phase = known[part]
        numbers.append(number)
        if part in CYCLES:
            numbers += [float(np.sin(2 * np.pi * phase)), float(np.cos(2 * np.pi * phase))]
    return numbers
