"""Answers in a CSV file: a row each, whatever a family answers."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

from commands import ran

from structnet.recipes.predictions import Written, table_of
from structnet.recipes.recipe import Answer

TREES = "yes\t(a (b c))\nno\t(a (c b))\n" * 30


def rows(answers: list[Answer]) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(table_of(answers))))


def test_a_row_lacks_what_its_answer_does_not_have() -> None:
    answers = [Answer("", {"class": "a,b"}, {"a,b": 1.0}), Answer("", {"fault": "no tree"})]
    first, second = rows(answers)
    assert first == {"input": "1", "class": "a,b", "probability of a,b": "1.0", "fault": ""}
    assert second == {"input": "2", "class": "", "probability of a,b": "", "fault": "no tree"}


def test_numbers_and_lists() -> None:
    (row,) = rows([Answer("", {"values": {"input": 2.5}, "labels": ["x", None]})])
    assert row == {"input": "1", "predicted input": "2.5", "labels": '["x", null]'}


def test_where_no_label_is_likely_there_is_none() -> None:
    first, second = rows(
        [Answer("", {"labels": {}}, {}), Answer("", {"labels": {"a": 1}}, {"a": 1})]
    )
    assert (first["class"], second["class"], second["probability"]) == ("", "a", "1")


def test_only_the_first_are_printed_without_a_file() -> None:
    answers = [Answer(f"answer {i}", {"class": i}) for i in range(12)]
    assert list(Written().words(answers))[-2:] == ["answer 9", "... 2 more"]
    assert Written().told(answers)["answers"][11] == {"class": 11}


def test_trees_with_their_classes(tmp_path: Path) -> None:
    data, out = tmp_path / "trees.tsv", tmp_path / "out.csv"
    data.write_text(TREES)
    ran("train", "tree-lstm", "--data", data, "--epochs", 2, "--out", tmp_path / "run")
    answers = ran("predict", tmp_path / "run", data).json["answers"]
    ran("predict", tmp_path / "run", data, "--out", out)
    with out.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert len(found) == len(answers) == 60
    for row, answer in zip(found, answers, strict=True):
        shares = {name: float(row[f"probability of {name}"]) for name in ("no", "yes")}
        assert (row["tree"], row["true"]) == (answer["tree"], answer["true"])
        assert row["class"] == answer["class"] == max(shares, key=shares.__getitem__)
        assert shares[row["class"]] == answer["probability"]
