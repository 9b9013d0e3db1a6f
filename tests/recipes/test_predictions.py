"""Answers in a CSV file: a row each, whatever a family answers."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from commands import SMALL, ran

from structnet.recipes.predictions import Written, predict_with, write_table
from structnet.recipes.recipe import Answer, Probabilities

TREES = "yes\t(a (b c))\nno\t(a (c b))\n" * 30


def table_of(answers: list[Answer]) -> str:
    file = StringIO()
    write_table(answers, file)
    return file.getvalue()


def shares(**of: float) -> Probabilities:
    return Probabilities(list(of), lambda: of)


def rows(answers: list[Answer]) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(table_of(answers))))


def test_a_row_lacks_what_its_answer_does_not_have() -> None:
    answers = [
        Answer("", {"class": "a,b"}, shares(**{"a,b": 1.0})),
        Answer("", {"fault": "no tree"}),
    ]
    first, second = rows(answers)
    assert first == {"input": "1", "class": "a,b", "probability of a,b": "1.0", "fault": ""}
    assert second == {"input": "2", "class": "", "probability of a,b": "", "fault": "no tree"}


def test_numbers_and_lists() -> None:
    (row,) = rows([Answer("", {"values": {"input": 2.5}, "labels": ["x", None]})])
    assert row == {"input": "1", "predicted input": "2.5", "labels": '["x", null]'}


def test_where_no_label_is_likely_there_is_none() -> None:
    first, second = rows(
        [Answer("", {"labels": {}}, shares()), Answer("", {"labels": {"a": 1}}, shares(a=1))]
    )
    assert (first["class"], second["class"], second["probability"]) == ("", "a", "1")


def test_columns_of_classes_are_in_the_order_of_all_names() -> None:
    names = ["a", "b", "c"]
    answers = [Answer("", {}, Probabilities(names, lambda k=k: {k: 1.0})) for k in ("c", "a")]
    header, *found = table_of(answers).splitlines()
    assert header == "input,probability of a,probability of b,probability of c"
    assert found == ["1,,,1.0", "2,1.0,,"]


def test_probabilities_are_computed_only_where_they_are_asked_for() -> None:
    def of() -> dict[str, float]:
        raise RuntimeError("asked for")

    answers = [Answer("one", {"class": "a"}, Probabilities(["a"], of))]
    assert list(Written().words(answers)) == ["one"]
    assert Written().to_json(answers) == {"answers": [{"class": "a"}]}
    with pytest.raises(RuntimeError, match="asked for"):
        table_of(answers)


def test_true_numbers_are_beside_the_predicted_ones(tmp_path: Path) -> None:
    data, out, run = tmp_path / "homes.csv", tmp_path / "out.csv", tmp_path / "run"
    data.write_text("rooms,price\n" + "".join(f"{i % 5},{100 + i % 5}.5\n" for i in range(60)))
    ran("train", "neural-tree", "--data", data, "--out", run, *SMALL)
    ran("predict", run, "0", "--out", out)
    (told,) = predict_with(run, "0")
    assert told["true price"] % 1 == pytest.approx(0.5, abs=1e-4)
    assert isinstance(told["predicted price"], float) and "true" not in told
    with out.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["true price"]) == told["true price"]
    with pytest.raises(ValueError, match="there is nothing to predict: give the input after the"):
        predict_with(run)


def test_python_gets_lists_and_a_file_json(tmp_path: Path) -> None:
    data, out, run = tmp_path / "trees.tsv", tmp_path / "out.csv", tmp_path / "run"
    data.write_text("(s (x a) (y b))\n(s (y b) (x a))\n" * 20)
    ran(
        "train", "tree-lstm", "--data", data, "--target", "node-labels", "--epochs", 2, "--out", run
    )
    ran("predict", run, "(s (x a) (y b))", "--out", out)
    (told,) = predict_with(run, "(s (x a) (y b))")
    assert isinstance(told["labels"], list)
    with out.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert json.loads(row["labels"]) == told["labels"]


def test_only_the_first_are_printed_without_a_file() -> None:
    answers = [Answer(f"answer {i}", {"class": i}) for i in range(12)]
    assert list(Written().words(answers))[-2:] == ["answer 9", "... 2 more"]
    assert Written().to_json(answers)["answers"][11] == {"class": 11}


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
