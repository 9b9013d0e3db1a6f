"""The commands for neural trees, run in this process at tiny sizes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import SMALL, Done, call

from structnet.cli.names import PATHS
from structnet.cli.neural_tree import pictures, rows, training
from structnet.cli.neural_tree.data import load_data, shifted_and_mirrored
from structnet.cli.neural_tree.flags import BASELINES
from structnet.cli.neural_tree.measure import ensemble_error, errors, output
from structnet.cli.neural_tree.paper import ABLATIONS, ENSEMBLES, TREES
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.neural_tree.settings import LATER, PRESETS, RECIPES, VARIANTS, settings_of
from structnet.cli.words import counted
from structnet.datasets.csv_file import TableError, read
from structnet.neural_tree import prune, refine
from structnet.neural_tree import tree as library
from structnet.neural_tree.presets import PRESETS as LIBRARY_PRESETS
from structnet.training.checkpoint import load_model
from structnet.training.history import History
from structnet.training.metrics import accuracy, evaluate

ROOT = Path(__file__).parents[2]
SIZES = ["--train-size", "200", "--test-size", "60"]
DIGITS = ["train", "neural-tree", "--data", "digits", *SIZES, *SMALL, "--width", "4"]
DIGITS += ["--max-leaves", "3", "--no-transformers"]


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("digits") / "run"
    return folder, call(*DIGITS, "--out", folder)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A table of numbers, far from mean 0 and deviation 1, and the run that learnt from it."""
    folder = tmp_path_factory.mktemp("table")
    x = np.random.default_rng(0).normal(50, 9, (120, 3))
    price = 1000 * (x[:, 0] - x[:, 1]) + 7e4
    lines = ["area,age,price,rooms"]
    lines += [f"{a},{b},{p},{c}" for (a, b, c), p in zip(x, price, strict=True)]
    (folder / "houses.csv").write_text("\n".join(lines))
    command = ["train", "neural-tree", "--data", folder / "houses.csv", "--target", "price"]
    done = call(*command, *SMALL, "--max-leaves", "2", "--width", "4", "--out", folder / "run")
    assert done.status == 0, done.err
    return folder / "houses.csv", folder / "run"


def mnist(folder: Path) -> Path:
    """A file of MNIST's form: each digit a bar at a place of its own, some pixels wrong."""
    rng, arrays = np.random.default_rng(0), {}
    for part, size in (("train", 60_000), ("test", 10_000)):
        y = np.arange(size, dtype=np.uint8) % 10
        x = np.zeros((size, 28, 28), np.uint8)
        x[np.arange(size), 4 + 2 * y.astype(int), 4:24] = 200
        x[np.arange(size), rng.integers(0, 28, size), rng.integers(0, 28, size)] = 255
        arrays |= {f"x_{part}": x, f"y_{part}": y}
    folder.mkdir()
    np.savez_compressed(folder / "mnist.npz", **arrays)
    return folder


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[list, Path, Done]:
    folder = tmp_path_factory.mktemp("reproduced")
    given = ["--data-dir", mnist(folder / "data"), *SIZES, "--epochs", "1", "--refine-epochs", "1"]
    given += ["--out", folder / "out"]
    done = call("reproduce", "neural-tree", "--table", "6", "--seeds", "2", *given)
    return given, folder / "out", done


def without_times(result: dict) -> dict:
    times = ("growth_seconds", "refine_seconds", "run")
    return {name: value for name, value in result.items() if name not in times}


def is_picture(path: Path) -> bool:
    return path.read_bytes()[:4] == b"\x89PNG"


def test_what_the_parser_knows_without_torch_is_what_there_is() -> None:
    assert PATHS == library.PATHS
    assert set(PRESETS) == {*LIBRARY_PRESETS, "mlp", "conv"}
    assert set(TREES) == set(ABLATIONS) == set(LIBRARY_PRESETS)
    assert set(ENSEMBLES) <= set(TREES)
    assert all(set(each) == set(VARIANTS) - {"full"} for each in ABLATIONS.values())


