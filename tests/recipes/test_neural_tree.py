"""Runs of neural trees by the commands, in this process at tiny sizes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from alike import assert_same_model, assert_same_weights
from commands import SMALL, Done, call, ran, refused
from neural_tree_runs import DIGITS, grown, of_run, settings_of, trained
from tree_lstm_runs import is_picture, without_times

from structnet.neural_tree import NeuralTreeSettings, refine, train
from structnet.neural_tree import training as library_training
from structnet.recipes.neural_tree import runs
from structnet.recipes.neural_tree.answers import measured, output
from structnet.recipes.neural_tree.settings import PATHS
from structnet.recipes.run import Run
from structnet.recipes.words import counted
from structnet.routing.visits import shares
from structnet.training.checkpoint import load_model
from structnet.training.history import History
from structnet.training.metrics import accuracy, evaluate


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("digits") / "run"
    return folder, call(*DIGITS, "--out", folder)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A table of numbers, far from mean 0 and deviation 1, and the run that learnt from it."""
    folder = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    x = rng.normal(50, 9, (120, 3))
    price = 1000 * (x[:, 0] - x[:, 1] + rng.normal(0, 3, 120)) + 7e4
    lines = ["area,age,price,rooms"]
    lines += [f"{a},{b},{p},{c}" for (a, b, c), p in zip(x, price, strict=True)]
    (folder / "houses.csv").write_text("\n".join(lines))
    command = ["train", "neural-tree", "--data", folder / "houses.csv", "--target", "price"]
    ran(*command, *SMALL, "--max-leaves", "2", "--width", "4", "--out", folder / "run")
    return folder / "houses.csv", folder / "run"


