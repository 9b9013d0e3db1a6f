"""From files of users' own trees to models, and what these say, in this process at tiny sizes."""

from __future__ import annotations

import io
import json
import random
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from commands import Done, call, ran, refused
from random_trees import chain, random_trees
from sklearn.metrics import f1_score
from tree_files import SMALL, TREES, lines
from tree_lstm_runs import is_picture, without_times

from structnet import parse
from structnet.datasets import read_trees
from structnet.datasets.tree_file import TASKS
from structnet.datasets.tree_file_formats import NAMES, NODE_LABELS
from structnet.datasets.tree_file_targets import hide_nodes, hide_root
from structnet.recipes import RECIPES, recipe_for
from structnet.recipes.recipe import settings_from, values_of
from structnet.recipes.tree_file.answers import relabelled
from structnet.recipes.tree_file.data import load_data, read_like, read_typed
from structnet.recipes.tree_file.measures import of_classes, of_numbers
from structnet.recipes.tree_file.pictures import draw_confusion
from structnet.recipes.tree_file.recipe import TreeFileRecipe
from structnet.recipes.tree_file.settings import (
    Format,
    NodeLabel,
    Source,
    Task,
    Training,
    TreeFileSettings,
)
from structnet.recipes.words import metrics
from structnet.training.history import History
from structnet.trees.tree import Tree


class Trained(NamedTuple):
    kind: str
    file: Path
    run: Path
    done: Done


KINDS = {
    "classes": [],
    "numbers": [],
    "pairs": ["--task", "pairs"],
    "nodes": ["--target", "node-labels"],
}


