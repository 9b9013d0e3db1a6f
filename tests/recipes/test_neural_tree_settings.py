"""What a run of a neural tree is told: its defaults, and what is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from commands import SMALL, ran, refused
from neural_tree_runs import settings_of

from structnet.neural_tree import NeuralTreeClassifier, NeuralTreeSettings
from structnet.neural_tree import tree as library
from structnet.neural_tree.presets import PRESETS
from structnet.recipes.neural_tree.baselines import NETWORKS
from structnet.recipes.neural_tree.figures import ABLATIONS, BASELINES, ENSEMBLES, TREES
from structnet.recipes.neural_tree.paper import NAMES, ONE_PATH, VARIANTS
from structnet.recipes.neural_tree.settings import (
    DEFAULTS,
    PATHS,
    PRIMITIVES,
)
from structnet.recipes.run import Run


def test_what_is_known_without_torch_is_what_there_is() -> None:
    assert PATHS == library.PATHS
    assert set(PRIMITIVES) == {*PRESETS, "table", "mlp", "conv"}
    assert set(TREES) == set(ABLATIONS) == set(PRESETS)
    assert set(ENSEMBLES) <= set(TREES)
    assert all(set(each) == set(VARIANTS) - {"full"} for each in ABLATIONS.values())
    assert set(NAMES) == {*VARIANTS, ONE_PATH, *itertools.chain(*BASELINES.values())}
    assert set(BASELINES) == set(NETWORKS) == {"sarcos", "mnist", "cifar10"}
    assert all(set(NETWORKS[data]) <= set(BASELINES[data]) for data in NETWORKS)


def test_few_epochs_leave_none_for_the_end_unless_it_is_asked_for() -> None:
    found = [settings_of(data="sarcos", refine_epochs=epochs).rows.finish for epochs in (0, 1, 2)]
    assert found == [False, False, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train neural-tree", "--data is missing: digits, mnist, cifar10, sarcos, or FILE.csv"),
        (
            "train neural-tree --data letters",
            "sarcos, or a file whose name ends in .csv or .tsv (.csv and .tsv also compressed, as "
            ".gz or .bz2); got",
        ),
        ("train neural-tree --data digits --primitives mnist_c --width 3", "--width is for"),
        ("train neural-tree --data digits --router-width 3", "--router-width is for table, mlp,"),
        (
            "train neural-tree --data sarcos --router-width 3 --no-routers",
            "--router-width is for trees with routers; got 3 with --no-routers",
        ),
        (
            "train neural-tree --data sarcos --finish True --refine-epochs 1",
            "expected --refine-epochs of at least 2; got 1",
        ),
        ("reproduce neural-tree --table figure4 --only full", "all its lines; got full"),
        ("train neural-tree --data mnist --batch-norm", "--batch-norm is for conv, cifar10_a"),
        ("train neural-tree --data digits --learn-size 1700", "1,294 training examples are left"),
        ("train neural-tree --data digits --no-routers --no-transformers", "nothing to grow"),
        ("train neural-tree --data digits --target 3", "--target is for a table"),
        ("train neural-tree --data digits --train-size 9999", "got a size of 9,999"),
        (
            "train neural-tree --data digits --train-size 8",
            "digits has 10 classes; got 7 examples to train on, besides 1 for validation; "
            "expected at least 10, as many as classes",
        ),
        ("train neural-tree --data digits --min-gain x", "--min-gain: must be a number; got 'x'"),
        ("train neural-tree --data digits --max-leaves 0", "--max-leaves must be an int in the"),
        ("train neural-tree --data digits --prune 5", "a number in the range [0, 1]. Got 5"),
        (
            "train neural-tree --data digits --validation-fraction 0.0001",
            "is 0; expected from 1 to",
        ),
        (
            "reproduce neural-tree --table 9",
            "must be one of 3, 4, 5, 6, 7, 8, tabular, figure3, fig",
        ),
        ("reproduce neural-tree --table 6 --only linear", "leaves no row in table 6"),
        ("reproduce neural-tree --table 4 --primitives mnist_z", "must name some of"),
        ("reproduce neural-tree --table 4 --data chess", "--data: must be one of mnist, sarcos"),
    ],
)
def test_bad_arguments_are_said_in_one_line(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(*arguments.split())
    assert not list(tmp_path.iterdir())


def test_a_table_that_leaves_a_single_row_to_train_on_is_refused(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n1,2.5\n2,3.7\n")
    said = refused("train", "neural-tree", "--data", str(rows), "--out", str(tmp_path / "run"))
    assert "got 1 training example; expected at least 2" in said


def test_the_defaults_are_those_of_the_paper() -> None:
    assert {name: DEFAULTS[name]["refine_epochs"] for name in ("sarcos", "mnist", "cifar10")} == {
        "sarcos": 300,
        "mnist": 100,
        "cifar10": 200,
    }
    training = settings_of(data="mnist").training
    assert (training.patience, training.learning_rate, training.min_gain) == (5, 1e-3, 0)
    assert training.to_library().batch(54_000) == 512 and training.weight_decay == 0
    assert settings_of(data="sarcos").training.weight_decay > 0
    assert not training.prefer_split and not training.warm_start_solvers
    assert settings_of(data="mnist").rows.validation_fraction == 0.1
    finish = [settings_of(data=data).rows.finish for data in ("mnist", "cifar10", "digits")]
    assert finish == [False] * 3


def test_a_table_is_learned_from_as_by_an_estimator() -> None:
    table, estimator = settings_of(data="houses.csv"), NeuralTreeClassifier()
    assert replace(table.training.to_library(), seed=0) == NeuralTreeSettings()
    assert table.rows.validation_fraction == estimator.validation_fraction
    assert table.rows.finish  # as an estimator does


def test_a_table_is_learned_from_whole_in_the_end(tmp_path: Path) -> None:
    lines = [f"{i % 7},{i},{3 * (i % 7) + i / 9}" for i in range(125)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y", *lines]))
    given = ["train", "neural-tree", "--data", tmp_path / "rows.csv", "--out", tmp_path / "run"]
    done = ran(*given, *SMALL, "--primitives", "mlp")
    assert done.json["sizes"] == {"train": 80, "validation": 20, "test": 25}
    run = Run(tmp_path / "run")
    assert run.history["phase"][-1] == "finish"
