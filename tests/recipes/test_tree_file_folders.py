"""Folders of files of trees: what is learnt from them, and what is said of each file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from commands import call, ran, refused
from tree_files import SMALL, TREES

from structnet.recipes.tree_file.data import load_data
from structnet.recipes.tree_file.settings import TreeFileSettings


def test_each_file_of_a_folder_is_named_with_its_answer(classes_run: Path, tmp_path: Path) -> None:
    trees = {"some/one.mrg": [TREES[0]], "some/two.mrg": [*TREES[:2], "(S"], "none.mrg": []}
    (tmp_path / "some").mkdir()
    for name, texts in trees.items():
        (tmp_path / name).write_text("\n".join(texts))
    asked = call("predict", classes_run, tmp_path)
    told = [line.partition(": ")[0] for line in asked.out.splitlines() if ".mrg" in line[:20]]
    two = [f"some/two.mrg, line {line}" for line in (1, 2, 3)]
    assert told == ["some/one.mrg", *two[:2], "none.mrg", two[2]]
    assert "none.mrg: not read: is empty; expected a tree" in asked.out
    where = [(answer["file"], answer.get("line")) for answer in asked.json["answers"]]
    two = "some/two.mrg"
    assert where == [("some/one.mrg", None), (two, 1), (two, 2), ("none.mrg", None), (two, 3)]
    assert not any("true" in answer for answer in asked.json["answers"])  # "some" is no class
    assert "guessed" not in asked.out
    (tmp_path / "some").rename(tmp_path / "yes")
    asked = call("predict", classes_run, tmp_path)
    assert [answer.get("true") for answer in asked.json["answers"][:3]] == ["yes"] * 3
    assert "guessed" not in asked.out
    (tmp_path / "none.mrg").write_text(TREES[1])
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "three.mrg").write_text(TREES[0])
    asked = call("predict", classes_run, tmp_path)
    true = {answer["file"]: answer.get("true") for answer in asked.json["answers"][:5]}
    assert true == {
        "none.mrg": None,
        "some/three.mrg": None,
        "yes/one.mrg": "yes",
        "yes/two.mrg": "yes",
    }
    assert asked.out.startswith(
        "guessed truth: the folders that are classes; 2 of 5 trees are in no such folder (some) "
        "and have none\n"
    )


def test_a_folder_is_asked_about_like_a_file(classes_run: Path, tmp_path: Path) -> None:
    for name, tree in (("yes", TREES[0]), ("no", TREES[-1])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.mrg").write_text(tree)
    counts = call("evaluate", classes_run, "--data", tmp_path).json["test"]["confusion"]
    assert counts["classes"] == ["no", "yes"] and np.sum(counts["counts"]) == 2
    (tmp_path / "yes" / "one.mrg").rename(tmp_path / "no" / "two.mrg")
    wrong = call("evaluate", classes_run, "--data", tmp_path)
    mistake = {"file": "no/two.mrg", "true": "no", "predicted": "yes"}
    assert wrong.json["test"]["mistakes"] == [mistake]
    assert "\nmistake: no/two.mrg: no taken for yes\n" in wrong.out
    (tmp_path / "no" / "two.mrg").rename(tmp_path / "yes" / "one.mrg")
    asked = call("predict", classes_run, tmp_path / "yes").json["answers"]
    (typed,) = call("predict", classes_run, TREES[0]).json["answers"]
    assert typed.pop("tree") == TREES[0] and asked == [{"file": "one.mrg", **typed}]
    run = tmp_path / "run"
    trained = call("train", "tree-lstm", "--data", tmp_path, *SMALL, "--out", run)
    assert "too few samples to hold some out" in trained.err
    for i, tree in enumerate(TREES):
        (tmp_path / ("yes" if tree[1] == "P" else "no") / f"{i}.mrg").write_text(tree)
    trained = ran("train", "tree-lstm", "--data", tmp_path, *SMALL, "--out", run)
    file = call("evaluate", run, "--data", classes_run.parent / "own.tsv")
    assert file.json["sizes"] == {"test": 40}


def test_documents_with_labels_in_them(tmp_path: Path) -> None:
    data, run = tmp_path / "data", tmp_path / "run"
    data.mkdir()
    for i, kind in enumerate(["a", "b"] * 15):
        document = {"kind": kind, "n": [i % 5], "label": kind.upper()}
        (data / f"{i:02}.json").write_text(json.dumps(document))
    trained = ran("train", "tree-lstm", "--data", data, *SMALL, "--out", run)
    assert trained.json["test"]["confusion"]["classes"] == ["A", "B"]
    before = call("predict", run, data).json["answers"]
    assert [answer["true"] for answer in before] == ["A", "B"] * 15
    (data / "00.json").write_text('{"kind": "a", "n": [0]}')  # without its label
    after = call("predict", run, data).json["answers"]
    assert "true" not in after[0] and after[0] | {"true": "A"} == before[0]
    assert "the data are not those of" in refused("evaluate", run)


def test_files_that_hold_no_trees_do_not_count(tmp_path: Path) -> None:
    for i, tree in enumerate(TREES):
        file = tmp_path / "data" / ("yes" if tree[1] == "P" else "no") / f"{i}.mrg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(tree)
    settings = TreeFileSettings(str(tmp_path / "data"))
    before = load_data(settings, print).describe()
    for name in (".DS_Store", "README"):
        (tmp_path / "data" / "no" / name).write_text("no tree")
    assert load_data(settings, print).describe() == before
    file.write_text("(P (Q another))")
    assert load_data(settings, print).describe() != before
