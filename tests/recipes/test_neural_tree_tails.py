"""Columns with heavy tails, bent as by the estimators."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import SMALL, ran, refused
from neural_tree_runs import of_run, settings_of, trained

from structnet.datasets.arrays import set_aside
from structnet.estimators.tails import BentStandardizer
from structnet.recipes.neural_tree.answers import output
from structnet.routing import Samples

SETTINGS = [*SMALL, "--no-transformers", "--max-leaves", "2", "--batch-size", "32"]
RNG = np.random.default_rng(0)
X = np.stack([np.exp(3 * RNG.normal(size=200)), RNG.normal(size=200)], axis=1)  # one heavy tail
FILES = {
    "kind": [("large", "small")[i] for i in (X[:, 0] < 1).astype(int)],
    "depth": np.log(X[:, 0]) + X[:, 1],
}


@pytest.fixture(params=list(FILES))
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of sizes, heights, and the kind or the depth to predict."""
    target = FILES[request.param]
    rows = [
        f"{size!r},{height!r},{y}" for (size, height), y in zip(X.tolist(), target, strict=True)
    ]
    path = tmp_path / f"{request.param}.csv"
    path.write_text("\n".join([f"size,height,{request.param}", *rows]))
    return path


def test_heavy_tails_are_bent_as_by_the_estimators(table: Path, tmp_path: Path) -> None:
    ran("train", "neural-tree", "--data", table, *SETTINGS, "--out", tmp_path / "run")
    arrays = of_run(tmp_path / "run").arrays
    x, y = arrays.x_scale.inverse(arrays.x_train.astype(float)), arrays.y_train
    expected = BentStandardizer.learned(x, y)
    assert [bend.column for bend in expected.bends] == [0]
    np.testing.assert_allclose(arrays.x_train, expected(x), atol=1e-5)
    # A file is predicted and measured with the curve of the training.
    found = ran("predict", tmp_path / "run", table).json["answers"]
    bent = torch.from_numpy(arrays.x_scale(X).astype(np.float32))
    predicted = output(trained(tmp_path / "run"), Samples(bent, bent)).numpy()
    if arrays.classes is None:
        values = arrays.y_scale.inverse(predicted.astype(float))[:, 0]
        assert [each["values"]["depth"] for each in found] == pytest.approx(values, abs=1e-5)
    else:
        names = [arrays.classes[i] for i in predicted.argmax(1)]
        assert [each["class"] for each in found] == names
    done = ran("evaluate", tmp_path / "run", "--data", table).json["test"]
    assert ran("evaluate", tmp_path / "run").json["test"].keys() == done.keys()


def test_reasons_have_the_names_and_numbers_of_the_file(tmp_path: Path) -> None:
    signs = np.array([-1, 1])[((X[:, 0] > 1) ^ (X[:, 1] > 0)).astype(int)]
    rows = [f"{a!r},{b!r},{sign}\n" for (a, b), sign in zip(X.tolist(), signs, strict=True)]
    file, run = tmp_path / "signs.csv", tmp_path / "run"
    file.write_text("size,height,sign\n" + "".join(rows))
    longer = ["--epochs", "20", "--no-transformers", "--max-leaves", "3", "--batch-size", "32"]
    ran("train", "neural-tree", "--data", file, *longer, "--out", run)
    test = set_aside(file, 200, 0.2, 0, signs)[1]
    seen = []
    for number, row in enumerate(X[np.random.default_rng(0).permutation(test)[:20]]):
        for name, value in re.findall(r"(\w+) = ([^\s:]+)", ran("predict", run, str(number)).out):
            column = ["size", "height"].index(name)
            assert float(value) == pytest.approx(row[column], rel=1e-3, abs=0)
            seen.append(name)
    assert min(seen.count("size"), seen.count("height")) > 2


def test_only_tables_are_bent() -> None:
    found = [settings_of(data=data).rows.bend for data in ("houses.csv", "sarcos", "digits")]
    assert found == [True, False, False]
    assert "--bend is for a table" in refused(
        "train", "neural-tree", "--data", "digits", "--bend", "True"
    )
