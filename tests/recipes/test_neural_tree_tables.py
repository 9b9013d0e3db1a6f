"""The commands for neural trees of tables: other files to measure, paths, and units."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from array_files import sarcos_rows, write_sarcos
from commands import SMALL, call, ran, refused
from neural_tree_runs import of_run, trained

from structnet import NeuralTreeClassifier, NeuralTreeRegressor, plot
from structnet.datasets import sarcos
from structnet.datasets.csv_file import TableError, read
from structnet.datasets.table import class_numbers
from structnet.recipes import RECIPES
from structnet.recipes import rows as of_file
from structnet.recipes.neural_tree.answers import output
from structnet.recipes.neural_tree.settings import PATHS
from structnet.recipes.run import Run
from structnet.routing.words import in_digits
from structnet.training import CheckpointError

FEATURES = ("area", "age", "rooms")


class Houses(NamedTuple):
    """Houses with a price and a kind, and a tree that learnt to predict one of the two."""

    x: np.ndarray
    price: np.ndarray
    kind: np.ndarray
    run: Path

    def write(self, path: Path, *columns: str, header: bool = True) -> Path:
        """The houses as a file of these columns."""
        known = {name: self.x[:, i] for i, name in enumerate(FEATURES)}
        known |= {"price": self.price, "kind": self.kind, "comment": ["-"] * len(self.x)}
        lines = [",".join(columns)] if header else []
        lines += [",".join(map(str, row)) for row in zip(*map(known.get, columns), strict=True)]
        path.write_text("\n".join(lines) + "\n")
        return path


@pytest.fixture(scope="module", params=["price", "kind"])
def houses(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Houses:
    folder = tmp_path_factory.mktemp(request.param)
    x = np.random.default_rng(0).normal(50, 9, (120, 3))
    # Two straight lines, and what lies beyond two of them: a tree without transformers splits.
    far = abs(x[:, 0] - x[:, 1])
    found = Houses(x, 1000 * far + 7e4, np.where(far > 9, "old", "new"), folder / "run")
    file = found.write(folder / "houses.csv", "comment", "area", request.param, "age", "rooms")
    given = [
        "--target",
        request.param,
        "--without",
        "comment",
        "--no-transformers",
        "--max-leaves",
        "2",
    ]
    given += ["--epochs", "10", "--refine-epochs", "2", "--learning-rate", "0.1"]
    given += ["--batch-size", "16", "--out", found.run]
    ran("train", "neural-tree", "--data", file, *given)
    return found


def predicted(houses: Houses) -> np.ndarray:
    """What the tree predicts for all houses: prices, or places of kinds."""
    known = of_run(houses.run).arrays
    order = [FEATURES.index(name) for name in known.features]
    x = torch.from_numpy(known.x_scale(houses.x).astype(np.float32)[:, order])
    found = output(trained(houses.run), x).numpy()
    return found.argmax(1) if known.y_scale is None else known.y_scale.inverse(found)[:, 0]


def test_the_estimator_of_a_run_knows_its_columns_and_rows(houses: Houses) -> None:
    prices = Run(houses.run).config["data"]["classes"] is None
    kind = NeuralTreeRegressor if prices else NeuralTreeClassifier
    model = kind.load(houses.run / "model.safetensors")
    assert model.feature_names_in_.tolist() == list(of_run(houses.run).arrays.features)
    assert model.settings_.max_leaves == 2 and model.settings_.batch_size == 16
    order = [FEATURES.index(name) for name in model.feature_names_in_]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = model.predict(houses.x[:, order])
    expected = predicted(houses)
    if prices:
        assert found == pytest.approx(expected, rel=1e-4)
        assert 7e4 < model.arrivals_["mean"][0, 0] < 9e4
    else:
        assert (found == np.array(["new", "old"])[expected]).all()
    assert model.arrivals_["share"][0] == 1 and len(model.arrivals_["share"]) == 3
    text = model.export_text()
    assert "100.0 % of training samples" in text and "area" in text


def test_a_tree_is_measured_on_another_file(houses: Houses, tmp_path: Path) -> None:
    target = Run(houses.run).config["data"]["targets"][0]
    columns = ["rooms", "comment", target, "area", "age"]  # in another order, and one more
    done = ran("evaluate", houses.run, "--data", houses.write(tmp_path / "new.csv", *columns))
    assert (done.json["sizes"], done.json["data"]) == ({"test": 120}, str(tmp_path / "new.csv"))
    if target == "price":
        expected = ((predicted(houses) - houses.price) ** 2).mean()
    else:
        expected = (np.array(["new", "old"])[predicted(houses)] == houses.kind).mean()
    metric = "mse" if target == "price" else "accuracy"
    assert expected > 0 and expected != 1
    assert done.json["test"][metric] == pytest.approx(expected, rel=1e-4)
    ways, more = [f"{metric}_{path}" for path in PATHS[1:]], {}
    if target == "price":
        r2 = 1 - expected / houses.price.var()
        more = {"r2": pytest.approx(r2, rel=1e-4), "rmse": pytest.approx(expected**0.5, rel=1e-4)}
        assert f"rmse: {in_digits(expected**0.5)}\n" in done.out
    assert {name: done.json["test"][name] for name in more} == more
    assert list(done.json["test"]) == [*more, metric, *ways]
    one = call("evaluate", houses.run, "--data", tmp_path / "new.csv", "--path", "greedy").json
    greedy = f"{metric}_greedy"
    assert one["test"][greedy] == pytest.approx(done.json["test"][greedy])
    assert list(one["test"]) == [*(f"{name}_greedy" for name in more), greedy]


def test_without_names_the_columns_are_those_of_the_training(
    houses: Houses, tmp_path: Path
) -> None:
    file = houses.write(tmp_path / "bare.csv", *FEATURES, header=False)
    assert len(call("predict", houses.run, file).json["answers"]) == 120
    target = Run(houses.run).config["data"]["targets"][0]
    assert f"no column '{target}'" in refused("evaluate", houses.run, "--data", file)


def test_rows_are_predicted_from_the_standard_input(
    houses: Houses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = houses.write(tmp_path / "new.csv", *FEATURES)
    expected = ran("predict", houses.run, file).json["answers"]
    for text, size in (
        (file.read_text(), 120),
        (file.read_text().replace(",", "\t"), 120),
        (file.read_text().splitlines()[1], 1),  # without names
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert ran("predict", houses.run).json["answers"] == expected[:size]
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert ran("predict", houses.run, "-").json["answers"] == expected[:size]
    monkeypatch.setattr("sys.stdin", io.StringIO("area,age\n1,2\n"))
    assert "error: the input has no column 'rooms', a feature" in refused("predict", houses.run)
    monkeypatch.setattr("sys.stdin", io.StringIO("1 2 3 " * 1000))
    assert len(refused("predict", houses.run)) < 400


def test_labels_of_rows_are_left_out(houses: Houses, tmp_path: Path) -> None:
    file = houses.write(tmp_path / "new.csv", *FEATURES)
    labelled = [f"{i - 1 if i else ''},{row}" for i, row in enumerate(file.read_text().split())]
    (tmp_path / "labelled.csv").write_text("\n".join(labelled))
    expected = ran("predict", houses.run, file).json["answers"]
    assert ran("predict", houses.run, tmp_path / "labelled.csv").json["answers"] == expected


def test_rows_can_be_typed_after_the_run(houses: Houses, tmp_path: Path) -> None:
    file = houses.write(tmp_path / "new.csv", *FEATURES)
    names, *rows = file.read_text().splitlines()[:4]
    expected = ran("predict", houses.run, file).json["answers"][:3]
    assert ran("predict", houses.run, *rows).json["answers"] == expected
    assert ran("predict", houses.run, names, *rows).json["answers"] == expected
    (below,) = ran("predict", houses.run, "-" + rows[0]).json["answers"]
    assert below != expected[0]  # a negative number is no flag
    assert "unknown flag -x" in refused("predict", houses.run, "-x,1,2")
    place = "error: the input, line 2, column 1: expected a number; got 'x'"
    assert place in refused("predict", houses.run, rows[0], "x,1,2")
    for others in ((file,), ("17",)):
        said = refused("predict", houses.run, rows[0], *others)
        assert "expected one file, or rows, or numbers of examples; got" in said


def test_data_that_were_moved_are_found_in_the_folder_that_is_named(
    houses: Houses, tmp_path: Path
) -> None:
    run, file = tmp_path / "run", houses.run.parent / "houses.csv"
    shutil.copytree(houses.run, run)
    moved = (tmp_path / "data" / file.name, tmp_path / "data")
    expected = ran("evaluate", run).json["test"]
    moved[1].mkdir()
    file.rename(moved[0])
    try:
        assert "houses.csv: No such file" in refused("evaluate", run)
        assert ran("evaluate", run, "--data-dir", moved[1]).json["test"] == expected
        assert ran("predict", run, "3", "--data-dir", moved[1]).json["answers"]
        (run / "model.safetensors").unlink()  # as if it was interrupted
        (run / "result.json").unlink()
        assert ran("train", "--resume", run, "--data-dir", moved[1]).json["test"] == expected
        assert ran("evaluate", run).json["test"] == expected  # the run has learnt where they are
    finally:
        moved[0].rename(file)


def test_a_text_that_was_moved_is_the_same(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write_config({"model": "naru", "settings": {"a": 1}, "data": {"name": "/a/my.txt"}})
    run.check_same_data({"name": "/b/my.txt"})
    with pytest.raises(CheckpointError, match="other name than"):
        run.check_same_data({"name": "/a/other.txt"})


def test_a_target_is_left_out_of_what_is_predicted(tmp_path: Path) -> None:
    data = {"features": ["a", "a"], "targets": ["y"], "shape": [2], "classes": None}
    data |= {"x_scale": [[0.0, 0.0], [1.0, 1.0]]}
    path = tmp_path / "new.csv"
    path.write_text("a,y,a\n1,-,2\n")
    assert of_file.inputs(read(path), data).tolist() == [[1, 2]]
    data["features"] = ["a", "y"]  # the target is another column of this name
    path.write_text("a,y\n1,2\n")
    assert of_file.inputs(read(path), data).tolist() == [[1, 2]]


def test_a_place_says_which_column_of_a_file_without_names_is_the_target(tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("1,2,3\n4,5,6\n")
    data = {"features": ["a", "b"], "targets": ["c"], "shape": [2]}
    places = []
    for chosen in ("1", None):
        target = of_file.target_place(read(path), chosen, data)
        places.append((target, of_file.columns(read(path), data, target)))
    assert places == [(0, [1, 2]), (2, [0, 1])]
    path.write_text("1,2\n")
    with pytest.raises(TableError, match="has 2 columns; the tree takes 2 features and the column"):
        of_file.columns(read(path), data, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("area,age,price,kind\n1,2,3,new\n", "has no column 'rooms', a feature of the tree"),
        ("area,age,rooms\n1,2,3\n", "which the tree predicts; expected one"),
        ("area,age,rooms,price,kind\n", "has a header and no rows"),
        ("area,age,rooms,price,kind\n1,2,two,3,new\n", "line 2, column 3 ('rooms'): expected a n"),
        ("area,age,rooms,price,kind\n1,2,3,,\n", "the column to predict, has no value in"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(
    houses: Houses, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text(text)
    err = refused("evaluate", houses.run, "--data", tmp_path / "new.csv")
    assert f"{tmp_path / 'new.csv'}" in err and message in err


def test_only_tables_are_read(houses: Houses, tmp_path: Path) -> None:
    err = refused("evaluate", houses.run, "--data", tmp_path / "new.txt")
    assert "--data must be FILE.csv, like " in err
    err = refused("evaluate", houses.run, "--data", tmp_path / "new.csv")
    assert "new.csv: No such file" in err


def test_numbers_of_classes_are_compared_by_value() -> None:
    texts = ["5.0", "3", "5", "x"]
    assert class_numbers(texts, ["3", "5"]).tolist() == [1, 0, 1, -1]
    assert class_numbers(texts, ["x", "5"]).tolist() == [-1, -1, 1, 0]


@pytest.mark.parametrize("path", PATHS)
def test_predict_goes_the_way_it_is_told(houses: Houses, path: str, tmp_path: Path) -> None:
    data, tree = of_run(houses.run), trained(houses.run)
    test = data.test[np.array([3])]
    done = ran("predict", houses.run, "3", "--path", path)
    found = done.json["answers"][0]
    expected = output(tree, test.x, path).numpy()
    if data.arrays.classes is None:
        price = data.arrays.y_scale.inverse(expected)[0, 0]
        assert found["values"] == {"price": pytest.approx(price)}
    else:
        assert found["probability"] == pytest.approx(np.exp(expected.max()))
    one_leaf = "greedy" if path in ("multi", "stochastic") else path
    if path != "stochastic":
        assert found["leaf"] == int(tree.apply_path(test.x, one_leaf))
    told = path not in ("multi", "greedy")
    assert (f"by the path {path}: leaf {found['leaf']}, " in done.out) == told
    assert done.json["asked"]["path"] == path


def test_the_paths_lead_to_different_predictions(houses: Houses, tmp_path: Path) -> None:
    assert trained(houses.run).num_leaves == 2
    file = houses.write(tmp_path / "new.csv", *FEATURES)
    found = [
        call("predict", houses.run, file, "--path", path).json["answers"]
        for path in ("multi", "greedy", "least_likely")
    ]
    assert found[0] != found[1] and found[1] != found[2]
    assert found[0] == call("predict", houses.run, file).json["answers"]


def test_targets_are_told_and_drawn_in_their_units(
    houses: Houses, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, drawn = Run(houses.run), []
    data = of_run(houses.run)
    text = (houses.run / "summary.txt").read_text()
    monkeypatch.setattr(
        plot, "plot_model_tree", lambda told, **names: drawn.extend([told.samples, told])
    )
    RECIPES["neural-tree"]().work.pictures(run, data, (), None)["tree.png"]()
    assert drawn[1].feature_names == data.arrays.features
    rows = drawn[1].units(data.test.x.double().numpy())
    assert rows == pytest.approx(data.arrays.x_scale.inverse(data.test.x.double().numpy()))
    if data.arrays.classes is not None:
        assert torch.equal(drawn[0].targets, data.test.targets)
        assert "of them class new" in text
        return
    prices = data.arrays.y_scale.inverse(data.test.targets.numpy())
    assert f" 100.0 % of samples, mean {in_digits(prices.mean())}\n" in text
    assert drawn[0].targets.numpy() == pytest.approx(prices)
    assert drawn[0].x is data.test.x


def test_a_number_is_explained_with_its_name_and_all_that_adds_up_to_it(houses: Houses) -> None:
    target = Run(houses.run).config["data"]["targets"][0]
    done = ran("predict", houses.run, "3")
    lines = dict(line.split(": ", 1) for line in done.out.splitlines()[1:-1] if ": " in line)
    kept = [name.strip().partition(" ")[0] for name in lines if name.startswith("  ")]
    assert {*FEATURES, "an"} <= {*kept}
    if target == "price":
        price = done.json["answers"][0]["values"]["price"]
        assert lines["of all leaves"] == f"price {in_digits(price)}" == f"price {price:.0f}"
        told = sum(float(value) for name, value in lines.items() if name.startswith("  "))
        assert told == pytest.approx(price, rel=0, abs=5)


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run of a tree that predicts the seven torques of a robot arm."""
    monkeypatch.setattr(sarcos, "verify", lambda source, path: None)
    write_sarcos(tmp_path / "data", sarcos_inv_test=sarcos_rows(200))
    given = ["--data", "sarcos", "--data-dir", tmp_path / "data", "--out", tmp_path / "run"]
    small = [*SMALL, "--primitives", "mlp", "--width", "4", "--max-leaves", "2"]
    ran("train", "neural-tree", *given, *small)
    return tmp_path / "run"


