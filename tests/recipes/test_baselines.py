"""The models that ``reproduce neural-tree --table 3`` compares with, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import array_files as files
import numpy as np
import pytest
from neural_tree_runs import settings_of
from sklearn.linear_model import LinearRegression

from structnet.cli import main
from structnet.datasets import sarcos
from structnet.recipes.neural_tree import baselines
from structnet.recipes.neural_tree.data import load_data
from structnet.recipes.recipe import Place

LINEAR = ["reproduce", "neural-tree", "--table", "3", "--data", "sarcos", "--only", "linear"]


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a test file of SARCOS's form, and few rows."""
    monkeypatch.setattr(sarcos, "verify", lambda source, path: None)
    files.write_sarcos(tmp_path / "data", sarcos_inv_test=files.sarcos_rows(200))
    return tmp_path / "data"


def test_a_baseline_learns_from_all_training_rows_and_is_measured_in_the_files_units(
    robot: Path,
) -> None:
    given = baselines.Settings("sarcos", "linear", 80, place=Place(robot))
    found = baselines.train(given, lambda line: None)
    data = load_data(settings_of(data="sarcos", data_dir=str(robot), train_size=80))
    scale = data.arrays.y_scale
    x, y = (
        np.concatenate([getattr(part, name).numpy() for part in (data.train, data.validation)])
        for name in ("x", "targets")
    )
    predicted = LinearRegression().fit(x, y).predict(data.test.x.numpy())
    wrong = scale.inverse(predicted) - scale.inverse(data.test.targets.numpy())
    assert found["test"]["mse"] == pytest.approx((wrong**2).mean(), rel=1e-4)
    assert found["sizes"] == {"train": 80, "validation": 0, "test": 40}
    assert found["details"] == {"parameters": 22 * 7}


@pytest.mark.parametrize("model", ["forest", "boosting"])
def test_the_parameters_of_trees_are_thresholds_features_and_leaves(
    robot: Path, model: str
) -> None:
    given = baselines.Settings("sarcos", model, 20, place=Place(robot))
    found = json.loads(json.dumps(baselines.train(given, lambda line: None)))
    leaf = 7 if model == "forest" else 1  # numbers
    trees = 200 if model == "forest" else 700
    # Of each tree, one leaf more than questions.
    assert (found["details"]["parameters"] - leaf * trees) % (2 + leaf) == 0
    assert found["details"]["parameters"] > leaf * trees


def test_a_baseline_is_kept_for_the_same_data_and_refused_for_other(
    robot: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    given = [*LINEAR, "--data-dir", str(robot), "--out", str(tmp_path / "out")]
    assert main([*given, "--train-size", "80"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main([*given, "--train-size", "80"]) == 0
    again = capsys.readouterr().out
    assert json.loads(again.splitlines()[-1])["rows"] == first["rows"]
    assert main(["evaluate", str(tmp_path / "out" / "sarcos-linear-0")]) == 2
    assert "'linear', a model that is not kept: its figures are in" in capsys.readouterr().err
    assert main([*given, "--train-size", "100"]) == 2
    assert (
        "was trained with train-size 80, not 100; name another folder with --out"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("data", "preset", "known"),
    [("mnist", "sarcos", "mnist_a, mnist_b, mnist_c"), ("sarcos", "mlp", "sarcos")],
)
def test_a_tree_that_the_paper_has_not_got_is_refused(
    data: str, preset: str, known: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    command = ["reproduce", "neural-tree", "--table", "3", "--data", data, "--primitives", preset]
    assert main([*command, "--out", str(tmp_path / "out")]) == 2
    expected = f"the paper has no {preset} for {data}; expected some of {known}"
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