@pytest.fixture(scope="module", params=KINDS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp(request.param)
    file = folder / "own.txt"
    file.write_text(lines(request.param))
    words = ["train", "tree-lstm", "--data", file, *KINDS[request.param], *SMALL]
    return Trained(request.param, file, folder / "run", call(*words, "--out", folder / "run"))


def test_the_run_folder(trained: Trained) -> None:
    assert (trained.done.status, trained.done.err) == (0, "")
    names = {path.name for path in trained.run.iterdir()}
    pictures = {"history.png", "tree.png", "why.png"} | (
        {"confusion.png"} if trained.kind != "numbers" else set()
    )
    assert names >= pictures | {
        "config.json",
        "history.jsonl",
        "model.safetensors",
        "result.json",
        "example.json",
    }
    assert all(is_picture(trained.run / name) for name in pictures)
    assert len(History.load(trained.run / "history.jsonl")) == 6
    sizes = trained.done.json["sizes"]
    assert (sizes["test"], sum(sizes.values())) == (8, 40)


def test_the_metrics_and_the_baseline(trained: Trained) -> None:
    test = trained.done.json["test"]
    if trained.kind == "numbers":
        assert set(test) == {"rmse", "rmse_of_mean", "mae", "mae_of_mean", "r2"}
        return
    counts = np.array(test["confusion"]["counts"])
    told = {"accuracy", "accuracy_of_most_frequent", "macro_f1", "confusion"}
    wrong = trained.kind != "nodes" and counts.sum() > np.trace(counts)
    assert set(test) == told | ({"mistakes"} if wrong else set())
    assert counts.sum() == (24 if trained.kind == "nodes" else 8)
    assert test["accuracy"] == pytest.approx(np.trace(counts) / counts.sum())
    assert "confusion (a row a true class" in call("evaluate", trained.run).out


def test_a_model_that_is_evaluated_again_says_the_same(trained: Trained) -> None:
    again = call("evaluate", trained.run)
    assert again.json["test"] == trained.done.json["test"]
    whole = call("evaluate", trained.run, "--data", trained.file)
    assert whole.json["sizes"] == {"test": 40}


def test_a_file_and_a_tree_are_predicted_alike(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ran("predict", trained.run, trained.file)
    assert len(file.json["answers"]) == 40
    pairs = [TREES[0], TREES[-1]] if trained.kind == "pairs" else [TREES[0]]
    typed = call("predict", trained.run, *pairs).json["answers"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\t".join(pairs) + "\n"))
    assert call("predict", trained.run).json["answers"] == typed
    [first] = typed
    known = file.json["answers"][0]
    if trained.kind == "nodes":
        hidden = call("predict", trained.run, "(* (* x) (* x))").json["answers"][0]
        assert set(hidden) == {"tree", "labels"}  # there is no truth
    for name, value in first.items():
        assert known[name] == (pytest.approx(value) if isinstance(value, float) else value)
    if trained.kind == "nodes":
        assert [label is None for label in first["labels"]] == [False, False, True, False, True]
    assert ("true" in known) and ("true" in first) == (trained.kind == "nodes")


def test_a_picture_of_a_tree_that_is_typed(trained: Trained, tmp_path: Path) -> None:
    words = [TREES[0], TREES[1]] if trained.kind == "pairs" else [TREES[0]]
    ran("plot", trained.run, *words, "--out", tmp_path)
    assert is_picture(tmp_path / "tree.png")


def test_what_can_be_learnt_is_learnt(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text(lines("classes") * 3)
    words = ["--data", tmp_path / "own.tsv", "--epochs", 8, "--out", tmp_path / "run"]
    done = call("train", "tree-lstm", *words)
    assert done.json["test"]["accuracy"] == 1.0
    assert "of the 24 to test are equal to one to train on" in done.out
    assert "guessed format: bracketed, by the first lines" in done.out


def test_words_are_labelled_by_the_column_that_is_named(tmp_path: Path) -> None:
    row = "{}\t{}\tl\t{}\tx\t_\t{}\t{}\t_\t_\n".format
    text = "".join(
        f"# mood = {tag}\n{row(1, 'a', tag, 2, 'dep')}{row(2, 'b', 'V', 0, 'root')}\n"
        for tag in ("N", "ADJ") * 8
    )
    (tmp_path / "own.conllu").write_text(text)
    words = ["--data", tmp_path / "own.conllu", "--node-label", "upos", *SMALL]
    ran("train", "tree-lstm", *words, "--out", tmp_path / "run")
    data = read_trees(tmp_path / "own.conllu", node_label="upos")
    assert str(data.trees[0]) == "(V/b N/a)"
    assert read_like(data.read_arguments, tmp_path / "own.conllu").trees == data.trees
    asked = call("predict", tmp_path / "run", row(1, "a", "N", 0, "root"))
    assert asked.json["answers"][0]["tree"] == "N/a"
    wrong = call("train", "tree-lstm", "--data", "own.conllu", "--node-label", "pos")
    assert "--node-label must be one of form, lemma, upos" in wrong.err.replace(": must", " must")


def test_labels_of_nodes_that_stand_beside_the_trees(tmp_path: Path) -> None:
    rows = [
        {"tree": tree, "depths": [0, 1, 2, 1, 2] if tree[1] == "P" else [0, None, 2, None, 2]}
        for tree in TREES
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ["--data", tmp_path / "own.jsonl", "--target", "depths", "--task", "nodes"]
    done = ran("train", "tree-lstm", *words, "--epochs", 8, "--out", tmp_path / "run")
    assert done.json["test"]["accuracy"] == 1.0
    asked = call("predict", tmp_path / "run", "(P (A x) (B y))")
    assert asked.out.startswith("(P=0 (A=1 x=2) (B=1 y=2))\n")
    assert asked.json["answers"][0]["labels"] == ["0", "1", "2", "1", "2"]
    assert is_picture(tmp_path / "run" / "tree.png")


def test_a_row_of_objects_is_read_alike_from_a_file_and_as_text(tmp_path: Path) -> None:
    rows = [{"item": {"x": i, "y": [i] * (i % 3)}, "dear": i > 9} for i in range(20)]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ["--data", tmp_path / "own.jsonl", "--target", "dear", *SMALL]
    ran("train", "tree-lstm", *words, "--out", tmp_path / "run")
    new = [json.dumps({"item": row["item"], "id": 1}) for row in rows[:3]]
    bare = [json.dumps(row["item"]) for row in rows[:3]]
    (tmp_path / "new.jsonl").write_text("\n".join(new))
    told = call("predict", tmp_path / "run", tmp_path / "new.jsonl").json["answers"]
    assert [each["tree"] for each in told] == [
        "(object (x 0) (y array))",
        "(object (x 1) (y (array 1)))",
        "(object (x 2) (y (array 2 2)))",
    ]
    for texts in (new, ["\n".join(new)], bare, ["\n".join(bare)]):
        assert call("predict", tmp_path / "run", *texts).json["answers"] == told
    (tmp_path / "bare.jsonl").write_text("\n".join(bare))
    assert call("predict", tmp_path / "run", tmp_path / "bare.jsonl").json["answers"] == told
    half = call("predict", tmp_path / "run", f"{new[0]}\n{new[1][:9]}")
    assert half.json["answers"][0] == told[0] and "\nline 2: not read: " in half.out


def test_training_goes_on_where_it_stopped(classes_run: Path, tmp_path: Path) -> None:
    result = json.loads((classes_run / "result.json").read_text())
    copy = shutil.copytree(classes_run, tmp_path / "run")
    (copy / "result.json").unlink()
    (copy / "model.safetensors").unlink()
    assert "training has not ended; continue" in refused("evaluate", copy)
    done = call("train", "--resume", copy)
    assert (done.status, done.progress) == (0, [])  # all epochs were there
    assert without_times(done.json) == without_times(result)


def test_files_to_choose_and_to_test_by(tmp_path: Path) -> None:
    rows = lines("classes").splitlines(keepends=True)
    parts = {"own.tsv": rows[::2], "valid.tsv": rows[1::4], "test.tsv": rows[3::4]}
    for name, part in parts.items():
        (tmp_path / name).write_text("".join(part) + "perhaps\t(P (A x))\n" * (name != "own.tsv"))
    words = ["--data", "own.tsv", "--test-file", "test.tsv", "--validation-file", "valid.tsv"]
    done = ran(
        "train", "tree-lstm", *words, "--data-dir", tmp_path, *SMALL, "--out", tmp_path / "run"
    )
    assert done.json["sizes"] == {"train": 20, "validation": 11, "test": 11}
    assert "perhaps" in done.json["test"]["confusion"]["classes"]  # was never learnt, and is missed
    assert done.json["test"]["unknown_classes"] == ["perhaps"]
    assert "classes that were not trained on: perhaps\n" in done.out
    (tmp_path / "new.tsv").write_text(f"yes\t{TREES[0]}\nyes\t{TREES[1]}\nyes\t(P\n")
    again = call("evaluate", tmp_path / "run", "--data", tmp_path / "new.tsv")
    assert again.json["test"]["unreadable"] == [{"line": 3, "fault": "column 1: 1 unclosed '('"}]
    assert "left out: 1 example that cannot be read; the first: line 3, column 1" in again.out
    changed = tmp_path / "test.tsv"
    changed.write_text(changed.read_text() + "yes\t(P (B y))\n")
    assert "other test, content than in its config" in refused("evaluate", tmp_path / "run")


def test_classes_are_spelled_alike_in_every_file(tmp_path: Path) -> None:
    file, other = tmp_path / "train.tsv", tmp_path / "test.tsv"
    rows = "".join(f"{each}\t(+ a x{i})\n" for i, each in enumerate(["1", "1.0", "0", "2.0"] * 5))
    file.write_text(rows)
    other.write_text("1.0\t(+ a b)\n0\t(+ b b)\n2\t(+ c b)\n")
    source = Source(task="classification", test_file=other)
    data = load_data(TreeFileSettings(str(file), source), lambda line: None)
    assert (data.classes, data.test.targets) == (["0", "1", "2"], ["1", "0", "2"])
    told = data.describe()
    assert read_like(told, other).targets == ["1", "0", "2"]
    assert read_typed(told, ["1\t(+ a b)", "2.0\t(+ a b)"]).targets == ["1", "2"]
    nodes = told | {"task": "nodes", "target": "node-labels"}
    assert read_typed(nodes, "(1.0 (2 a) b)").targets == [["1", "2", None, None]]


def test_trees_are_handed_over_by_the_data(tmp_path: Path) -> None:
    for data, own in (("listops", False), ("lrt", False), (None, False), ("own.tsv", True)):
        assert isinstance(recipe_for("tree-lstm", data), TreeFileRecipe) == own
    assert isinstance(recipe_for("tree-lstm", str(tmp_path)), TreeFileRecipe)
    assert type(recipe_for("neural-tree", "own.tsv")) is type(RECIPES["neural-tree"]())


def test_the_help_says_how_trees_are_told(tmp_path: Path) -> None:
    text = call("train", "tree-lstm", "--data", "own.tsv", "--help").out
    assert "LABEL<TAB>TREE" in text
    for flag in ("--format", "--target", "--task", "--test-file", "--cell", "--hidden-size"):
        assert f"\n  {flag} " in text
    assert max(map(len, text.splitlines())) <= 100
    assert "--data FILE --help" in call("train", "tree-lstm", "--help").out


def test_the_flags_have_the_choices_of_the_library() -> None:
    assert set(Format.__args__) == set(NAMES)
    assert set(Task.__args__) == set(TASKS)
    assert set(NodeLabel.__args__) == set(NODE_LABELS)


def test_several_values_have_commas_between_them() -> None:
    settings = TreeFileSettings("x.tsv", training=Training(pools=("root", "sum")))
    assert values_of(settings)["pools"] == "root,sum"
    for written in ("root,sum", "root, sum"):
        assert settings_from(TreeFileSettings, {"data": "x.tsv", "pools": written}) == settings


@pytest.mark.parametrize("inner_tokens", [False, True])
def test_hidden_labels_are_put_back(inner_tokens: bool) -> None:
    for seed in range(20):
        for tree in random_trees(random.Random(seed), inner_tokens):
            hidden, labels = hide_nodes(tree)
            assert relabelled(hidden, labels or [None] * tree.size) == tree
            own = [node.label for node in tree.preorder()]
            assert relabelled(hidden, own, words=True) == tree
            root, label = hide_root(tree)
            assert Tree(label, root.children, root.token) == tree
    deep = chain(100_000)
    hidden, labels = hide_nodes(deep)
    assert relabelled(hidden, labels or []) == deep


def test_macro_f1_is_that_of_all_examples_together() -> None:
    rng = np.random.default_rng(0)
    true, guess = (rng.choice(list("abc"), 500, p=[0.8, 0.15, 0.05]).tolist() for _ in range(2))
    found = of_classes(true, guess, "a")
    assert found["macro_f1"] == pytest.approx(f1_score(true, guess, average="macro"))
    assert found["accuracy_of_most_frequent"] == true.count("a") / 500
    assert np.sum(found["confusion"]["counts"]) == 500


def test_numbers_are_measured_beside_their_mean() -> None:
    found = of_numbers([0.0, 2.0, 4.0], [[0.0], [2.0], [1.0]], mean=1.0)
    assert found["rmse"] == pytest.approx(3**0.5)
    assert found["rmse_of_mean"] == pytest.approx((11 / 3) ** 0.5)
    assert (found["mae"], found["mae_of_mean"]) == (1.0, pytest.approx(5 / 3))
    assert found["r2"] == pytest.approx(1 - 9 / 8)
    assert "r2" not in of_numbers([1.0], [2.0], mean=0.0)


def test_many_classes_are_told_by_their_mistakes() -> None:
    names = [f"c{i}" for i in range(20)]
    counts = np.diag([5] * 20)
    counts[3, 4] = 7
    said = list(metrics({"confusion": {"classes": names, "counts": counts.tolist()}}))
    assert said == ["the most frequent confusions of 20 classes:", "  c3 taken for c4: 7"]
    ax = draw_confusion({"classes": names * 2, "counts": np.eye(40).tolist()})
    assert ax.images[0].get_array().shape == (30, 30)
    assert ax.get_title() == "the 30 most frequent classes"


def test_data_tells_what_is_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.tsv"
    file.write_text(lines("classes") + "no\t(P (A x) (A y))\nno\t(P\n")
    done = ran("data", file)
    for said in (
        "41 trees, 205 nodes\n",
        "height: 2 to 2, half of them at most 2\n",
        "equal to an earlier one: 1; 1 of them with another target\n",
        "2 classes: no 21 (51 %), yes 20 (49 %)\n",
        "not read: 1\n  line 42: column 1: 1 unclosed '('\n",
    ):
        assert said in done.out
    assert (done.json["classes"], done.json["pairs"]) == ({"no": 21, "yes": 20}, False)
    (tmp_path / "own.mrg").write_text("\n".join(TREES))
    assert call("data", tmp_path / "own.mrg").json["task"] is None
    by_root = call("data", tmp_path / "own.mrg", "--target", "root-label").json
    assert by_root["classes"] == {"P": 20, "Q": 20}
    table = tmp_path / "rows.csv"
    table.write_text("1,2\n2,3\n" * 5)
    assert "--task pairs is for trees" in call("data", table, "--task", "pairs").err
    assert "is for a table, FILE.csv" in refused("data", file, "--delimiter", ";")


def test_what_python_reads_is_what_the_command_trained_on(classes_run: Path) -> None:
    data = read_trees(classes_run.parent / "own.tsv")
    assert data.trees[0] == parse.bracketed(TREES[0])
    told = json.loads((classes_run / "config.json").read_text())["data"]
    assert told["classes"] == sorted(set(data.targets))
    assert (told["format"], told["target"], told["task"]) == ("bracketed", "1", "classification")