@pytest.mark.parametrize("command", ["train", "reproduce"])
def test_help_explains_without_importing_anything_heavy(command: str) -> None:
    code = (
        f"import sys; from structnet.cli import main; main(['{command}', 'neural-tree', '-h']); "
        "sys.exit(bool({'torch', 'dgl', 'numba', 'numpy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"  structnet {command} neural-tree --" in done.stdout


def test_the_run_folder(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    assert (done.status, done.err) == (0, "")
    pictures = {"classes.png", "growth.png", "leaves.png", "tree.png", "tree_grown.png"}
    assert {path.name for path in folder.iterdir()} == pictures | {
        "config.json",
        "growth.safetensors",
        "history.jsonl",
        "model.safetensors",
        "refine",
        "result.json",
        "summary.txt",
    }
    assert all(is_picture(folder / name) for name in pictures)
    assert done.json == json.loads((folder / "result.json").read_text())
    assert done.json["test_error"].keys() == set(PATHS)
    assert (folder / "summary.txt").read_text().startswith(f"{done.json['leaves']} leaves, depth ")


def test_every_decision_is_told(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    told = [line for line in done.out.splitlines() if line.startswith("decision ")]
    decisions = load_model(folder / "growth.safetensors")[1]["decisions"]
    assert len(told) == len(decisions) == done.json["decisions"]
    for line, decision in zip(told, decisions, strict=True):
        assert f"node {decision['node']}: " in line
        assert f"{decision['parameters']:,} parameters" in line
        for kind, loss in decision["candidates"].items():
            assert f"{kind} {loss:.4f}" in line


def test_the_history_holds_all_phases(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    phases = [record["phase"] for record in History.load(folder / "history.jsonl")]
    assert phases[0] == "root" and phases[-2:] == ["refine", "refine"] and "split" in phases
    assert len(phases) == done.json["growth_epochs"] + done.json["refine_epochs"]


def test_the_errors_are_those_of_the_saved_tree(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    run = TreeRun(folder)
    data = load_data(run.config["settings"])
    right = evaluate(run.tree(), data.test, metrics={"accuracy": accuracy})["accuracy"]
    assert done.json["test_error"]["multi"] == pytest.approx(100 * (1 - right))
    before = errors(run.grown_tree(), data.test, run.config["data"])
    assert done.json["before_refinement"]["test_error"] == pytest.approx(before)
    assert done.json["parameters"] == sum(p.numel() for p in run.tree().parameters())


def test_validation_is_held_out_of_training_and_never_tested() -> None:
    settings = settings_of({"data": "digits", "train_size": 100, "test_size": 50, "seed": 3})
    data = load_data(settings)
    assert [len(part) for part in (data.train, data.validation, data.test)] == [90, 10, 50]
    rows = [{row.numpy().tobytes() for row in part.x} for part in (data.train, data.validation)]
    assert not rows[0] & rows[1]
    known = {row.tobytes() for row in data.arrays.x_train}
    assert rows[0] | rows[1] <= known


@pytest.mark.parametrize("phase", ["growth", "refinement"])
def test_a_run_that_was_stopped_goes_on_to_the_same_tree(
    digits: tuple[Path, Done], phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = {"growth": "_in_words", "refinement": "_epoch_in_words"}[phase]
    tell, calls = getattr(training, name), []

    def interrupted(*args: object) -> str:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return tell(*args)

    monkeypatch.setattr(training, name, interrupted)
    stopped = call(*DIGITS, "--out", tmp_path / "run")
    assert stopped.status == 130
    assert f"structnet train --resume {tmp_path / 'run'}" in stopped.err
    monkeypatch.undo()
    done = call("train", "--resume", tmp_path / "run")
    assert done.status == 0, done.err
    assert without_times(done.json) == without_times(digits[1].json)
    found, expected = (
        load_model(f / "model.safetensors")[0] for f in (tmp_path / "run", digits[0])
    )
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[key], expected[key]) for key in expected)
    records = [History.load(f / "history.jsonl") for f in (tmp_path / "run", digits[0])]
    assert records[0]["validation_loss"] == records[1]["validation_loss"]


@pytest.mark.parametrize("broken", ["plot_growth", "plot_neural_tree"])
def test_a_picture_that_fails_does_not_lose_the_result(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("no room for it")

    monkeypatch.setattr(pictures, broken, fail)
    done = call(*DIGITS, "--out", tmp_path)
    assert done.status == 0
    assert done.json == TreeRun(tmp_path).result
    names = {"plot_growth": ["growth.png"], "plot_neural_tree": ["tree_grown.png", "tree.png"]}
    assert done.err.splitlines() == [
        f"structnet: warning: {name} was not drawn: RuntimeError: no room for it; try again with: "
        f"structnet plot {tmp_path}"
        for name in names[broken]
    ]
    assert [name for name in names[broken] if (tmp_path / name).exists()] == []
    assert is_picture(tmp_path / "classes.png")
    with pytest.raises(RuntimeError, match="no room for it"):
        call("plot", tmp_path)


def test_no_epoch_is_the_best_if_none_was_better_than_the_grown_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing = partial(torch.optim.SGD, lr=0.0)
    monkeypatch.setattr(
        training, "refine", lambda *args, **how: refine(*args, **how | {"optimizer": standing})
    )
    done = call(*DIGITS, "--out", tmp_path)
    assert done.status == 0, done.err
    assert (done.json["best_refine_epoch"], done.json["refine_epochs"]) == (None, 2)
    assert done.json["before_refinement"]["test_error"] == done.json["test_error"]
    assert set(call("plot", tmp_path).json) >= {"growth", "tree"}


def test_a_large_gain_is_never_made(digits: tuple[Path, Done], tmp_path: Path) -> None:
    assert digits[1].json["leaves"] > 1
    done = call(*DIGITS, "--min-gain", "50", "--out", tmp_path)
    assert done.status == 0, done.err
    assert done.json["leaves"] == 1
    assert TreeRun(tmp_path).config["settings"]["min_gain"] == 50


def test_branches_that_few_take_are_cut_in_the_end(
    digits: tuple[Path, Done], tmp_path: Path
) -> None:
    done = call(*DIGITS, "--prune", "0.999", "--out", tmp_path)
    assert done.status == 0, done.err
    run, whole = TreeRun(tmp_path), TreeRun(digits[0])
    data = load_data(run.config["settings"])
    expected = prune(whole.tree(), data.train, 0.999)
    assert expected.num_leaves < whole.tree().num_leaves
    assert done.json["leaves"] == run.tree().num_leaves == expected.num_leaves
    before = counted(whole.tree().num_leaves, "leaf", "leaves")
    assert f"pruning: {expected.num_leaves} of {before} stay\n" in done.out
    assert torch.equal(output(run.tree(), data.test), output(expected, data.test))
    assert run.grown_tree().num_leaves == whole.grown_tree().num_leaves
    again = call("evaluate", tmp_path).json["test_error"]
    assert again == pytest.approx(done.json["test_error"])


def test_a_run_from_before_a_setting_has_what_it_then_was(
    digits: tuple[Path, Done], tmp_path: Path
) -> None:
    run = TreeRun(shutil.copytree(digits[0], tmp_path / "run"))
    settings = dict(run.config["settings"])
    old = {name: value for name, value in settings.items() if name not in LATER}
    run.write("config.json", run.config | {"settings": old})
    run.refuse_other(settings)
    done = call("train", "--resume", run)
    assert done.status == 0, done.err
    assert without_times(done.json) == without_times(digits[1].json)
    with pytest.raises(ValueError, match=r"was trained with min-gain 0\.0, not 0\.5"):
        run.refuse_other({**settings, "min_gain": 0.5})


def test_evaluate_gives_the_errors_of_the_training(digits: tuple[Path, Done]) -> None:
    folder, done = digits
    whole = call("evaluate", folder)
    assert whole.json["test_error"] == pytest.approx(done.json["test_error"])
    one = call("evaluate", folder, "--path", "greedy", "--batch-size", "7")
    assert one.json["test_error"] == {"greedy": pytest.approx(done.json["test_error"]["greedy"])}


def test_plot_draws_the_same_pictures(digits: tuple[Path, Done], tmp_path: Path) -> None:
    done = call("plot", digits[0], "--out", tmp_path)
    assert done.status == 0, done.err
    assert set(done.json) == {"growth", "tree_grown", "tree", "leaves", "classes"}
    assert all(is_picture(Path(path)) for path in done.json.values())


def test_predict_tells_the_decisions_for_a_test_example(digits: tuple[Path, Done]) -> None:
    folder, _ = digits
    done = call("predict", folder, "5")
    run = TreeRun(folder)
    test = load_data(run.config["settings"]).test[np.array([5])]
    (found,) = done.json["predictions"]
    assert found["class"] == str(int(output(run.tree(), test).argmax()))
    assert found["true"] == str(int(test.targets))
    assert found["leaf"] == int(run.tree().apply_path(test.x))
    assert f"leaf {found['leaf']}, reached with" in done.out
    assert "0 to 59; got '60'" in call("predict", folder, "60").err


def test_a_table_is_predicted_in_its_own_units(table: tuple[Path, Path], tmp_path: Path) -> None:
    folder = table[1]
    run = TreeRun(folder)
    data = load_data(run.config["settings"])
    # The columns in another order, and one more.
    row = data.arrays.x_scale.inverse(data.test.x[:1].numpy())[0]
    (tmp_path / "new.csv").write_text(f"age,comment,rooms,area\n{row[1]},0,{row[2]},{row[0]}\n")
    (found,) = call("predict", folder, tmp_path / "new.csv").json["predictions"]
    expected = data.arrays.y_scale.inverse(output(run.tree(), data.test[np.array([0])]).numpy())
    assert found["values"] == {"price": pytest.approx(float(expected[0, 0]), rel=1e-4)}
    (tmp_path / "short.csv").write_text("age,area\n1,2\n")
    assert "no column 'rooms'" in call("predict", folder, tmp_path / "short.csv").err


@pytest.mark.parametrize(
    ("features", "header", "expected"),
    [
        (["b", "a"], "x,a,b", [2, 1]),
        (["a", "a"], "a,a", [0, 1]),
        (["a", "b"], "a,b,a", None),
        (["a", "a"], "a,b", None),
    ],
)
def test_the_columns_of_a_file_are_found_without_doubt(
    features: list[str], header: str, expected: list[int] | None, tmp_path: Path
) -> None:
    path = tmp_path / "new.csv"
    path.write_text(f"{header}\n{','.join('1' for _ in header.split(','))}\n")
    data = {"features": features, "shape": [2]}
    if expected is not None:
        assert rows.columns(read(path), data) == expected
        return
    with pytest.raises(TableError, match=r"new\.csv: there are several columns 'a'"):
        rows.columns(read(path), data)


@pytest.mark.parametrize("command", [["evaluate"], ["plot"], ["predict"], ["train", "--resume"]])
def test_data_that_changed_are_said_in_one_short_line(
    table: tuple[Path, Path], command: list[str]
) -> None:
    file, folder = table
    before = file.read_text()
    file.write_text(f"{before}\n1,2,3,4\n")
    done = call(*command, folder, *(["5"] if command == ["predict"] else []))
    file.write_text(before)
    assert done.status == 2
    assert f"the data at hand are not those of {folder}: other train, x_scale, y_scale" in done.err
    assert len(done.err.splitlines()) == 1 and "{" not in done.err


def test_a_squared_error_is_in_the_units_of_the_file(table: tuple[Path, Path]) -> None:
    run = TreeRun(table[1])
    data = load_data(run.config["settings"])
    predicted, true = (
        data.arrays.y_scale.inverse(part.numpy())
        for part in (output(run.tree(), data.test), data.test.targets)
    )
    assert run.result["unit"] == "mean squared error"
    assert run.result["test_error"]["multi"] == pytest.approx(((predicted - true) ** 2).mean())


def test_reproduce_compares_with_the_paper(reproduced: tuple[list, Path, Done]) -> None:
    _, out, done = reproduced
    assert done.status == 0, done.err
    row = done.json["rows"]["ANT-MNIST-C"]["error, least likely leaf"]
    assert row["paper"] == 98.84
    results = [TreeRun(out / f"mnist_c-full-{seed}").result for seed in (0, 1)]
    assert row["seeds"] == [result["test_error"]["least_likely"] for result in results]
    assert row["ours"] == pytest.approx(np.mean(row["seeds"]))
    assert row["deviation"] == pytest.approx(np.std(row["seeds"], ddof=1))
    text = (out / "table6-mnist.md").read_text()
    assert "| 98.84 |" in text and "180 examples to train on" in text
    assert is_picture(out / "table6-mnist.png")


def test_reproduce_trains_only_what_is_missing(
    reproduced: tuple[list, Path, Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = reproduced[0]
    trained, train = [], training.train_run
    monkeypatch.setattr(
        "structnet.cli.neural_tree.reproduce.train_run",
        lambda run, *args, **more: (trained.append(run.folder.name), train(run, *args, **more)),
    )
    only = ["--only", "full,no-routers"]
    done = call("reproduce", "neural-tree", "--table", "4", *only, *given)
    assert done.status == 0, done.err
    assert trained == ["mnist_c-no-routers-0"]
    rows = done.json["rows"]
    assert rows["ANT-MNIST-C: no routers (CNN)"]["error, all leaves"]["paper"] == 3.71
    assert rows["ANT-MNIST-C: no routers (CNN)"]["leaves"]["ours"] == 1
    differing = call("reproduce", "neural-tree", "--table", "6", *given, "--epochs", "2")
    assert differing.status == 2 and "was trained with epochs 1, not 2" in differing.err


@pytest.mark.parametrize("number", [3, 7, 8])
def test_the_tables_share_their_trees(reproduced: tuple[list, Path, Done], number: int) -> None:
    given, out, _ = reproduced
    done = call("reproduce", "neural-tree", "--table", number, "--seeds", "2", *given)
    assert done.status == 0, done.err
    assert done.out.count("done already") == 2
    runs = [TreeRun(out / f"mnist_c-full-{seed}") for seed in (0, 1)]
    if number == 3:
        sizes = done.json["rows"]["ANT-MNIST-C"]["parameters, one path"]
        assert sizes["paper"] == 7956
        assert sizes["seeds"] == [run.result["path_parameters"] for run in runs]
    if number == 7:
        flops = done.json["rows"]["ANT-MNIST-C"]["multiply-adds, all leaves"]["seeds"]
        assert flops == [run.result["flops"] / 2 for run in runs]
    if number == 8:
        test, data = load_data(runs[0].config["settings"]).test, runs[0].config["data"]
        proba = sum(output(run.tree(), test).exp() for run in runs)
        wrong = 100 * (proba.argmax(1) != test.targets).double().mean().item()
        row = done.json["rows"]["ANT-MNIST-C: 2 trees together"]["error, all leaves"]
        assert row["ours"] == pytest.approx(wrong)
        outputs = [output(run.tree(), test) for run in runs]
        assert ensemble_error(outputs, test.targets, data) == pytest.approx(wrong)


def test_an_image_is_shifted_and_mirrored_whole() -> None:
    torch.manual_seed(0)
    image = torch.zeros(1, 2, 12, 12)
    image[0, :, 5, 6] = torch.tensor([1.0, 2.0])  # one point, in two channels
    found = shifted_and_mirrored(image.repeat(300, 1, 1, 1))
    assert found.shape == (300, 2, 12, 12)
    assert torch.equal(2 * found[:, 0], found[:, 1])
    places = {tuple(place) for place in found[:, 0].nonzero()[:, 1:].tolist()}
    assert (found[:, 0].sum((1, 2)) == 1).all()
    rows, columns = ({place[i] for place in places} for i in (0, 1))
    assert rows == set(range(1, 10))
    assert columns == set(range(1, 11))  # 6 and its mirror image 5, each moved by at most 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train neural-tree", "name the data with --data"),
        ("train neural-tree --data letters", "must be one of digits, mnist"),
        ("train neural-tree --data digits --preset mnist_c --width 3", "--width is for"),
        ("train neural-tree --data digits --no-routers --no-transformers", "nothing to grow"),
        ("train neural-tree --data digits --target 3", "--target is for a table"),
        ("train neural-tree --data digits --train-size 9999", "9,999 were asked for"),
        (
            "train neural-tree --data digits --train-size 8",
            "digits has 10 classes; got 7 examples to train on, besides 1 for validation; "
            "expected at least 10, one of each class",
        ),
        ("train neural-tree --data digits --min-gain -1", "must be a number of at least 0"),
        ("train neural-tree --data digits --prune 5", "a number of at least 0 and at most 1"),
        ("train neural-tree --data digits --validation-fraction 0.0001", "is 0; expected at least"),
        ("reproduce neural-tree --table 5", "invalid choice: 5"),
        ("reproduce neural-tree --table 6 --only linear", "leaves nothing of table 6"),
        ("reproduce neural-tree --table 4 --preset mnist_z", "must name some of"),
    ],
)
def test_bad_arguments_are_said_in_one_line(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(*arguments.split())
    assert done.status == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_modules_for_images_refuse_rows(table: tuple[Path, Path], tmp_path: Path) -> None:
    command = ["train", "neural-tree", "--data", table[0], "--preset", "conv"]
    done = call(*command, "--out", tmp_path / "run")
    assert (done.status, "is for images" in done.err) == (2, True)
    assert not (tmp_path / "run").exists()


def test_a_run_keeps_its_settings(digits: tuple[Path, Done]) -> None:
    folder, _ = digits
    assert "holds a run already" in call(*DIGITS, "--out", folder).err
    done = call("train", "neural-tree", "--resume", folder, "--epochs", "7")
    assert (done.status, "started with epochs 2" in done.err) == (2, True)


def test_the_defaults_are_those_of_the_paper() -> None:
    assert {name: RECIPES[name].refine_epochs for name in ("sarcos", "mnist", "cifar10")} == {
        "sarcos": 300,
        "mnist": 100,
        "cifar10": 200,
    }
    settings = settings_of({"data": "mnist"})
    assert (settings["patience"], settings["batch_size"], settings["learning_rate"]) == (
        5,
        512,
        1e-3,
    )
    assert set(BASELINES) == {"linear", "mlp", "forest", "boosting"}