def test_each_of_several_targets_has_its_name(robot: Path) -> None:
    done = ran("predict", robot, "5")
    found, names = done.json["answers"][0], list(sarcos.TARGETS)
    assert [list(found[what]) for what in ("values", "true")] == [names, names]
    lines = dict(line.split(": ", 1) for line in done.out.splitlines() if ": " in line)
    said = ", ".join(f"{name} {in_digits(value)}" for name, value in found["values"].items())
    assert lines["of all leaves"] == said
    for what in ("its prediction", "true"):
        assert [part.rpartition(" ")[0] for part in lines[what].split(", ")] == names


def test_a_target_without_a_name_has_its_number(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    np.savetxt(tmp_path / "bare.csv", rows, delimiter=",")
    given = ["--data", tmp_path / "bare.csv", "--out", tmp_path / "run", "--primitives", "mlp"]
    ran("train", "neural-tree", *given, *SMALL, "--width", "4", "--max-leaves", "1")
    out = ran("predict", tmp_path / "run", "5").out
    for what in ("its prediction", "of all leaves", "true"):
        assert f"\n{what}: target 1 " in out


def test_data_that_are_no_table_have_no_other_file(robot: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("1,2\n")
    err = refused("evaluate", robot, "--data", tmp_path / "new.csv")
    expected = "this one was trained on sarcos and is measured on its test data\n"
    assert "--data is for runs on a file" in err and err.endswith(expected)
