"""The commands on softmax trees: train, go on, ask, draw, tables, and what they refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from alike import assert_same_model
from commands import Done, call, ran, refused

from structnet import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier
from structnet.datasets.arrays import set_aside
from structnet.recipes.run import Run
from structnet.recipes.softmax_tree.work import STATE

FEW = ["--data", "clusters", "--num-classes", "4", "--train-size", "80", "--test-size", "40"]
CLUSTERS = ["--data", "clusters", "--num-classes", "8", "--train-size", "200", "--test-size", "80"]
TREE = ["--depth", "2", "--k", "3", "--max-iter", "3"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("runs") / "run"
    done = ran("train", "softmax-tree", *CLUSTERS, *TREE, "--out", folder)
    return folder, done


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sparse rows whose class is their largest feature."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("rows") / "rows.svm"
    lines = []
    for _ in range(120):
        k = rng.integers(3)
        lines.append(f"{k} {k + 1}:{2 + rng.random():.3f} {k + 5}:{rng.random():.3f}\n")
    path.write_text("".join(lines))
    return path


def test_train(run: tuple[Path, Done]) -> None:
    folder, done = run
    test = done.json["test"]
    assert test["accuracy"] == pytest.approx(1 - test["error"])
    assert test["accuracy"] > 2 / 8
    assert (test["depth"], test["leaves"]) == (2, 4) and test["leaf_classes"] <= 3
    assert 0 < test["coverage"] <= 1 <= test["perplexity"]
    there = {path.name for path in folder.iterdir()}
    assert {"tree.png", "nodes.png", "errors.png", "summary.txt", "history.jsonl"} <= there
    assert "3 iterations, 4 leaves, " in done.err
    assert " to train on, " in done.out and " for validation" not in done.out  # as it does not grow
    assert "coverage" in (folder / "summary.txt").read_text()


def test_what_a_run_is_asked(run: tuple[Path, Done], tmp_path: Path) -> None:
    folder, done = run
    again = call("evaluate", folder).json["test"]
    timed = ("microseconds",)
    assert {k: v for k, v in again.items() if k not in timed} == {
        k: v for k, v in done.json["test"].items() if k not in timed
    }
    asked = call("predict", folder, "0", "7")
    assert [each["example"] for each in asked.json["answers"]] == [0, 7]
    columns = ["example", "class", "probability", "leaf", "true"]  # as of a neural tree
    assert list(asked.json["answers"][0]) == columns
    assert "reached with 100.0 %" in asked.out
    assert set(call("plot", folder, "--out", tmp_path).json) == {"tree", "errors", "nodes"}


def test_a_file_of_unknown_classes_or_none(rows: Path, tmp_path: Path) -> None:
    own, other, pictures = (tmp_path / name for name in ("own.svm", "other.svm", "pictures"))
    own.write_text(rows.read_text())
    folder = tmp_path / "run"
    assert call("train", "softmax-tree", "--data", own, *TREE, "--out", folder).status == 0
    other.write_text("97 1:1\n" + rows.read_text() + "98 1:1\n")
    known, found = (ran("evaluate", folder, "--data", each) for each in (own, other))
    assert (
        "other.svm: 2 rows of classes that the tree does not know (97, 98) count as " in found.out
    )
    for name in ("accuracy", "coverage"):
        assert found.json["test"][name] == pytest.approx(known.json["test"][name] * 120 / 122)
    asked, typed = (call("predict", folder, each).json["answers"] for each in (other, own))
    assert asked[1:-1] == typed and len(asked) == 122  # what is asked about needs no class
    own.unlink()
    err = refused("plot", folder, "--out", pictures)
    assert "own.svm" in err and not pictures.exists()


def test_the_size_of_sparse_rows_does_not_matter(rows: Path, tmp_path: Path) -> None:
    larger, smaller, answers = tmp_path / "larger.svm", tmp_path / "smaller.svm", []
    before, *others = re.split(r":(\S+)", rows.read_text())
    pairs = list(zip(others[::2], others[1::2], strict=True))
    for file, unit in ((larger, 2.0**200), (smaller, 2.0**-200)):  # single precision has neither
        scaled = [f":{unit * float(value)}{after}" for value, after in pairs]
        file.write_text(before + "".join(scaled))
    for file in (rows, larger, smaller):
        folder = tmp_path / file.stem
        ran("train", "softmax-tree", "--data", file, *TREE, "--out", folder)
        assert call("evaluate", folder, "--data", file).json["test"]["accuracy"] > 0.9
        answers.append(call("predict", folder, file).json["answers"])
    told, *others = ([each["class"] for each in answer] for answer in answers)
    assert others == [told, told]
    err = refused("evaluate", tmp_path / "smaller", "--data", larger)
    assert "single precision" in err


def test_sparse_rows_are_not_for_a_tree_of_a_table(rows: Path, tmp_path: Path) -> None:
    table, folder = tmp_path / "own.csv", tmp_path / "run"
    table.write_text("a,b,label\n" + "".join(f"{i % 2},{i % 3},c{i % 2}\n" for i in range(60)))
    ran("train", "softmax-tree", "--data", table, "--depth", 1, "--k", 2, "--out", folder)
    for words in (["predict", folder, rows], ["evaluate", folder, "--data", rows]):
        assert re.search(r"FILE\.csv, .*own\.csv; got '.*rows\.svm'", refused(*words))


def test_a_tree_that_is_trained_stays_as_it_is(run: tuple[Path, Done]) -> None:
    folder, done = run
    again = call("train", "--resume", folder)
    assert "trained already" in again.out and "iteration 1" not in again.out
    assert again.json["test"]["error"] == done.json["test"]["error"]
    assert again.json["details"] == done.json["details"]


def test_a_run_that_was_interrupted_goes_on(
    run: tuple[Path, Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, done = run
    written, told = Run.write_history, []

    def interrupted(self: Run, records: Iterable) -> None:
        written(self, records)
        told.append(self)
        if len(told) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Run, "write_history", interrupted)
        stopped = call("train", "softmax-tree", *CLUSTERS, *TREE, "--out", tmp_path / "run")
    assert stopped.status == 130 and "train --resume" in stopped.err
    again = ran("train", "--resume", tmp_path / "run")
    assert "going on after iteration 2" in again.out and "iteration 1:" not in again.out
    assert_same_model(folder, tmp_path / "run")
    assert not (tmp_path / "run" / STATE).exists()
    assert again.json["details"]["iterations"] == done.json["details"]["iterations"]


def test_trees_that_grow(tmp_path: Path) -> None:
    growing = ["--alpha", "0.7", "--rho", "0.9", "--start-depth", "1", "--max-depth", "3"]
    done = ran("train", "adaptive-softmax-tree", *CLUSTERS, *growing, "--out", tmp_path)
    assert done.json["sizes"] == {"train": 180, "validation": 20, "test": 80}
    assert 1 <= done.json["test"]["depth"] <= 3
    details = done.json["details"]
    assert 0 < details["accepted"] <= details["trials"]
    records = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    leaves = [each["leaves"] for each in records if "validation_error" in each]
    assert len(leaves) < len(records)  # in the end the validation examples are learnt from
    # Which round is kept is up to 20 validation examples.
    assert leaves == sorted(leaves) and max(each["round"] for each in records) >= 1
    wrong = call("train", "adaptive-softmax-tree", *CLUSTERS, "--depth", "1")
    for flag in ("--depth", "--k"):  # which --start-depth and --start-k do
        assert f"\n  {flag} " in call("train", "softmax-tree", "--help").out
        assert f"\n  {flag} " not in call("train", "adaptive-softmax-tree", "--help").out
    expected = "--depth is for softmax-tree; adaptive-softmax-tree has --start-depth, --start-k"
    assert expected in wrong.err


@pytest.mark.parametrize("model", ["softmax-tree", "adaptive-softmax-tree"])
def test_a_table_of_ones_own(model: str, tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    pairs = [(x, y) for x in range(8) for y in range(8)]
    lines = [f"{x},{y},{'right' if x > y else 'left'}\n" for x, y in pairs]
    table.write_text("x,y,side\n" + "".join(lines))
    done = ran("train", model, "--data", table, "--max-iter", "3", "--out", tmp_path / "run")
    assert done.json["test"]["accuracy"] > 0.7
    kind = SoftmaxTreeClassifier if model == "softmax-tree" else AdaptiveSoftmaxTreeClassifier
    found = kind.load(Run(tmp_path / "run").model_file)
    assert found.feature_names_in_.tolist() == ["x", "y"]
    # All rows that are not tested are counted, also those by which a tree grows.
    learned = set_aside(table, 64, 0.2, 0, np.array([x > y for x, y in pairs]))[0]
    share = np.mean([pairs[place][0] > pairs[place][1] for place in learned])
    assert found.arrivals_["share"][0] == 1
    assert found.arrivals_["of_best"][0] == pytest.approx(max(share, 1 - share))
    said = call("predict", tmp_path / "run", table).json["answers"]
    assert {each["class"] for each in said} == {"left", "right"} and len(said) == 64


@pytest.mark.parametrize("number", [1, 2])
def test_tables(number: int, tmp_path: Path) -> None:
    told = ["--table", number, *FEW, "--depth", "1"]
    done = ran("reproduce", "softmax-tree", *told, "--out", tmp_path)
    names = {
        1: ("one-vs-all", "hierarchical softmax", "adaptive softmax tree (AST)"),
        2: ("softmax tree (ST), depth 3", "adaptive softmax tree (AST), k 25"),
    }
    assert {"flat softmax", *names[number]} <= set(done.json["rows"])
    assert (tmp_path / f"table{number}-clusters.md").exists()
    errors = [row["error"]["ours"] for row in done.json["rows"].values()]
    assert all(0 <= error <= 1 for error in errors)
    assert len(done.json["pictures"]) == number
    assert (number == 2) == ("AST: alpha 0.9, rho 0.95, start depth 3; k is the most" in done.out)


def test_some_models_of_a_table(tmp_path: Path) -> None:
    told = ["--table", 1, "--start", "random", "--only", "leaves,softmax-tree", "--seeds", 2]
    done = call("reproduce", "softmax-tree", *FEW, *told, "--out", tmp_path)
    assert list(done.json["rows"]) == ["ST, its leaves alone trained", "softmax tree (ST)"]
    assert "All trees begin with random" in done.out and "anew with each seed" in done.out
    starts = {
        json.loads(file.read_text())["settings"]["start"] for file in tmp_path.glob("*/result.json")
    }
    assert starts == {"random"}
    err = refused("reproduce", "softmax-tree", "--table", 1, "--only", "leafs")
    assert "did you mean 'leaves'?" in err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--data", "clusters", "--k", "0"], "--k must be an int in the range [1, inf)"),
        (["--data", "clusters", "--leaf-penalty", "-1"], "--leaf-penalty must be a number"),
        (["--data", "clusters", "--target", "x"], "--target is for a table, FILE.csv"),
        (["--data", "digits", "--without", "x"], "--without is for a table, FILE.csv"),
        (
            ["--data", "digits", "--num-classes", "5"],
            "--num-classes is for texts and generated rows",
        ),
        (["--data", "nowhere.svm"], "nowhere.svm: No such file"),
        (["--data", "cluster"], "did you mean 'clusters'?"),
        (
            ["--data", "some.png"],
            "or a file whose name ends in .csv, .tsv, .svm, .libsvm or .svmlight (.csv, .tsv, "
            ".svm, .libsvm and .svmlight also compressed, as .gz or .bz2); got 'some.png'",
        ),
    ],
)
def test_what_is_refused(typed: list[str], said: str, tmp_path: Path) -> None:
    err = refused("train", "softmax-tree", *typed, "--out", tmp_path / "run")
    assert said in err
    assert not (tmp_path / "run").exists()
