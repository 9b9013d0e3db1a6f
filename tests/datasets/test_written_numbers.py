"""Columns of numbers with marks between thousands, or with a currency or percent sign."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structnet.datasets import column_kinds, csv_file, table
from structnet.datasets.column_kinds import TEXT
from structnet.datasets.csv_file import Table, TableError, is_number, read
from structnet.datasets.table_columns import Column, Encoding
from structnet.datasets.written_numbers import Style, style_of


def table_of(*columns: list[str]) -> Table:
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Table(Path("new.csv"), None, rows, list(range(1, len(rows) + 1)))


def learned(fields: list[str]) -> Column:
    return Column.learned(table_of(fields), 0, range(len(fields)))


def numbers(column: Column, *fields: str) -> list[float]:
    return column.numbers(table_of(list(fields)), 0)[:, 0].tolist()


@pytest.mark.parametrize(
    ("fields", "written", "expected"),
    [
        (["1.234,5", "7", "1.500"], "1.234,5", [1234.5, 7, 1500]),
        (["1,234.5", "7", "1,500", "1.500"], "1,234.5", [1234.5, 7, 1500, 1.5]),
        (["1.234.567,0", "1.234.567"], "1.234,5", [1234567, 1234567]),
        (["-1,234.5", "+5.25", "1e3"], "1,234.5", [-1234.5, 5.25, 1000]),
        (["12 %", "7,5 %"], "12,5 %", [12, 7.5]),
        (["12 %", "7.5%"], "12.5 %", [12, 7.5]),
        (["12 %", "7%"], "12 %", [12, 7]),
        (["$1,200.50", "-$3", "$-4"], "$1,234.5", [1200.5, -3, -4]),
        (["1.200,50\xa0€", "3 €"], "1.234,5 €", [1200.5, 3]),
        (["₹1,200.5", "₹ 3"], "₹1,234.5", [1200.5, 3]),
        (["1,234 €", "0,5 €"], "12,5 €", [1.234, 0.5]),
        (["1,234,567 €", "1,234 €"], "1,234.5 €", [1234567, 1234]),
    ],
)
def test_a_column_tells_its_style(fields: list[str], written: str, expected: list[float]) -> None:
    column = learned(fields)
    assert str(column.written) == written
    assert numbers(column, *fields) == expected
    assert column.median == np.median(expected)


@pytest.mark.parametrize(
    "fields",
    [
        ["1.234.567", "12.000"],  # may be codes
        ["100.200.300", "100.200.301"],
        ["192.168.0.1", "10.0.0.1"],
        ["01.02.2024", "11.12.2024"],
        ["1,234", "999"],
        ["$1,234", "$950"],  # as in 1,749 € for a litre
        ["5 €", "$5"],
        ["$5%", "$6%"],
        ["5 €", "€ 5"],
        ["1.5 €", "1,5 €"],
        ["1,234.5", "1.234,5"],
        ["0.123,5", "0.123,5"],  # no thousands begin with 0
        ["%", "€"],
        ["7", "1.5", "-2e3"],
        ["1.5", "2"],
        ["oak", "elm"],
    ],
)
def test_numbers_in_doubt_have_no_style(fields: list[str]) -> None:
    shown = table_of(fields * 10)
    assert column_kinds.style_in(shown, 0, np.ones(len(shown.rows), bool)) is None


@given(
    st.lists(st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 2)), min_size=1),
    st.sampled_from(["{}", "{} €", "${}", "{}%"]),
    st.booleans(),
)
def test_numbers_come_back(values: list[float], sign: str, swapped: bool) -> None:
    texts = [f"{value:,.2f}" for value in [*values, 1234.5]]
    texts = [text.translate(str.maketrans(",.", ".,")) if swapped else text for text in texts]
    column = learned([sign.format(text) for text in texts])
    assert numbers(column, *[sign.format(text) for text in texts[:-1]]) == values


GERMAN, EUROS, SHARES = ["1.234,5", "7"], ["1.234,5 €", "7 €"], ["12 %", "7,5 %"]


@pytest.mark.parametrize(
    ("fields", "text", "expected"),
    [
        (GERMAN, "1.500", 1500),
        (GERMAN, "2,5", 2.5),
        (EUROS, "1500", 1500),
        (["12,5 €", "7 €"], "1.200,50 €", 1200.5),  # both marks have one meaning
        (["$12.50", "$7"], "$1,200.50", 1200.5),
        (["12 €", "7 €"], "12,50 €", 12.5),
        (["12 €", "7 €"], "12.50 €", 12.5),
    ],
)
def test_a_new_field_is_read_in_the_style_of_its_column(
    fields: list[str], text: str, expected: float
) -> None:
    assert numbers(learned(fields), text) == [expected]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (GERMAN, "1,234.5"),
        (GERMAN, "1500.5"),  # beside which 7.125 would be 7125
        (GERMAN, "0.500"),
        (GERMAN, "7 €"),
        (EUROS, "$7"),
        (EUROS, "€ 7"),
        (EUROS, "1.500"),  # without the sign, it may be a plain number
        (EUROS, "oak"),
        (EUROS, "1e999"),
        (SHARES, "$12"),
        (SHARES, "12"),  # or 0.12
        (SHARES, "1.500 %"),
        (["12 €", "7 €"], "1.500 €"),
        (["12 €", "7 €"], "1.500"),
        (["12 €", "7 €"], "1,500 €"),
        (["$12.50", "$7"], "$1,500"),
    ],
)
def test_a_new_field_of_another_style_is_an_error(fields: list[str], text: str) -> None:
    column = learned(fields)
    with pytest.raises(TableError, match=r"new\.csv, line 2, column 1: expected a ") as error:
        numbers(column, fields[0], text)
    assert repr(text) in str(error.value) and "\n" not in str(error.value)
    assert not is_number(text, column.written)


@pytest.mark.parametrize("misprint", ["oak", "1,234.5", "1500.5", "7 €"])
def test_a_misprint_among_numbers_of_a_style_is_an_error(misprint: str) -> None:
    fields = ["1.234,5", "7"] * 15
    fields.insert(4, misprint)
    with pytest.raises(TableError, match=r"line 5, column 1: expected a number written as 1\.234,"):
        learned(fields)
    assert learned([*fields, *["oak"] * 15]).kind == TEXT  # as more words are text


def test_gaps_are_filled() -> None:
    column = learned(["1.234,5", "", "7", "n/a"])
    np.testing.assert_array_equal(
        column.numbers(table_of(["?", "1.500"]), 0), [[620.75, 1], [1500, 0]]
    )


def test_columns_do_not_depend_on_each_other() -> None:
    columns = (
        ["1.234,5", "7", "1.500"],
        ["1,234.5", "7", "1,500"],
        ["1.500", "2.500", "7"],
        ["100.200.300", "100.200.301", "100.200.300"],
        ["12 %", "13 %", "14 %"],
        ["5 €", "free", "free"],
    )
    shown = table_of(*columns)
    encoding = Encoding.learned(shown, range(6), range(3))
    np.testing.assert_array_equal(
        encoding(shown, range(6)),
        [
            [1234.5, 1234.5, 1.5, 1, 12, 0],
            [7, 7, 2.5, 0, 13, 1],
            [1500, 1500, 7, 1, 14, 1],
        ],
    )
    assert [list(each) for each in zip(*shown.rows, strict=True)] == list(columns)  # as they were
    assert encoding == Encoding.from_list(encoding.to_list())
    assert (
        "numbers in a style of their own: 'column 1' (1.234,5), 'column 2' (1,234.5), 'column 5' "
        "(12 %)"
    ) in list(encoding.lines())


def test_runs_of_before_keep_their_values_and_their_description() -> None:
    old = {"place": 1, "name": None, "median": None, "gaps": False}
    described = [old | {"kind": TEXT, "values": ["5 €", "9 €"]}]
    encoding = Encoding.from_list(described)
    shown = table_of(["9 €", "5 €", "7 €"])  # all look like numbers of a style
    np.testing.assert_array_equal(encoding(shown, [0]), [[0, 1], [1, 0], [0, 0]])
    assert encoding.to_list() == described


def test_between_semicolons_a_comma_means_what_it_meant_in_training(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    for fields, text, expected in (
        (["1.234,5", "7"], "1,500", 1.5),  # alone, it becomes 1.500
        (["1,234.5", "7"], "1,500", 1500),
        (["1.234,5", "7"], "900,00", 900),
        (["12,5 €", "7 €"], "1,500 €", 1.5),
    ):
        path.write_text(f"a;b\n{text};x\n", encoding="utf-8")
        column = learned(fields)
        assert column.numbers(read(path), 0).tolist() == [[expected]]
    with pytest.raises(TableError, match="got '1,500'"):
        learned(["$12.50", "$7"]).numbers(table_of(["1,500"]), 0)


@pytest.mark.parametrize(
    "row", ["1.234,5;12 %", "900,00 €;5", "0,5;1.234,5", "250,5 €;Ulm", "$1,200\tUlm"]
)
def test_marks_are_no_delimiters(row: str) -> None:
    assert read("typed", False, text=row).num_columns == 2


@pytest.mark.parametrize("row", ["a;b,1", "1,x;y", "1,-2;3"])
def test_commas_beside_words_are_delimiters_as_before(row: str) -> None:
    assert read("typed", False, text=row).rows == [row.split(",")]


def test_a_first_row_of_written_numbers_has_no_names() -> None:
    assert read("typed", text="5 €;12 %\n6 €;13 %").names is None
    assert read("typed", text="mean;5 %;95 %\n1;2;3").names == ("mean", "5 %", "95 %")


@pytest.mark.parametrize(
    ("fields", "one"), [(["1.749 €", "1.629 €"], "1,79 €"), (["1.512", "2.250"], "1.234,5")]
)
def test_one_field_does_not_tell_how_all_others_are_meant(fields: list[str], one: str) -> None:
    assert style_of([*fields * 50, one]) is None
    assert style_of([*fields, one]) is not None  # of three


def test_plain_numbers_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_kinds, "style_of", None)
    monkeypatch.setattr(csv_file, "style_of", None)
    assert learned(["1.5", "", "-2e3", "7"]).median == 1.5


def rows_of(prices: list[str]) -> str:
    return "höhe;preis\n" + "".join(f"{i};{price}\n" for i, price in enumerate(prices))


def test_a_target_has_a_style_too(tmp_path: Path) -> None:
    path, test = tmp_path / "data.csv", tmp_path / "test.csv"
    path.write_text(rows_of(["1.200,50", "900,00", "1.500"] * 9), encoding="utf-8")
    test.write_text(rows_of(["1.500", "1.300"]), encoding="utf-8")  # alone, 1.5 and 1.3
    data = table.load(path, test=test)
    assert data.task == "regression" and data.written == Style("", "", ",")
    assert data.y_scale is not None
    np.testing.assert_allclose(data.y_scale.inverse(data.y_test), [[1500], [1300]], rtol=1e-6)
    test.write_text(rows_of(["1,500", "1,300"]), encoding="utf-8")
    data = table.load(path, test=test)
    np.testing.assert_allclose(data.y_scale.inverse(data.y_test), [[1.5], [1.3]], atol=1e-3)
    path.write_text(rows_of([*["1.200,50", "900,00"] * 20, "oak"]), encoding="utf-8")
    with pytest.raises(TableError, match=r"line 42, column 2 \('preis'\): expected a number writ"):
        table.load(path, task="regression")


def test_classes_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    for prices in (["12 %", "7 %"], ["1.234,0", "7"], ["12 %", "7 %", "none"]):
        path.write_text(rows_of(prices * 9), encoding="utf-8")
        data = table.load(path)
        assert data.classes == tuple(sorted(prices)) and data.written is None
    path.write_text(rows_of(["12,5 %", "7 %"] * 9), encoding="utf-8")
    assert table.load(path).classes is None  # fractions are no classes
    assert table.load(path, task="classification").classes == ("12,5 %", "7 %")


def test_a_style_has_words() -> None:
    assert style_of(["1.234,50", "900", "oak"]) == Style("", "", ",")
    assert str(Style("$", "", ".", parted=False)) == "$12.5"