def test_the_run_folder(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    assert (done.status, done.err) == (0, "")
    pictures = {"classes.png", "growth.png", "leaves.png", "tree.png", "tree_grown.png"}
    pictures |= {"refinement.png"}
    assert {path.name for path in folder.iterdir()} == pictures | {
        "config.json",
        "growth.safetensors",
        "history.jsonl",
        "model.safetensors",
        "refinement",
        "result.json",
        "summary.txt",
    }
    assert all(is_picture(folder / name) for name in pictures)
    assert done.json == json.loads((folder / "result.json").read_text())
    ways = {f"accuracy_{path}" for path in PATHS[1:]}
    assert done.json["test"].keys() == {"accuracy", *ways}
    assert (
        (folder / "summary.txt")
        .read_text()
        .startswith(f"{done.json['details']['leaves']} leaves, depth ")
    )


def test_every_decision_is_told(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    assert "decision " not in done.out
    told = [line for line in done.progress if " parameters, " in line]
    decisions = load_model(folder / "growth.safetensors")[1]["decisions"]
    assert len(told) == len(decisions) == done.json["details"]["decisions"]
    for line, decision in zip(told, decisions, strict=True):
        assert f"node {decision['node']}: " in line
        assert f"{decision['parameters']:,} parameters" in line
        for kind, loss in decision["candidates"].items():
            assert f"{kind} {loss:.4f}" in line


def test_the_history_holds_all_phases(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    phases = [record["phase"] for record in History.load(folder / "history.jsonl")]
    assert phases[0] == "root" and phases[-2:] == ["refine", "refine"] and "split" in phases
    details = done.json["details"]
    assert len(phases) == details["growth_epochs"] + details["refine_epochs"]


def test_the_scores_are_those_of_the_saved_tree(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    data, details = of_run(folder), done.json["details"]
    right = evaluate(trained(folder), data.test, metrics={"accuracy": accuracy})["accuracy"]
    assert done.json["test"]["accuracy"] == pytest.approx(right)
    before = measured(grown(folder), data.test, data.describe())
    assert details["before_refinement"]["test"] == pytest.approx(before)
    assert details["parameters"] == sum(p.numel() for p in trained(folder).parameters())


def test_the_command_and_the_library_train_the_same_tree(digits: tuple[Path, Done]) -> None:
    folder, _ = digits
    data, settings = of_run(folder), settings_of(**Run(folder).config["settings"])
    root = runs.root_of(settings, data.describe())
    own = {"gain_errors": 0, "min_gain": 0.0, "learning_rate": 1e-3}
    told = NeuralTreeSettings(max_leaves=3, epochs=2, refine_epochs=2, **own)
    found = train(root, told, data.train, data.validation).tree
    assert_same_weights(found, trained(folder))


@pytest.mark.parametrize("phase", ["growth", "refinement"])
def test_a_run_that_was_stopped_goes_on_to_the_same_tree(
    digits: tuple[Path, Done], phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Run.write_history

    def interrupted(run: Run, records: History) -> None:
        write(run, records)
        last = records[-1]
        if last["phase"] == "refine" if phase == "refinement" else last["decision"] == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Run, "write_history", interrupted)
    stopped = call(*DIGITS, "--out", tmp_path / "run")
    assert stopped.status == 130
    assert f"structnet train --resume {tmp_path / 'run'}" in stopped.err
    monkeypatch.undo()
    done = ran("train", "--resume", tmp_path / "run")
    assert without_times(done.json) == without_times(digits[1].json)
    assert_same_model(tmp_path / "run", digits[0])
    records = [History.load(f / "history.jsonl") for f in (tmp_path / "run", digits[0])]
    assert records[0]["validation_loss"] == records[1]["validation_loss"]


def test_no_epoch_is_the_best_if_none_was_better_than_the_grown_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing = partial(torch.optim.SGD, lr=0.0)
    monkeypatch.setattr(
        library_training,
        "refine",
        lambda *args, **how: refine(*args, **how | {"optimizer": standing}),
    )
    done = ran(*DIGITS, "--out", tmp_path)
    details = done.json["details"]
    assert (details["best_refine_epoch"], details["refine_epochs"]) == (None, 2)
    assert details["before_refinement"]["test"] == done.json["test"]
    assert set(call("plot", tmp_path).json) >= {"growth", "tree"}


def test_a_large_gain_is_never_made(digits: tuple[Path, Done], tmp_path: Path) -> None:
    assert digits[1].json["details"]["leaves"] > 1
    done = ran(*DIGITS, "--min-gain", "50", "--out", tmp_path)
    assert done.json["details"]["leaves"] == 1
    assert Run(tmp_path).config["settings"]["min_gain"] == 50


def test_no_branch_is_left_to_few(digits: tuple[Path, Done], tmp_path: Path) -> None:
    told = digits[1].json["details"]["leaves"]
    done = ran(*DIGITS, "--prune", "0.999", "--out", tmp_path)
    assert told > done.json["details"]["leaves"] == grown(tmp_path).num_leaves == 1
    assert "pruning: 1 of 1 leaf stay\n" in done.out
    tree, whole, data = trained(digits[0]), grown(digits[0]), of_run(digits[0])
    assert shares(tree, data.train)[tree.topology.leaves].min() >= 0.01
    assert f"pruning: {told} of {counted(whole.num_leaves, 'leaf', 'leaves')} stay\n" in (
        digits[1].out
    )


def test_evaluate_gives_the_scores_of_the_training(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    whole, expected = call("evaluate", folder), done.json["test"]
    assert whole.json["test"] == pytest.approx(expected)
    one = call("evaluate", folder, "--path", "greedy")
    assert one.json["test"] == {"accuracy_greedy": pytest.approx(expected["accuracy_greedy"])}
    assert "--path" in call("evaluate", folder, "--help").out


def test_plot_draws_the_same_pictures(digits: tuple[Path, Done], tmp_path: Path) -> None:
    done = ran("plot", digits[0], "--out", tmp_path)
    names = {"growth", "tree_grown", "tree", "refinement", "leaves", "classes"}
    assert set(done.json) == names
    assert all(is_picture(Path(path)) for path in done.json.values())


def test_predict_tells_the_decisions_for_a_test_example(digits: tuple[Path, Done]) -> None:
    folder, _ = digits
    done = call("predict", folder, "5")
    test, tree = of_run(folder).test[np.array([5])], trained(folder)
    (found,) = done.json["answers"]
    assert found["class"] == str(int(output(tree, test.x).argmax()))
    assert found["true"] == str(int(test.targets))
    assert found["leaf"] == int(tree.apply_path(test.x))
    assert f"leaf {found['leaf']}, reached with" in done.out
    assert "0 to 59; got '60'" in call("predict", folder, "60").err
    assert "leave out '5'" in call("plot", folder, "5").err


def test_a_table_is_predicted_in_its_own_units(table: tuple[Path, Path], tmp_path: Path) -> None:
    folder = table[1]
    data = of_run(folder)
    # The columns in another order, and one more.
    row = data.arrays.x_scale.inverse(data.test.x[:1].numpy())[0]
    (tmp_path / "new.csv").write_text(f"age,comment,rooms,area\n{row[1]},0,{row[2]},{row[0]}\n")
    (found,) = call("predict", folder, tmp_path / "new.csv").json["answers"]
    expected = data.arrays.y_scale.inverse(output(trained(folder), data.test.x[:1]).numpy())
    assert found["values"] == {"price": pytest.approx(float(expected[0, 0]), rel=1e-4)}
    (tmp_path / "short.csv").write_text("age,area\n1,2\n")
    assert "no column 'rooms'" in call("predict", folder, tmp_path / "short.csv").err


@pytest.mark.parametrize("command", [["evaluate"], ["plot"], ["predict"], ["train", "--resume"]])
def test_data_that_changed_are_said_in_one_short_line(
    table: tuple[Path, Path], command: list[str]
) -> None:
    file, folder = table
    before = file.read_text()
    file.write_text(f"{before}\n1,2,3,4\n")
    err = refused(*command, folder, *(["5"] if command == ["predict"] else []))
    file.write_text(before)
    assert f"the data are not those of {folder}: other train, x_scale, y_scale, encoding" in err
    assert "{" not in err


def test_a_squared_error_is_in_the_units_of_the_file(table: tuple[Path, Path]) -> None:
    data, result = of_run(table[1]), Run(table[1]).result
    predicted, true = (
        data.arrays.y_scale.inverse(part.numpy())
        for part in (output(trained(table[1]), data.test.x), data.test.targets)
    )
    assert result["test"]["mse"] == pytest.approx(((predicted - true) ** 2).mean())


def test_modules_for_images_refuse_rows(table: tuple[Path, Path], tmp_path: Path) -> None:
    command = ["train", "neural-tree", "--data", table[0], "--primitives", "conv"]
    assert "is for images" in refused(*command, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_file_or_numbers_are_asked_for(digits: tuple[Path, Done]) -> None:
    err = refused("predict", digits[0], "c.csv", "3")
    assert "one file, or rows, or numbers of examples; got 'c.csv 3'" in err
