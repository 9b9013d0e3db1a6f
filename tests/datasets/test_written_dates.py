"""Dates in the orders of the world, and what of them becomes numbers."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from structnet.datasets import TableError
from structnet.datasets.column_kinds import AMONG_TEXT, DATES, DOUBTFUL
from structnet.datasets.csv_file import Table
from structnet.datasets.table_columns import Column, Encoding
from structnet.datasets.written_dates import DateStyle, numbers_of, style_of, told_by


def column_of(fields: list[str]) -> tuple[Table, Column]:
    rows = [[field] for field in fields]
    table = Table(Path("sales.csv"), ("when",), rows, list(range(2, len(rows) + 2)))
    return table, Column.learned(table, 0, range(len(rows)))


def numbers(fields: list[str]) -> np.ndarray:
    table, column = column_of(fields)
    return column.numbers(table, 0)


@pytest.mark.parametrize(
    ("field", "style", "expected"),
    [
        ("2024-05-31", "ymd", "2024-05-31T00:00:00"),
        ("2024/5/31", "ymd", "2024-05-31T00:00:00"),
        ("2024-05-31T17:05:30.25Z", "ymd", "2024-05-31T17:05:30"),
        ("2024-05-31 17:05:30+02:00", "ymd", "2024-05-31T17:05:30"),
        ("2024-12-31 24:00 GMT", "ymd", "2025-01-01T00:00:00"),
        ("2024-12-31 23:59:60 UTC", "ymd", "2024-12-31T23:59:59"),
        ("31.12.99", "dmy", "1999-12-31T00:00:00"),
        ("31/5/2024 5:05 PM", "dmy", "2024-05-31T17:05:00"),
        ("5/31/68 12:05 a.m.", "mdy", "2068-05-31T00:05:00"),
        ("5-31-1969 12:00pm", "mdy", "1969-05-31T12:00:00"),
    ],
)
def test_a_date_is_read_as_it_is_written(field: str, style: str, expected: str) -> None:
    found = style_of([field])
    assert found is not None and found.order == style
    assert found.date(field).isoformat() == expected and found.wrote(field)


@pytest.mark.parametrize(
    "field", ["2024-02-30", "2024-05-31 25:00", "31.05.2024", "2024-05-31 noon", "0000-00-00", "x"]
)
def test_what_is_no_date_is_said(field: str) -> None:
    style = DateStyle("ymd")
    assert not style.wrote(field)
    with pytest.raises(ValueError, match=f"^expected a date written as 2024-05-31; got '{field}';"):
        style.date(field)


def test_some_field_has_to_tell_the_day_from_the_month() -> None:
    assert style_of(["1/2/2024", "31/1/2024"]) == DateStyle("dmy", "/")
    assert style_of(["1/2/2024", "1/31/2024"]) == DateStyle("mdy", "/")
    assert style_of(["1.2.2024"]) == DateStyle("dmy", ".")
    assert style_of(["1/2/2024", "3/4/2024"]) is style_of(["1/31/2024", "31/1/2024"]) is None
    assert style_of([*["1/13/2024"] * 3, "3.4.2024"]) == DateStyle("mdy", "/")  # as most are
    assert not DateStyle("mdy", "/").wrote("3.4.2024")
    _, column = column_of(["1/2/2024", "3/4/2024"])
    assert column.kind == DOUBTFUL and not column.inputs
    [line] = Encoding((column,)).lines()
    assert line == (
        "left out: 'when' (dates, days and months in doubt); write these dates with the year first,"
        " such as 2024-05-31, to use them"
    )


def test_parts_are_those_that_the_training_rows_show() -> None:
    day, begin = timedelta(days=1), datetime(2024, 5, 13)
    assert told_by([begin, begin]) == ("year",)
    assert told_by([begin, begin + 9 * day]) == ("year",)
    assert told_by([begin, begin + 20 * day]) == ("year", "weekday")
    assert told_by([begin, begin + 21 * day]) == ("year",)  # both on a Monday
    assert told_by([begin, begin + 365 * day]) == ("year", "weekday")
    assert told_by([begin, begin + 400.5 * day]) == ("year", "month", "weekday", "hour")


def test_a_cycle_is_a_number_with_its_sine_and_cosine() -> None:
    fields = ["2023-01-01 00:00", "2024-07-02 06:00", "2023-01-07 18:30"]  # 366 days in 2024
    table, column = column_of(fields)
    assert column.inputs == (
        "when (year)",
        *("when (month)", "when (month, sine)", "when (month, cosine)"),
        *("when (weekday)", "when (weekday, sine)", "when (weekday, cosine)"),
        *("when (hour)", "when (hour, sine)", "when (hour, cosine)"),
    )
    found = column.numbers(table, 0)
    share = (31 + 29 + 31 + 30 + 31 + 30 + 1 + 0.25) / 366
    assert found[1] == pytest.approx(
        [
            2024 + share,
            *(1 + 12 * share, math.sin(2 * math.pi * share), math.cos(2 * math.pi * share)),
            *(2, math.sin(2 * math.pi / 7), math.cos(2 * math.pi / 7)),
            *(6, 1, 0),
        ]
    )
    assert found[:, 0].tolist()[0] == 2023 and found[2, 4] == 6 and found[0, 4] == 7
    np.testing.assert_allclose(np.hypot(found[:, [2, 5, 8]], found[:, [3, 6, 9]]), 1)
    assert numbers_of(datetime(9999, 12, 31), ["year"])[0] < 10_000


def test_gaps_have_the_date_in_the_middle() -> None:
    fields = ["2024-05-01", "", "2024-05-03", "2024-05-31", "NA"]
    found = numbers(fields)
    assert found[:, -1].tolist() == [0, 1, 0, 0, 1]
    np.testing.assert_array_equal(found[[1, 4], :-1], found[[2, 2], :-1])


def test_a_misprint_among_dates_is_an_error_and_text_among_dates_is_left_out() -> None:
    fields = [f"2024-05-{day:02d}" for day in range(1, 32)]
    said = (
        r"line 33, column 1 \('when'\): expected a date written as 2024-05-31; got '2024-02-30'; "
        r"leave the field empty if it is missing, or leave the column out \(--without when\)$"
    )
    with pytest.raises(TableError, match=said):
        column_of([*fields, "2024-02-30"])
    _, column = column_of([*fields, *[f"soon {i}" for i in range(9)]])
    assert column.kind == AMONG_TEXT and not column.inputs


def test_new_rows_are_read_as_the_first_ones() -> None:
    table, column = column_of(["1/2/2024", "31/1/2024 10:30", "1/12/2025"])
    encoding = Encoding((column,))
    again = Encoding.from_list(json.loads(json.dumps(encoding.to_list())))
    assert again == encoding and column.kind == DATES and again.has_words
    assert list(again.lines()) == ["dates: 'when' (year, month, weekday, hour)"]
    np.testing.assert_array_equal(again(table, [0]), encoding(table, [0]))
    new = Table(Path("new.csv"), ("when",), [["3/4/2026"], ["2026-04-03"]], [2, 3])
    with pytest.raises(
        TableError, match=r"new\.csv, line 3, .*: expected a date written as 31/05/2024; got '2026"
    ):
        again(new, [0])
    dates = Table(Path("new.csv"), ("when",), [["3/4/2025"], ["3/4/2026"], ["1/1/2023"]], [2, 3, 4])
    year, month, *_ = again(dates, [0]).T
    assert year[0] == pytest.approx(2025 + 92 / 365)
    assert year[1:].tolist() == [column.years[1], column.years[0]]  # as no row tells of a trend
    assert month[:2] == pytest.approx(1 + 12 * 92 / 365)


def test_dates_of_a_run_that_left_them_out_stay_out() -> None:
    old = [{"place": 1, "name": "when", "kind": "dates", "median": None, "values": [], "gaps": 0}]
    assert Encoding.from_list(old).columns[0].inputs == ()
