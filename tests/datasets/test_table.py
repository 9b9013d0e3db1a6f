"""Tables of one's own: what is guessed, what is said, and errors that name line and column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structnet.datasets import TableError, WrongFileError, load, table
from structnet.datasets.csv_file import read

TREES = "height,width,species\n" + "3.5,1,oak\n4.5,2,elm\n" * 10
HOUSES = "rooms,price,area\n" + "".join(f"{i % 5},{100.5 * i},{50 - i}\n" for i in range(20))
MORE = "1,x\n2,y\n" * 5


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


def test_classes_by_name(write) -> None:
    data = table.load(write(TREES))
    assert (data.task, data.classes) == ("classification", ("elm", "oak"))
    assert (data.features, data.targets, data.name) == (("height", "width"), ("species",), "data")
    assert np.bincount(data.y_train).tolist() == [8, 8]
    assert np.bincount(data.y_test).tolist() == [2, 2]
    assert (data.x_train.dtype, data.y_train.dtype) == (np.float32, np.int64)
    heights = data.x_scale.inverse(data.x_test)[:, 0].round(3)
    assert [data.classes[y] for y in data.y_test] == ["oak" if h == 3.5 else "elm" for h in heights]


@pytest.mark.parametrize("target", ["price", 2, "2"])
def test_the_target_by_name_or_number(write, target: str | int) -> None:
    data = table.load(write(HOUSES), target)
    assert (data.task, data.classes, data.num_outputs) == ("regression", None, 1)
    assert (data.features, data.targets) == (("rooms", "area"), ("price",))
    price, area = data.y_scale.inverse(data.y_test), data.x_scale.inverse(data.x_test)[:, 1:]
    np.testing.assert_allclose(price, 100.5 * (50 - area), atol=1e-3)
    for scaled in (data.x_train, data.y_train):
        np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
        np.testing.assert_allclose(scaled.std(0), 1, rtol=1e-5)


@pytest.mark.parametrize("without", [["id", "kind"], [1, "4"]])
def test_columns_that_are_no_features(write, without: list[str | int]) -> None:
    rows = "".join(f"A{i},{i}.5,{50 - i},no,{3 * i}.5\n" for i in range(20))
    path = write("id,rooms,area,kind,price\n" + rows)
    data = table.load(path, without=without)
    assert (data.features, data.targets) == (("rooms", "area"), ("price",))
    assert data.x_scale.inverse(data.x_train).sum(1) == pytest.approx(50.5)
    alone = table.load(path, without=without, test=path)
    assert len(alone.x_test) == 20 and alone.features == data.features


@pytest.mark.parametrize(
    ("without", "said"),
    [
        (["cost"], "has no column 'cost'; it has 3 columns named 'rooms', 'price', 'area'"),
        (["area"], "column 'area' is to be predicted and cannot be left out"),
        (["rooms", 2], "all columns are left out; expected at least one feature"),
    ],
)
def test_columns_that_cannot_be_left_out(write, without: list[str | int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        table.load(write(HOUSES), without=without)


def test_a_name_that_looks_like_a_number(write) -> None:
    path = write("x,1,y\n" + "a,2,3\n" * 4)
    assert table.target_column(read(path, header=True), "1") == 1  # the name comes first
    assert table.target_column(read(path, header=True), 1) == 0  # a number is a place
    assert table.target_column(read(path, header=True), "3") == 2


@pytest.mark.parametrize("target", [0, 4, -1, "cost", "", "²", 1.0, True])
def test_a_target_that_is_no_column(write, target: object) -> None:
    with pytest.raises(ValueError, match=r"has no column .*; it has 3 columns named 'rooms', 'pri"):
        table.load(write(HOUSES), target)


def test_a_name_that_two_columns_have(write) -> None:
    with pytest.raises(ValueError, match="has 2 columns 'x'"):
        table.load(write("x,x,y\n1,2,3\n1,2,3\n"), "x")


@pytest.mark.parametrize(
    ("targets", "task", "classes"),
    [
        (["b", "a"] * 3, "classification", ("a", "b")),
        (["0", "1"] * 3, "classification", ("0", "1")),
        (["10", "9", "-1"] * 3, "classification", ("-1", "9", "10")),
        (["1", "1.0", "2"] * 3, "classification", ("1", "2")),
        (["1", "2", "unknown"] * 3, "classification", ("1", "2", "unknown")),
        (["0.5", "1.5"] * 3, "regression", None),
        ([str(i) for i in range(12)], "regression", None),  # no number occurs twice
        ([str(i) for i in range(21)] * 3, "regression", None),
        ([str(i) for i in range(20)] * 2, "classification", tuple(map(str, range(20)))),
    ],
)
def test_the_task_by_the_target(
    write, targets: list[str], task: str, classes: tuple[str, ...] | None
) -> None:
    rows = [f"{i}.5,{target}\n" for i, target in enumerate(targets)]
    data = table.load(write("".join(rows)))
    assert (data.task, data.classes) == (task, classes)


def test_the_task_as_it_is_said(write) -> None:
    path = write("".join(f"{i}.5,{i % 2}\n" for i in range(10)))
    data = table.load(path, task="regression")
    assert (data.task, data.y_train.shape, data.y_train.dtype) == ("regression", (8, 1), np.float32)
    numbers = write("".join(f"{i},{i % 2 + 0.5}\n" for i in range(10)))
    assert table.load(numbers, task="classification").classes == ("0.5", "1.5")
    with pytest.raises(TableError, match=r"line 2, column 3 \('species'\): expected a number; got"):
        table.load(write(TREES), task="regression")
    with pytest.raises(ValueError, match="Got 'ranking'"):
        table.load(write(TREES), task="ranking")


def test_one_slip_among_measurements_is_not_a_class(write) -> None:
    rows = [f"{i},{i / 4}\n" for i in range(30)]
    rows[17] = "17,4..25\n"
    with pytest.raises(TableError, match=r"line 18, column 2: expected a number, as in other rows"):
        table.load(write("".join(rows)))


@pytest.mark.parametrize(
    ("text", "header", "names", "size"),
    [
        ("a,b\n1,2\n", None, ("a", "b"), 1),
        ("1,x\n1,2\n", None, None, 2),
        ("1,2\n3,4\n", True, ("1", "2"), 1),
        ("a,b\nc,d\n", False, None, 2),
        ("\ufeffa,b\r\n1,2\r\n", None, ("a", "b"), 1),
        ('\n"a, or b", "b ""c"""\n\n 1 , 2 \n  \n', None, ("a, or b", 'b "c"'), 1),
        (",b\n0,1\n", None, ("", "b"), 1),
    ],
)
def test_headers(write, text: str, header: bool | None, names: object, size: int) -> None:
    content = read(write(text), header)
    assert (content.names, len(content.rows)) == (names, size)


