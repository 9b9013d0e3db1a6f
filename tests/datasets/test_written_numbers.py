"""Numbers with decimal commas, parted thousands, currencies and percent signs in tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structnet.datasets import table
from structnet.datasets.csv_file import TableError, read
from structnet.datasets.table_columns import Encoding
from structnet.datasets.written_numbers import plain_numbers

GERMAN = "höhe;preis;art\n" + "0,5;1.200,50;Eiche\n1,5;900,00;Ulme\n;1.500,00;Ulme\n" * 5


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["1.234,5", "7"], ["1234.5", "7"]),
        (["1,234.5", "7", ""], ["1234.5", "7", ""]),
        (["1.234.567", "12.000", "n/a"], ["1234567", "12000", "n/a"]),
        (["-1,234,567", "+5.25"], ["-1234567", "+5.25"]),
        (["12 %", "7,5 %"], ["12 %", "7,5 %"]),  # 7,5 may be anything between commas
        (["12 %", "7.5%", "?"], ["12", "7.5", "?"]),
        (["$1,200.50", "-$3", "$-4"], ["1200.50", "-3", "-4"]),
        (["1.200,50\xa0€", "3 €"], ["1200.50", "3"]),
        (["€ 5", "$ 5"], ["€ 5", "$ 5"]),  # no common unit
        (["5 %", "5"], ["5 %", "5"]),
        (["$5%", "$6%"], ["$5%", "$6%"]),
        (["1,234.5", "1.234,5"], ["1,234.5", "1.234,5"]),
        (["1.234,5", "oak"], ["1.234,5", "oak"]),
        (["192.168.0.1", "10.0.0.1"], ["192.168.0.1", "10.0.0.1"]),
        (["01.02.2024", "11.12.2024"], ["01.02.2024", "11.12.2024"]),
        (["1,234", "999"], ["1,234", "999"]),
        (["0.123,5", "1.234,5"], ["0.123,5", "1.234,5"]),  # no thousands begin with 0
        (["%", "€"], ["%", "€"]),
    ],
)
def test_a_column_is_rewritten_where_it_can_be_meant_in_one_way(
    column: list[str], expected: list[str]
) -> None:
    rows, _ = plain_numbers([[text, "x,y"] for text in column], ",")
    assert [row[0] for row in rows] == expected
    assert all(row[1] == "x,y" for row in rows)


@pytest.mark.parametrize(
    ("row", "delimiter", "expected"),
    [
        (["1.234,5", "1.500", "0.5"], ";", ["1234.5", "1500", "0.5"]),
        (["1.234,5", "1,5", "2"], ",", ["1234.5", "1.5", "2"]),
        (["1,234.5", "1,500", "0,5"], ",", ["1234.5", "1500", "0,5"]),
        (["1.234,5", "1,234.5", "1,500"], ";", ["1234.5", "1234.5", "1,500"]),
    ],
)
def test_a_sure_number_tells_how_other_columns_are_written(
    row: list[str], delimiter: str, expected: list[str]
) -> None:
    assert plain_numbers([row], delimiter)[0] == [expected]


@given(st.lists(st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 2)), min_size=1))
def test_numbers_come_back(values: list[float]) -> None:
    english = [[f"{value:,.2f}"] for value in [*values, 1234.5]]
    swapped = [[text.translate(str.maketrans(",.", ".,"))] for (text,) in english]
    for rows in (english, swapped, [[f"{text} €"] for (text,) in swapped]):
        plain, parted = plain_numbers(rows, ",")
        assert [float(text) for (text,) in plain[:-1]] == values and len(parted) == 1


def test_rows_to_predict_are_read_as_the_training_rows(write) -> None:
    learned = read(write(GERMAN))
    encoding = Encoding.learned(learned, [0, 1], range(15))
    assert encoding == Encoding.from_list(encoding.to_list())
    assert encoding.thousands == "."
    for text, numbers in (
        ("1.500;2,5\n", [2.5, 0, 1500]),  # none is sure
        ("1.500;2\n", [2, 0, 1500]),
        ("1500.5;2.500\n", [2.5, 0, 1500.5]),  # written otherwise
    ):
        new = read(write("preis;höhe\n" + text, "new.csv"), thousands=encoding.thousands)
        np.testing.assert_array_equal(encoding(new, [1, 0]), [numbers])


def test_a_target_in_euros_is_a_number(write) -> None:
    data = table.load(write(GERMAN), "preis")
    assert data.task == "regression" and data.y_scale is not None
    assert np.isclose(data.y_scale.mean, 1200, atol=100)


@pytest.mark.parametrize("head", ["sep=;\n", "SEP=;\r\n"])
def test_excels_line_that_names_the_delimiter(write, head: str) -> None:
    found = read(write(head + "a;b\n1;x\n2;y,z\n"))
    assert (found.names, found.rows, found.lines) == (
        ("a", "b"),
        [["1", "x"], ["2", "y,z"]],
        [3, 4],
    )
    with pytest.raises(TableError, match="line 4, column 2"):
        read(write(head + "a;b\n1;x\n2\n"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text("größe\tart\n1\tÖ\n", encoding=encoding)
    assert read(path).rows == [["1", "Ö"]] and read(path).names == ("größe", "art")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,Ü\n".encode("latin-1"), "line 2: .* byte 0xdc; save it as CSV with the encoding"),
        (b"\x89PNG\r\n\0\0", "line 1: the file is not UTF-8 text; got the byte 0x89$"),
        (b"\xff\xfea", "line 1: the file is not UTF-8 text; got the byte"),
        (b'a,b\n1,"x\n2,y\n', "line 2: a quotation mark is opened and not closed"),
    ],
)
def test_what_is_no_table_of_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        read(path)
