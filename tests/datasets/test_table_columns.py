"""The columns of a table become numbers by its training rows, and the same ones ever after."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from structnet.datasets import TableError, table
from structnet.datasets.column_kinds import DIFFERENT, MOST_VALUES
from structnet.datasets.csv_file import Table
from structnet.datasets.table_columns import Column, Encoding
from structnet.datasets.written_dates import numbers_of

NAMES = ("price", "city", "when", "note", "flag", "rooms")


def rows_of(number: int, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [
        [
            f"{rng.normal():.3f}" if i % 9 else "",
            str(rng.choice(["Paris", "Lyon", "N/A"])),
            f"2024-05-{i % 28 + 1:02d}",
            f"note no. {i}",
            str(rng.choice(["True", "false"])),
            str(rng.integers(1, 6)),
        ]
        for i in range(number)
    ]


def table_of(rows: list[list[str]], names: tuple[str, ...] | None = NAMES) -> Table:
    return Table(Path("homes.csv"), names, rows, list(range(2, len(rows) + 2)))


def learned(rows: list[list[str]], names: tuple[str, ...] | None = NAMES) -> Encoding:
    return Encoding.learned(table_of(rows, names), range(len(rows[0])), range(len(rows)))


def test_every_kind_of_column_becomes_numbers() -> None:
    rows = rows_of(60)
    encoding = learned(rows)
    features = ("price", "price is missing", "city = Lyon", "city = Paris", "city is missing")
    dates = ("when (year)", "when (weekday)", "when (weekday, sine)", "when (weekday, cosine)")
    assert encoding.features == (*features, *dates, "flag", "rooms")
    found = encoding(table_of(rows), range(6))
    prices = [float(row[0]) for row in rows if row[0]]
    for row, numbers in zip(rows, found, strict=True):
        price = float(row[0]) if row[0] else np.median(prices)
        city = [row[1] == name for name in ("Lyon", "Paris", "N/A")]
        when = datetime.fromisoformat(row[2])
        assert numbers[:5].tolist() == [price, not row[0], *city]
        assert numbers[[5, 6]].tolist() == numbers_of(when, ["year", "weekday"])[:2]
        assert numbers[-2:].tolist() == [row[4] == "True", float(row[5])]
    assert list(encoding.lines()) == [
        "text, one number for each value: 'city' (2 values)",
        "dates: 'when' (year, weekday)",
        "gaps, filled with the median: 'price'",
        "left out: 'note' (text of too many different values)",
    ]


def test_columns_without_names_are_named_by_their_numbers() -> None:
    encoding = learned(rows_of(60), None)
    assert encoding.names is None and encoding.features is not None
    assert encoding.features[1:4] == ("column 1 is missing", "column 2 = Lyon", "column 2 = Paris")


@pytest.mark.parametrize("names", [("a", "b"), None])
def test_columns_of_numbers_keep_their_names(names: tuple[str, ...] | None) -> None:
    encoding = learned([["1", "2.5"], ["3", "4"]], names)
    assert encoding.features == names and not encoding.has_words and not list(encoding.lines())


def test_unknown_values_and_new_gaps_have_numbers() -> None:
    encoding = learned([["oak", "1", "true"], ["elm", "2", "true"]] * 4, None)
    new = table_of([["ash", "", "TRUE"], ["", "5", ""], ["elm", "?", "False"]], None)
    assert encoding(new, range(3)).tolist() == [[0, 0, 1.5, 1], [0, 0, 5, 1], [1, 0, 1.5, 0]]


def test_of_a_text_of_many_values_the_most_frequent_become_numbers() -> None:
    rows = [[str(i), f"town {t}"] for i, t in enumerate(np.repeat(range(70), range(2, 72)))]
    (_, column) = learned(rows, None).columns
    assert set(column.values) == {f"town {t}" for t in range(70 - MOST_VALUES, 70)}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (["1", "2", "three", "4"], "numbers"),  # a misprint, which is an error
        (["True", "FALSE", "", "true"], "true and false"),
        (["True", "1", "0", "False"], "true and false"),
        (["1", "0", "1", "0", "yes"], "numbers"),  # a misprint, again
        (["yes", "no", "yes", "no"], "text"),
        (["yes", "no", "maybe", "perhaps"], "text of too many different values"),
        (["yes", "no", "maybe", "yes"], "text"),
        (["1/2/2024", "2/2/2024", "?", "n/a"], "dates, days and months in doubt"),
        (["1/2/2024", "29/2/2024", "?", "n/a"], "dates"),
        (["2024-05-13 10:30", "2024-05-14T10:30", "", "2024-12-31"], "dates"),
        (["31.12.99", "01.01.00", "1.2.03", "1.2.03"], "dates"),
        (["3.1.2", "3.1.2", "3.10.0", "3.10.0"], "text"),  # versions
        (["2019-20-50", "2019-20-50", "40-1-2019", "40-1-2019"], "text"),
        (["", "NA", "?", ""], "no values"),
        (["1,200", "1,300", "1,400", "oak"], "numbers"),  # whose error says how to write them
    ],
)
def test_the_kind_of_a_column(fields: list[str], kind: str) -> None:
    content = table_of([[field] for field in fields], ("x",))
    if kind == "numbers":
        with pytest.raises(
            TableError, match=r"homes\.csv, line \d, column 1 \('x'\): expected a n"
        ):
            Column.learned(content, 0, range(len(fields)))
    else:
        assert Column.learned(content, 0, range(len(fields))).kind == kind


def test_a_column_of_many_words_beside_numbers_is_text() -> None:
    fields = [*map(str, range(60)), *["A/5 9043", "A/5 9043"] * 2]  # 4 of 64 fields
    assert learned([[field, "1"] for field in fields]).columns[0].kind == DIFFERENT
    fields = ["3", "4", "four", "five"] * 10
    assert learned([[field, "1"] for field in fields]).columns[0].values == (
        "3",
        "4",
        "five",
        "four",
    )


def test_the_error_of_words_among_numbers_counts_them() -> None:
    rows = [[str(number), "1"] for number in range(60)] + [["x", "1"], ["y", "1"], ["", "1"]]
    said = (
        r"line 62, column 1 \('the x'\): expected a number; got 'x' \(2 of 63 fields are wrong\)"
        r"; leave the field empty if it is missing, or leave the column out \(--without 'the x'\)$"
    )
    with pytest.raises(TableError, match=said):
        learned(rows, ("the x", "b"))
    with pytest.raises(TableError, match=r"got 'x' .*out \(--without 1\)$"):
        learned(rows, None)
    with pytest.raises(TableError, match=r"got 'x' .*out \(--without 1\)$"):
        learned(rows, ("x, y", "b"))


def test_the_error_of_a_field_among_truths_says_so() -> None:
    encoding = learned([["1", "True"], ["2", "0"], ["3", "FALSE"]], ("a", "b"))
    assert encoding(table_of([["5", "1"], ["5", "false"]], ("a", "b")), (0, 1))[:, 1].tolist() == [
        1,
        0,
    ]
    with pytest.raises(
        TableError, match=r"'b'\): expected true or false; got 'yes'; leave the fie"
    ):
        encoding(table_of([["5", "yes"]], ("a", "b")), (0, 1))


@pytest.mark.parametrize("field", ["unknown", "yes", "2"])
def test_no_draw_of_rows_makes_an_error_of_a_field(field: str) -> None:
    rows = [["1", "True"], ["2", "False"]] * 30 + [["3", field]]
    content = table_of(rows, ("a", "b"))
    for train in (range(60), range(1, 61)):
        encoding = Encoding.learned(content, (0, 1), train)
        assert encoding.columns[1].values == ("False", "True")
        assert encoding(content, (0, 1))[-1].tolist() == [3, 0, 0]


def test_of_a_text_the_values_that_repeat_become_numbers() -> None:
    rows = [["ok" if i % 20 < 9 else f"fault no. {i}", "1"] for i in range(200)]  # 45 %
    assert learned(rows).columns[0].values == ("ok",)
    assert Encoding.learned(table_of(rows), (0, 1), range(0, 200, 20)).columns[0].values == ("ok",)
    # Of training rows in which no value repeats, nothing is to be learned.
    assert Encoding.learned(table_of(rows), (0, 1), [0, 19]).columns[0].kind == DIFFERENT


def test_an_encoding_comes_back_from_json() -> None:
    encoding = learned(rows_of(60))
    told = json.loads(json.dumps(encoding.to_list()))
    assert told == encoding.to_list() and Encoding.from_list(told) == encoding


def test_test_rows_have_no_part_in_the_encoding(tmp_path: Path) -> None:
    path, rows = tmp_path / "homes.csv", rows_of(60)
    text = "\n".join(",".join([*row, f"{i}.5"]) for i, row in enumerate(rows))
    path.write_text(",".join([*NAMES, "y"]) + "\n" + text)
    data = table.load(path)
    drawn = data.y_scale.inverse(data.y_test).round(1).ravel() - 0.5
    for i in drawn.astype(int):
        rows[i][:2] = ["1e6", "Nowhere"]
    text = "\n".join(",".join([*row, f"{i}.5"]) for i, row in enumerate(rows))
    path.write_text(",".join([*NAMES, "y"]) + "\n" + text)
    after = table.load(path)
    assert after.encoding == data.encoding
    np.testing.assert_array_equal(after.x_train, data.x_train)
    assert after.x_test[:, 0].min() > 1000