@pytest.mark.parametrize(
    ("first", "other", "named"),
    [
        ("2019,2020,price", "1.5,2,3", True),
        ("2019;price", "1,5;2,5", True),
        ("2019,oak", "1,elm", False),  # a class
        ("2019,-", "1,2", False),
        ("2019,NA", "1,2", False),
        ("1.5,3kg", "1.5,3", False),  # a misprint
        ("5.1,2019,rare", "1,2,3", False),
    ],
)
def test_numbers_are_names_beside_a_word_above_numbers(
    write, first: str, other: str, named: bool
) -> None:
    names = tuple(first.replace(";", ",").split(",")) if named else None
    assert read(write("\n".join([first, *[other] * 10]))).names == names
    assert read(write("\n".join([first, *[other] * 9]))).names is None  # too few to tell
    column = first.replace(";", ",").split(",")[1]
    assert read(write(f"{first}\n{other}\n"), known=[column]).names is not None


def test_rows_of_a_table_without_names_have_none(write) -> None:
    for first in ("2019,2020,price", "0,1,2"):
        text = "\n".join([first, *["1.5,2,3"] * 10])
        assert read(write(text)).names is not None
        assert read(write(text), known=None).names is None
    assert read(write("a,b\n1,2\n"), known=None).names == ("a", "b")
    assert read(write("a,1\n1,2\n"), known=None, header=True).names == ("a", "1")


@pytest.mark.parametrize(
    ("first", "others", "named"),
    [
        ("0,1,2,3", ["5,1,2,3", "0,1,2,4"], True),
        ("0,1,2,species", ["5,1,2,oak", "0,1,2,elm"], True),
        ("0,1,2,oak", ["5,1,2,oak", "0,1,2,elm"], False),
        ("0,1", ["1,1", "0,1"], False),
        ("0,1", ["1,3", "2,5"], False),  # points of a line
        ("0,Anna", ["1,Ben", "2,Ole"], False),
        ("0,1,2", ["1,1,7", "2,1,5"], False),  # numbers of rows
        ("0,1,3", ["1,1,2", "0,1,2"], False),
        ("0,1.0,2", ["1,1,2", "0,1,2"], False),
        ("0,1,", ["1,1,2", "0,1,2"], False),
    ],
)
def test_columns_that_are_counted_are_names(
    write, first: str, others: list[str], named: bool
) -> None:
    names = tuple(first.split(",")) if named else None
    assert read(write("\n".join([first, *others * 5]))).names == names
    assert read(write("\n".join([first, *others * 4]))).names is None  # too few to tell


