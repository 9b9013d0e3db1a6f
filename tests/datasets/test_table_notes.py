"""What is said of a table: rows without a target, the column predicted, columns like ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from structnet.datasets import table


def rows_of(number: int, first: list[object]) -> str:
    return "".join(f"{first[i]},{i % 7}.5,{'ab'[i % 2]}\n" for i in range(number))


@pytest.fixture
def load(tmp_path: Path):
    def load(text: str, target: str | None = None, **more):
        path = tmp_path / "data.csv"
        path.write_text(text)
        return table.load(path, target, **more)

    return load


def test_rows_without_a_target_are_left_out(load) -> None:
    text = rows_of(30, ["1.5"] * 15 + ["2.5"] * 15)
    whole, some = load(text), load(text + "1.5,3,\n2.5,3,n/a\n9.5,3,NA\n")
    assert whole.notes[1:] == ()
    assert some.notes[1:] == ("left out: 3 rows without a target ('n/a', 'NA')",)
    assert some.classes == ("a", "b")
    for part in ("x_train", "y_train", "x_test", "y_test"):
        np.testing.assert_array_equal(getattr(some, part), getattr(whole, part))


def test_numbers_to_predict_may_have_gaps(load) -> None:
    text = "".join(f"{i % 5},{i / 3}\n" for i in range(30))
    whole, some = load(text), load(text + "4,\n")
    assert some.task == "regression"
    np.testing.assert_array_equal(some.y_test, whole.y_test)
    assert some.notes[1] == "left out: 1 row without a target"


def test_a_test_file_may_have_gaps_too(load, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("a,b,c\n1.5,2,a\n1.5,2,\n")
    found = load("a,b,c\n" + rows_of(30, ["1.5"] * 15 + ["2.5"] * 15), test=other)
    assert len(found.y_test) == 1
    assert found.notes[1] == f"left out: 1 row without a target, in {other}"


def test_the_target_is_named(load) -> None:
    last = "(the last column; --target names another)"
    text = rows_of(12, ["1.5", "2.5"] * 6)
    assert load(text).notes == (f"target: column 3 {last}",)
    assert load("a,b,c\n" + text).notes == (f"target: 'c' {last}",)
    assert load("a,b,c\n" + text, "c").notes == ("target: 'c'",)


SAID = "all values different, as of ids: 'the id' (--without 'the id' leaves it out)"


@pytest.mark.parametrize(
    ("values", "alike"),
    [
        (range(30), True),
        (range(3000, 30, -100), False),  # neither rising nor dense
        (range(30, 3030, 100), True),
        (np.random.default_rng(0).permutation(45)[:30], True),
        (np.random.default_rng(0).permutation(100)[:30], False),
        ([0, *range(29)], False),
        ([i + 0.5 for i in range(30)], False),
        (["", *range(29)], False),
    ],
)
def test_a_column_like_ids_is_named(load, values: list[object], alike: bool) -> None:
    notes = load("the id,b,c\n" + rows_of(30, list(values))).notes
    assert notes[1:] == (SAID,) * alike


@pytest.mark.parametrize("name", ["", "b", "-id", '"id, of it"'])
def test_a_column_like_ids_whose_name_is_no_flag_has_its_number(load, name: str) -> None:
    text = f"a,{name},b,c\n" + "".join(f"{i % 3},{i},{i % 7}.5,{'ab'[i % 2]}\n" for i in range(30))
    [_, note] = load(text).notes
    assert note.endswith("(--without 2 leaves it out)")
    assert len(load(text, without=["2"]).notes) == 1


def test_few_rows_or_the_only_column_are_not_called_ids(load) -> None:
    assert len(load("a,b,c\n" + rows_of(19, list(range(19)))).notes) == 1
    assert len(load("a,c\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(30))).notes) == 1


def test_several_columns_like_ids(load) -> None:
    text = "".join(f"{i},{i + 5},{i % 3},{'ab'[i % 2]}\n" for i in range(30))
    expected = "all values different, as of ids: column 1, column 2 (--without 1,2 leaves them out)"
    assert load(text).notes[1] == expected
