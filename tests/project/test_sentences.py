"""What the commands say: of data that changed or are missing, of numbers, in help and tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import call

from structnet.datasets import DownloadError, TableError, table
from structnet.recipes.neural_tree.paper import MULTI, SINGLE, TABLES, Choice
from structnet.recipes.run import Run
from structnet.recipes.words import in_words
from structnet.training.checkpoint import CheckpointError

RESULT = {
    "data": "mnist",
    "sizes": {"train": 90, "validation": 10, "test": 20},
    "test": {
        "accuracy": 0.98,
        "accuracy_greedy": 0.97,
        "accuracy_most_likely": 0.97,
        "accuracy_least_likely": 0.1,
    },
    "details": {"leaves": 3, "parameters": 40},
    "seconds": 60,
}
SETTINGS = {
    "epochs": 1,
    "patience": 1,
    "n_init": 1,
    "max_leaves": None,
    "refine_epochs": 1,
    "finish": False,
    "batch_size": 1,
    "learning_rate": 0.1,
    "weight_decay": 0.1,
    "device": "cpu",
    "threads": 1,
}


def a_run(**data: object) -> Run:
    config = {"model": "neural-tree", "settings": SETTINGS, "data": data}
    return type("Trained", (Run,), {"config": config, "result": RESULT})("runs/a")


def test_data_that_changed_are_named_and_nothing_else() -> None:
    run = a_run(name="houses", train=96, features=["area"] * 500)
    run.check_same_data({"name": "houses", "train": 96, "features": ["area"] * 500})
    changed = {"name": "houses", "train": 97, "features": ["age"] * 500}
    expected = "the data are not those of runs/a: other train, features than in its "
    with pytest.raises(CheckpointError) as caught:
        run.check_same_data(changed)
    assert str(caught.value).startswith(expected + "config.json; bring the old data back")
    assert len(str(caught.value)) < 250
    with pytest.raises(CheckpointError, match="other features than"):
        run.check_same_data({"name": "houses", "train": 96})


@pytest.mark.parametrize("data", ["mnist", "cifar10", "sarcos"])
def test_missing_files_are_had_by_a_command(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRUCTNET_DATA", str(tmp_path / "cache"))
    command = ["train", "neural-tree", "--data", data, "--data-dir", tmp_path / "data"]
    command += ["--out", tmp_path / "out"]
    done = call(*command)
    expected = (
        f"the files of {data} are not in {tmp_path / 'data'} or {tmp_path / 'cache'}; get them "
        f"with: structnet data {data}\n"
    )
    assert (done.status, done.err.endswith(expected)) == (1, True)
    with pytest.raises(DownloadError):
        call(*command, "--debug")


@pytest.mark.parametrize("values", [["oak"] * 9, ["5"] * 9, ["5", "5.0", "5"] * 3])
def test_a_table_of_one_class_is_refused(values: list[str], tmp_path: Path) -> None:
    path = tmp_path / "trees.csv"
    path.write_text("height,species\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values)))
    with pytest.raises(TableError, match=r"column 2 \('species'\): expected at least two classes"):
        table.load(path)
    if values[0] == "5":
        assert table.load(path, task="regression").classes is None


def test_one_of_a_thing_is_in_the_singular(tmp_path: Path) -> None:
    path = tmp_path / "houses.csv"
    path.write_text("area,price\n" + "".join(f"{i},{i}.5\n" for i in range(9)))
    assert "inputs of 1, 1 target\n" in call("data", path).out


def test_a_table_says_what_was_run() -> None:
    run = a_run(shape=[1, 28, 28], split="as published")
    notes = TABLES[6].make(Choice(), {("mnist_c", "full"): [run]}).notes
    assert notes[0].endswith("Ours: 1 seed. The paper's are of one tree each.")
    assert notes[2].endswith("1 minute a tree on cpu, 1 thread.")
    assert "a weight decay of 0.1 but for routers; 1 minute" in notes[2]


def test_the_papers_ensembles_are_not_said_to_be_of_one_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "structnet.recipes.neural_tree.paper.together", lambda runs: {MULTI: 0.01, SINGLE: 0.02}
    )
    run = a_run(shape=[1, 28, 28], split="as published")
    notes = TABLES[8].make(Choice(), {("mnist_a", "full"): [run]}).notes
    assert notes[0] == "Errors: percent wrong of the test examples. Ours: 1 seed."
    assert "The paper: 8 trees together." in notes[-1]


def test_percent_is_written_in_one_way() -> None:
    assert in_words({"class": "3", "probability": 0.1372}) == "class 3, 13.7 %"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("train neural-tree", "The test data decide nothing; they are measured before and after"),
        ("predict", "and its probability, or the numbers that it predicts"),
    ],
)
def test_help_says_what_is_so(command: str, sentence: str) -> None:
    assert sentence in " ".join(call(*command.split(), "--help").out.split())
