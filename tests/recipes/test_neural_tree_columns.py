"""The command leaves out the columns of a table that only add noise, as the estimators do."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from commands import SMALL, ran, refused
from neural_tree_runs import of_run, settings_of, trained

from structnet import NeuralTreeClassifier, NeuralTreeRegressor
from structnet.recipes.predictions import predict_with
from structnet.recipes.run import Run

NAMES = tuple(f"c{i}" for i in range(8))
KINDS = np.array(["elm", "oak"])


class Trees(NamedTuple):
    """Rows of eight columns, two of which tell the target, and a run that learned them."""

    file: Path
    x: np.ndarray
    y: np.ndarray
    run: Path
    said: str


@pytest.fixture(scope="module", params=["numbers", "classes"])
def trees(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trees:
    folder = tmp_path_factory.mktemp(request.param)
    random = np.random.default_rng(0)
    x = random.normal(size=(240, 8)).round(4) * 5 + 20
    x[:, 4] = np.exp(random.normal(size=240)).round(4)  # which is bent
    told = np.where(x[:, 4] > 1, x[:, 7] - 20, 20 - x[:, 7])
    numbers = request.param == "numbers"
    y = told * 3 + 100 if numbers else KINDS[(told > 0).astype(int)]
    rows = [",".join(map(str, (*row, target))) for row, target in zip(x.tolist(), y, strict=True)]
    file = folder / "trees.csv"
    file.write_text("\n".join([",".join((*NAMES, "target")), *rows, ""]))
    done = ran("train", "neural-tree", "--data", file, *SMALL, "--out", folder / "run")
    return Trees(file, x, y, folder / "run", done.out)


def estimator(trees: Trees) -> NeuralTreeClassifier | NeuralTreeRegressor:
    numbers = trees.y.dtype.kind == "f"
    kind = NeuralTreeRegressor if numbers else NeuralTreeClassifier
    return kind.load(trees.run / "model.safetensors")


def test_only_the_columns_that_tell_are_read(trees: Trees) -> None:
    assert "of these 8 columns, the tree reads 2: c4, c7; the others only add noise" in trees.said
    data = Run(trees.run).config["data"]
    assert (data["columns"], data["features"], data["shape"]) == ([4, 7], ["c4", "c7"], [2])
    assert trained(trees.run).shape == (2,)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_estimator_of_the_run_takes_all_columns(trees: Trees) -> None:
    model = estimator(trees)
    assert model.columns_ is not None and model.columns_.tolist() == [4, 7]
    assert model.feature_names_in_.tolist() == list(NAMES) and model.select_columns
    moved = trees.x[:20].copy()
    moved[:, [0, 6]] += 9  # columns that are not read
    np.testing.assert_array_equal(model.predict(moved), model.predict(trees.x[:20]))
    found = predict_with(trees.run, trees.file)[:20]
    if trees.y.dtype.kind == "f":
        given = [each["predicted target"] for each in found]
        assert given == pytest.approx(model.predict(trees.x[:20]), rel=1e-4)
    else:
        assert [each["class"] for each in found] == model.predict(trees.x[:20]).tolist()


def assert_as_in_the_file(trees: Trees, other: Path) -> None:
    """The predictions for a file of the first five rows are those for the file of all rows."""
    found, expected = (predict_with(trees.run, file)[:5] for file in (other, trees.file))
    for one, same in zip(found, expected, strict=True):
        assert one == {k: v if isinstance(v, str) else pytest.approx(v) for k, v in same.items()}


def test_columns_are_found_by_name_in_other_files(trees: Trees, tmp_path: Path) -> None:
    order = [*range(7, -1, -1)]
    rows = [",".join(map(str, row)) for row in trees.x[:5, order].tolist()]
    other = tmp_path / "other.csv"
    other.write_text("\n".join([",".join(NAMES[i] for i in order), *rows, ""]))
    assert_as_in_the_file(trees, other)


def test_columns_that_are_not_read_may_be_missing(trees: Trees, tmp_path: Path) -> None:
    rows = [f"{row[7]},{row[4]}" for row in trees.x[:5].tolist()]
    few, bare = tmp_path / "few.csv", tmp_path / "bare.csv"
    few.write_text("\n".join(["c7,c4", *rows, ""]))
    assert_as_in_the_file(trees, few)
    bare.write_text("c7,c3\n1,2\n")
    said = refused("predict", trees.run, bare)
    assert "has no column 'c4', a feature of the tree; expected c4, c7; got 'c7, c3'" in said


def test_the_run_tells_of_the_columns_that_it_reads(trees: Trees) -> None:
    assert "c4" in (trees.run / "summary.txt").read_text()
    said = ran("predict", trees.run, "3").out
    read = trees.x[np.array(of_run_places(trees))[3], 4]
    assert f"c4 = {read:.4g}" in said.replace(",", "")
    if trees.y.dtype.kind != "f":  # once is enough
        again = ran("evaluate", trees.run).json["test"]
        assert again == ran("train", "--resume", trees.run).json["test"]


def of_run_places(trees: Trees) -> list[int]:
    """The place in the file of each test example."""
    data = of_run(trees.run)
    assert data.arrays.x_test_read is not None
    read = data.arrays.x_test_read[data.places]
    return [int(np.flatnonzero((trees.x == row).all(1))[0]) for row in read]


def test_all_columns_can_be_kept(trees: Trees, tmp_path: Path) -> None:
    given = ["--select-columns", "False", "--out", tmp_path / "run"]
    done = ran("train", "neural-tree", "--data", trees.file, *SMALL, *given)
    assert (
        "the tree reads" not in done.out and "columns" not in Run(tmp_path / "run").config["data"]
    )
    assert trained(tmp_path / "run").shape == (8,)


def test_few_rows_of_many_columns_have_the_penalty_that_was_chosen_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structnet.neural_tree.columns.NUMBERS", 0)  # as if there were more
    random = np.random.default_rng(1)
    x = random.normal(size=(200, 120))
    y = KINDS[(x[:, [3, 9, 50, 99]].sum(1) > 0).astype(int)]
    rows = [
        ",".join([*(f"{number:.4f}" for number in row), k]) for row, k in zip(x, y, strict=True)
    ]
    (tmp_path / "rows.csv").write_text("\n".join([*rows, ""]))
    ran("train", "neural-tree", "--data", tmp_path / "rows.csv", *SMALL, "--out", tmp_path / "run")
    model = NeuralTreeClassifier.load(tmp_path / "run" / "model.safetensors")
    assert model.columns_ is not None and {3, 9, 50, 99} <= set(model.columns_.tolist())
    assert len(model.columns_) < 40
    assert model.settings_.strength == of_run(tmp_path / "run").strength is not None
    assert model.strength is None  # of the user


def test_columns_are_left_out_for_tables_alone() -> None:
    assert settings_of(data="rows.csv").rows.select_columns
    assert not settings_of(data="rows.csv", primitives="mlp").rows.select_columns
    assert not settings_of(data="digits").rows.select_columns
    given = ["train", "neural-tree", "--select-columns", "True", "--data"]
    assert "--select-columns is for a table, FILE.csv, not digits" in refused(*given, "digits")
    said = refused(*given, "rows.csv", "--primitives", "mlp")
    assert "--select-columns is for the modules table; the modules are mlp" in said
