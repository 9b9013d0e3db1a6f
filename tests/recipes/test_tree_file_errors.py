"""What the command says of files, trees and runs that are not as they should be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import assert_told, call, edit_config, refused
from tree_files import TREES, lines

from structnet import TreeLSTMClassifier
from structnet.recipes.execution import _check_data as check_data
from structnet.recipes.run import Run
from structnet.training.checkpoint import CheckpointError


@pytest.mark.parametrize(
    ("content", "flags", "expected"),
    [
        (
            "yes\t(P x)\nyes\t(Q x)\n",
            [],
            "own.tsv: every tree has the class 'yes'; there is nothing",
        ),
        ("1.5\t(P x)\n" * 30, ["--task", "regression"], "every tree has the number 1.5"),
        ("a\t(P x)\nb\t(Q x)\n", [], "too few samples to hold some out: 2, each of another class"),
        (
            lines("classes"),
            ["--test-file", "PAIRS"],
            "has pairs of trees; the model was trained on",
        ),
        (lines("classes"), ["--cell", "sum", "--dropout", "0.5"], "must be 0 for the cell 'sum'"),
        (lines("classes"), ["--test-file", "nowhere"], "nowhere: No such file or directory"),
        (
            lines("classes"),
            ["--test-fraction", "1"],
            "--test-fraction must be a number in the range",
        ),
    ],
)
def test_errors_of_a_first_hour(
    tmp_path: Path, content: str, flags: list[str], expected: str
) -> None:
    file, pairs = tmp_path / "own.tsv", tmp_path / "pairs.tsv"
    file.write_text(content)
    pairs.write_text(lines("pairs"))
    given = [pairs if flag == "PAIRS" else flag for flag in flags]
    err = refused("train", "tree-lstm", "--data", file, *given, "--out", tmp_path / "run")
    assert expected in err
    assert not (tmp_path / "run").exists() or not list((tmp_path / "run").iterdir())


def test_a_refused_run_takes_nothing_away(tmp_path: Path) -> None:
    file, folder = tmp_path / "own.tsv", tmp_path / "run"
    file.write_text(lines("classes"))
    with pytest.raises(ValueError, match="must be 0 for the cell"):
        model = TreeLSTMClassifier(folder=folder, cell="sum", dropout=0.5, random_state=0)
        model.fit(["(a b)", "(a c)"], [0, 1])
    assert [path.name for path in folder.iterdir()] == ["fit.safetensors"]
    done = call("train", "tree-lstm", "--data", file, "--out", folder)
    assert "which another training wrote" in done.err
    assert [path.name for path in folder.iterdir()] == ["fit.safetensors"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["nowhere.tsv"], "nowhere.tsv: No such file or directory"),
        (["no", "tree"], "'no' stands outside of brackets"),
        (["(P x)", __file__], "expected one file, or only trees; got (P x) "),
        (["(P x)\t(Q x)"], "the input has pairs of trees; the model was trained on single trees"),
    ],
)
def test_what_predict_says_of_what_is_no_tree(
    classes_run: Path, typed: list[str], expected: str
) -> None:
    assert expected in refused("predict", classes_run, *typed)


EDITS = [
    ("settings", "hidden_size", "ten"), ("settings", "format", "trees"), ("settings", "seed", -1),
    ("settings", "data", 7), ("settings", "pools", "roots"), ("settings", "test_fraction", 2),
    ("data", "task", "ranking"), ("data", "format", None), ("data", "classes", None),
    ("data", None, "listops"), ("data", None, {"task": "nodes"}),
]  # fmt: skip


@pytest.mark.parametrize(("part", "name", "value"), EDITS)
def test_configurations_that_somebody_edited(
    classes_run: Path, tmp_path: Path, part: str, name: str | None, value: object
) -> None:
    """One line, and no traceback."""
    run = shutil.copytree(classes_run, tmp_path / "run")
    edit_config(run, part, name, value)
    assert_told("evaluate", run)
    assert_told("predict", run, TREES[0])


def test_a_bad_line_does_not_cost_the_others(classes_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.tsv"
    file.write_text("(P (A x) (B y))\n(P (A\n(Q (A x) (B y))\n(P (A x) (NEW y))\n")
    done = call("predict", classes_run, file)
    *answers, bad = done.json["answers"]
    assert [answer["tree"][:4] for answer in answers] == ["(P (", "(Q (", "(P ("]
    assert bad == {"line": 2, "fault": "column 4: 2 unclosed '('"}
    assert "line 2: not read: column 4" in done.out


def test_a_bad_tree_does_not_cost_the_others(classes_run: Path) -> None:
    done = call("predict", classes_run, TREES[0], "yes\t(c", TREES[1])
    *answers, bad = done.json["answers"]
    assert [answer["tree"] for answer in answers] == TREES[:2]
    assert bad["tree"] == "yes\t(c"
    assert "tree 2: not read: " in done.out and "line" not in bad


def test_files_that_are_read_otherwise_are_not_to_be_brought_back(classes_run: Path) -> None:
    run = Run(classes_run)
    found = run.config["data"]
    run.check_same_data(found)
    with pytest.raises(CheckpointError, match="another version of structnet; train it again"):
        run.check_same_data(found | {"classes": ["no", "1.0"]})
    with pytest.raises(CheckpointError, match="bring the old data back"):
        run.check_same_data(found | {"classes": ["no", "1.0"], "content": "another"})


def test_runs_of_a_table_may_have_other_data_where_their_settings_say_so(tmp_path: Path) -> None:
    runs = [Run(tmp_path / name) for name in "ab"]

    def write(*sizes: int | None, seeds: tuple[int, int] = (1, 1)) -> None:
        for run, train, size, seed in zip(runs, (90, 45), sizes, seeds, strict=True):
            run.folder.mkdir(exist_ok=True)
            settings, data = {"learn_size": size, "seed": seed}, {"train": train, "test": 9}
            run.write_config({"model": "toy", "settings": settings, "data": data})

    write(None, 45)
    check_data(runs)
    write(None, None, seeds=(1, 2))  # which may split the data in another way
    check_data(runs)
    write(None, None)
    with pytest.raises(ValueError, match="b was trained on other data than"):
        check_data(runs)


@pytest.mark.parametrize("damaged", ['{"trees": []}', '{"trees": [[["a", 1, null]]]}', "[1]", "{"])
def test_a_damaged_example_is_one_sentence(classes_run: Path, tmp_path: Path, damaged: str) -> None:
    shutil.copytree(classes_run, tmp_path / "run")
    (tmp_path / "run" / "example.json").write_text(damaged)
    assert "example.json is damaged" in refused("plot", tmp_path / "run")