@pytest.mark.parametrize(
    ("first", "others", "named"),
    [
        (",0,1,2", ["0,1.5,2,3", "1,0,1,2"], True),
        (",0", ["7,1", "3,0"], True),
        (",0,1,species", ["a,1.5,2,oak", "b,0,1,elm"], True),
        (",0,1,2", ["0,1.5,2,3", "0,0,1,2"], False),  # no labels
        (",0,1,2", ["0,1.5,2,3", ",0,1,2"], False),  # another missing value
        (",0,2", ["0,1,2", "1,1,2"], False),
        (",0,", ["0,1,2", "1,1,2"], False),
    ],
)
def test_columns_counted_behind_labels_of_rows_are_names(
    write, first: str, others: list[str], named: bool
) -> None:
    found = read(write("\n".join([first, *others])))
    assert found.names == (tuple(first.split(",")) if named else None)


@pytest.mark.parametrize("first", [",0,1,kind", "Unnamed: 0,a,b,kind", ",a,b,kind"])
def test_labels_of_rows_are_no_feature(write, first: str) -> None:
    rows = [f"{i},{i % 7},{i % 5},{'oak' if i > 20 else 'elm'}" for i in range(40)]
    labelled = table.load(write("\n".join([first, *rows])))
    rows = [row.partition(",")[2] for row in [first, *rows]]
    plain = table.load(write("\n".join(rows)), header=True)
    np.testing.assert_array_equal(labelled.x_train, plain.x_train)
    assert labelled.features == plain.features == tuple(first.split(",")[1:3])
    assert labelled.classes == plain.classes


def test_a_column_without_a_name_that_is_no_label_is_a_feature(write) -> None:
    rows = [f"{i},{i % 7},{i % 3}" for i in range(40)]
    for first in ("a,,kind", ",,kind"):
        assert table.load(write("\n".join([first, *rows])), header=True).x_train.shape[1] == 2
    rows = [f"{i},{i % 3}" for i in range(40)]
    assert table.load(write("\n".join([",kind", *rows]))).x_train.shape[1] == 1


