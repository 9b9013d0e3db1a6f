"""The models that ``reproduce neural-tree --table 3`` compares with, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import array_files as files
import numpy as np
import pytest
import torch
from commands import call, refused
from neural_tree_runs import mnist, settings_of
from sklearn.linear_model import LinearRegression

from structnet.datasets import sarcos
from structnet.neural_tree.cost import count_parameters
from structnet.recipes.neural_tree import baselines
from structnet.recipes.neural_tree.data import load_data
from structnet.recipes.neural_tree.settings import Rows
from structnet.recipes.recipe import Place
from structnet.recipes.run import Run

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
    given = baselines.Settings("sarcos", "linear", Rows(train_size=80), place=Place(robot))
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


@pytest.mark.parametrize(
    ("model", "leaf", "trees"),  # numbers of a leaf
    [("forest", 7, 200), ("boosting", 1, 700), ("boosting30", 1, 210), ("decision-tree", 7, 1)],
)
def test_the_parameters_of_trees_are_thresholds_features_and_leaves(
    robot: Path, model: str, leaf: int, trees: int
) -> None:
    given = baselines.Settings("sarcos", model, Rows(train_size=20), place=Place(robot))
    found = json.loads(json.dumps(baselines.train(given, lambda line: None)))
    # Of each tree, one leaf more than questions.
    assert (found["details"]["parameters"] - leaf * trees) % (2 + leaf) == 0
    assert found["details"]["parameters"] > leaf * trees


@pytest.mark.parametrize(
    ("name", "shape", "count"),
    [
        ("linear", (1, 28, 28), 7_850),
        ("mlp2", (1, 28, 28), 1_275_200 + 800 + 800 + 10),  # the paper counts no biases
        ("lenet", (1, 28, 28), 431_080),
        ("all-cnn", (3, 32, 32), 1_369_738),
    ],
)
def test_networks_have_the_parameters_of_the_paper(
    name: str, shape: tuple[int, ...], count: int
) -> None:
    network = baselines.network_of(name, shape, 10)
    assert count_parameters(network) == count
    assert network(torch.zeros(2, *shape)).shape == (2, 10)


@pytest.mark.parametrize("name", ["linear", "forest", "histograms"])
def test_models_of_images_learn_from_those_of_a_tree(name: str, tmp_path: Path) -> None:
    rows = Rows(train_size=300, test_size=100, learn_size=200 if name == "linear" else None)
    place, epochs = Place(mnist(tmp_path / "data")), 15 if name == "linear" else None
    found = baselines.train(
        baselines.Settings("mnist", name, rows, epochs, place=place), lambda line: None
    )
    assert found["test"]["accuracy"] > 0.8  # each digit has a place of its own
    learnt, held = (200, 30) if name == "linear" else (300, 0)
    assert found["sizes"] == {"train": learnt, "validation": held, "test": 100}
    if name == "linear":
        assert found["details"] == {"parameters": 7_850}
        whole = settings_of(data="mnist", data_dir=str(place.data_dir), train_size=300)
        some = replace(whole, rows=replace(whole.rows, learn_size=200))
        parts = [load_data(settings) for settings in (whole, some)]
        assert torch.equal(parts[0].validation.x, parts[1].validation.x)
        assert torch.equal(parts[0].train.x[:200], parts[1].train.x)


def test_a_class_without_training_rows_leaves_the_others_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = mnist(tmp_path / "data")
    data = load_data(settings_of(data="mnist", data_dir=str(data_dir), train_size=300))
    others = [
        part[np.flatnonzero(part.targets.numpy() != 4)] for part in (data.train, data.validation)
    ]
    without = replace(data, train=others[0], validation=others[1])
    monkeypatch.setattr("structnet.recipes.neural_tree.data.load_data", lambda settings: without)
    given = baselines.Settings("mnist", "forest", Rows(train_size=300), place=Place(data_dir))
    found = baselines.train(given, lambda line: None)
    share = (data.test.targets != 4).double().mean().item()
    assert share - 0.1 < found["test"]["accuracy"] <= share < 1


def test_a_baseline_is_kept_for_the_same_data_and_refused_for_other(
    robot: Path, tmp_path: Path
) -> None:
    given = [*LINEAR, "--data-dir", robot, "--out", tmp_path / "out"]
    first, again = (call(*given, "--train-size", 80) for _ in range(2))
    assert again.json["rows"] == first.json["rows"]
    err = refused("evaluate", tmp_path / "out" / "sarcos-linear-0")
    assert "its model 'linear' is not stored, only its figures in" in err
    err = refused(*given, "--train-size", 100)
    assert "was trained with train-size 80, not 100; choose another folder with --out" in err


@pytest.mark.parametrize(
    ("data", "preset", "known"),
    [("mnist", "sarcos", "mnist_a, mnist_b, mnist_c"), ("sarcos", "mlp", "sarcos")],
)
def test_a_tree_that_the_paper_has_not_got_is_refused(
    data: str, preset: str, known: str, tmp_path: Path
) -> None:
    command = ["reproduce", "neural-tree", "--table", "3", "--data", data, "--primitives", preset]
    err = refused(*command, "--out", tmp_path / "out")
    assert f"the paper has no {preset} for {data}; expected some of {known}" in err
    assert not (tmp_path / "out").exists()


def test_trees_of_sarcos_learn_from_the_rows_held_out_in_the_end(
    robot: Path, tmp_path: Path
) -> None:
    given = ["--data-dir", robot, "--out", tmp_path / "out", "--train-size", "80"]
    short = ["--epochs", "1", "--refine-epochs", "4", "--max-leaves", "1", "--only", "full"]
    notes = call(*LINEAR[:6], *given, *short).json["notes"]
    said = "refinement: 4 epochs, then at most 2 epochs with the validation examples, too;"
    assert any(said in note for note in notes)
    run = Run(tmp_path / "out" / "sarcos-full-0")
    losses = [each["validation_loss"] for each in run.history if each["phase"] == "refine"]
    last = min(2, 1 + losses.index(min(losses)))  # epochs that refinement needed
    assert run.history["phase"][-4 - last :] == ["refine"] * 4 + ["finish"] * last
    details, seconds = run.result["details"], run.history["seconds"]
    assert details["refine_epochs"] == 4 + last
    assert details["refine_seconds"] == round(sum(seconds[-4 - last :]), 1)
    data = load_data(settings_of(data="sarcos", data_dir=str(robot), train_size=80))
    joined = data.everything()
    assert len(data.train) == 72 and len(joined) == 80
    assert torch.equal(joined.x[72:], data.validation.x)
    assert torch.equal(joined.targets[72:], data.validation.targets)