def test_other_delimiters(write) -> None:
    assert read(write("a;b\n1;2\n"), delimiter=";").rows == [["1", "2"]]
    assert load(str(write(TREES.replace(",", "\t"), "a.tsv"))).classes == ("elm", "oak")
    with pytest.raises(TableError, match=r"has one column; .*is the delimiter right"):
        table.load(write("a|b\n1|2\n"))
    for delimiter in ("", ";;", "\n", '"'):
        with pytest.raises(ValueError, match="must be one character"):
            read(write(TREES), delimiter=delimiter)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a;b\n1;2\n", ["1", "2"]),
        ("a\tb\n1\t2\n", ["1", "2"]),
        ("a;b\n1,5;-2,5e3\n", ["1.5", "-2.5e3"]),
        ("a;b\n1,5;1,x\n2;\n", ["2", ""]),
        ("a;b\n2;2,0\n1,5;1,x\n", ["1.5", "1,x"]),  # a text stays as it is
        ("a;b\n1,5;2.5\n", ["1,5", "2.5"]),  # 1,5 may be anything here
        ("0,5;1,5\n1,5;2,5\n", ["1.5", "2.5"]),  # by commas, rows have equal lengths, too
        ("0,1,x;y\n1,2,x;y\n", ["1", "2", "x;y"]),
        ("a,b\n1,x;y;z\n", ["1", "x;y;z"]),
        ("a,b;c\n1,2\n", ["1", "2"]),
        ('a;b\n"1;2";x, y\n', ["1;2", "x, y"]),
        ("a;b;c\n1;;x\n", ["1", "", "x"]),
    ],
)
def test_the_delimiter_is_guessed(write, text: str, row: list[str]) -> None:
    assert read(write(text)).rows[-1] == row


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data.csv is empty"),
        ("\n \n", "data.csv is empty"),
        ("a,b\n", "a header and no rows"),
        ("a,b,c\n1,2,x\n1,2\n", "line 3, column 3: the row has 2 fields; line 1 has 3"),
        ("a,b\n1,x\n1,2,3\n", "line 3, column 3: the row has 3 fields; line 1 has 2"),
        (
            "a,b\n1,x\none,y\n" + MORE,
            r"line 3, column 1 \('a'\): expected a number; got 'one'; leave",
        ),
        (
            "1,2,x\n1,1_000,y\n" + "1,2,x\n1,3,y\n" * 5,
            "line 2, column 2: expected a number; got '1_000'",
        ),
        (
            "a,b\n1,x\n\n\ninf,y\n" + MORE,
            r"line 5, column 1 \('a'\): expected a finite number; got 'inf'",
        ),
        ('a,b\n"1,005",x\n' + MORE, "got '1,005'; write numbers without commas between thousands"),
        (
            'a,b\n"1,234,567.5",x\n"0,5",x\n' + MORE,  # a comma has two meanings
            "without commas between thousands, and decimals with points",
        ),
        ('a,b\n"0,005",x\n' + MORE, "got '0,005'; write the decimals of the column with points"),
        ("a,b\n1e999,x\n" + MORE, "expected a finite number; got '1e999'"),
        (
            "a,d,e,b\n" + "".join(f"A{i},1/{i + 1}/2024,,x\n" for i in range(9)),
            r"data\.csv has no feature that becomes numbers: 'a' \(text of too many different "
            r"values\), 'd' \(dates, days and months in doubt\), 'e' \(no values\)$",
        ),
        (
            "a,b\n1,x\n2,y\nthree,y\n",
            r"got 'three'; leave the field empty if it is missing, or leave the column out "
            r"\(--without a\)$",
        ),
        ("a;b\n1;x\n2\n", "line 3, column 2: the row has 1 field; line 1 has 2"),
        ("a,b\n1,\n2,?\n", r"data\.csv: 'b', the column to predict, has no value in any row$"),
        ("1,nan\n2,\n", r"data\.csv: column 2, the column to predict, has no value in any row$"),
        ("a,b\n1,x\n2,?\n", r"data\.csv; left out: 1 row without a target \('\?'\): too few"),
        ('a,b\n"1\n",x\n2e,y\n' + MORE, r"line 4, column 1 \('a'\): expected a number; got '2e'"),
        ('a,b\n1,x\n2,"y\n3,z\n', "line 3: a quotation mark is opened and not closed"),
        ('a,b\n1,x\n2,"y"z\n', "line 3: "),
        ("a,b\n1,x\n", "data.csv: too few samples"),
        ("a,b\n1,x\n2,y\n3,z\n", "data.csv: too few samples"),  # each class once
    ],
)
def test_what_is_wrong_with_a_table(write, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        table.load(write(text))


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        table.load(tmp_path / "missing.csv")


def test_rows_for_testing_from_another_file(write) -> None:
    path = write(TREES)
    data = table.load(path, test=write("height,width,species\n1000,1,elm\n", "test.csv"))
    assert (len(data.x_train), len(data.x_test), data.y_test.tolist()) == (20, 1, [0])
    np.testing.assert_allclose(data.x_scale.mean, [4, 1.5])  # 1000 is not in it
    assert [file.name for file in data.files] == ["data.csv", "test.csv"]
    numbers = table.load(write("1,0\n2,1\n" * 3), test=write("3,1.0\n", "test.csv"))
    assert numbers.y_test.tolist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("height,width,species\n1,2,ash\n", r"test.csv, line 2, column 3 .*no class 'ash'"),
        ("height,species\n1,elm\n", "the columns are not those of"),
        ("width,height,species\n1,2,elm\n", "the columns are not those of"),
        ("height,width,species\n1,two,elm\n", "test.csv, line 2, column 2"),
    ],
)
def test_rows_for_testing_that_do_not_fit(write, text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        table.load(write(TREES), test=write(text, "test.csv"))


def test_test_rows_have_no_part_in_the_scale(write) -> None:
    data = table.load(write(HOUSES), "price", seed=4)
    changed = HOUSES.splitlines(keepends=True)
    area = data.x_scale.inverse(data.x_test)[:, 1].round().astype(int)
    for i in 50 - area:
        changed[1 + i] = f"9,1e6,{50 - i}\n"
    after = table.load(write("".join(changed)), "price", seed=4)
    assert np.array_equal(data.x_train, after.x_train)
    assert np.array_equal(data.y_train, after.y_train)
    assert np.array_equal(data.y_scale.mean, after.y_scale.mean)
    assert after.y_test.min() > 100


@given(
    st.lists(
        st.tuples(st.floats(-1e30, 1e30), st.floats(-1e-3, 1e-3), st.integers(0, 3)), min_size=8
    )
)
def test_every_number_comes_back(tmp_path_factory, rows: list[tuple[float, float, int]]) -> None:
    path = tmp_path_factory.mktemp("table") / "data.csv"
    path.write_text("".join(f"{a!r},{b!r},{c}\n" for a, b, c in rows))
    content = read(path)
    assert content.names is None
    assert content.numbers([0, 1, 2]).tolist() == [list(map(float, row)) for row in rows]


def test_a_table_error_is_no_wrong_download() -> None:
    assert not issubclass(TableError, WrongFileError)
    assert issubclass(TableError, ValueError)
