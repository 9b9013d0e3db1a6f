"""Columns with heavy tails, and sparse counts, scaled as by the estimators."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from commands import ran, refused
from scipy.sparse import csr_matrix, issparse

from structnet.datasets.arrays import set_aside
from structnet.estimators.counts import CountStandardizer, learned_scale
from structnet.estimators.tails import BentStandardizer
from structnet.recipes.recipe import Place
from structnet.recipes.run import Run
from structnet.recipes.softmax_tree.data import load_data
from structnet.recipes.softmax_tree.settings import SoftmaxTreeRunSettings
from structnet.recipes.softmax_tree.work import read

RNG, Y = np.random.default_rng(1), np.arange(90) % 3
TAILS = np.stack([np.exp(4 * Y + RNG.normal(size=90)), RNG.normal(size=90)], axis=1).round(3)
TAILS[0, 0] = 1e6  # far out, on the side of its class or not
COUNTS = RNG.geometric(0.6, size=(90, 4)) * (RNG.random((90, 4)) < 0.5) + np.eye(4)[Y + 1]
FEW = ["--depth", "1", "--k", "3", "--max-iter", "3"]


@pytest.fixture(params=["tails.csv", "counts.svm"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A table of a heavy tail, or sparse counts."""
    path = tmp_path / request.param
    if path.suffix == ".csv":
        rows = zip(TAILS.tolist(), Y.tolist(), strict=True)
        path.write_text("size,height,kind\n" + "".join(f"{a!r},{b!r},k{c}\n" for (a, b), c in rows))
    else:
        parts = (" ".join(f"{i}:{v:g}" for i, v in enumerate(row, 1) if v) for row in COUNTS)
        path.write_text("".join(f"{c} {row}\n" for c, row in zip(Y.tolist(), parts, strict=True)))
    return path


def full(x: csr_matrix | np.ndarray) -> np.ndarray:
    return x.toarray() if issparse(x) else np.asarray(x)


def test_a_run_scales_as_the_estimators_do(file: Path, tmp_path: Path) -> None:
    ran("train", "softmax-tree", "--data", file, *FEW, "--out", tmp_path / "run")
    run, table = Run(tmp_path / "run"), file.suffix == ".csv"
    settings = run.settings(SoftmaxTreeRunSettings)
    arrays, learn = load_data(settings).arrays, set_aside(file, 90, 0.2, 0, Y)[0]
    x, every = (TAILS[learn], TAILS) if table else (COUNTS[learn], COUNTS)
    expected = learned_scale(x if table else csr_matrix(x), Y[learn])
    assert isinstance(expected, BentStandardizer if table else CountStandardizer)
    assert not expected.linear
    np.testing.assert_allclose(full(arrays.x_train), expected(x), atol=1e-5)
    # A user's file and the run's own rows are scaled as those of the training.
    np.testing.assert_allclose(full(read(run, str(file), Place()).x), expected(every), atol=1e-5)
    assert ran("evaluate", run, "--data", file).json["test"]["accuracy"] > 0.6
    assert ran("evaluate", run).json["sizes"] == {"test": len(arrays.y_test)}
    assert len(ran("predict", run, file).json["answers"]) == 90


def test_reasons_have_the_names_and_numbers_of_the_file(file: Path, tmp_path: Path) -> None:
    ran("train", "softmax-tree", "--data", file, *FEW, "--out", tmp_path / "run")
    table = file.suffix == ".csv"
    kept = np.random.default_rng(0).permutation(set_aside(file, 90, 0.2, 0, Y)[1])
    seen = set()
    for number, row in enumerate((TAILS if table else COUNTS)[kept]):
        words = ran("predict", tmp_path / "run", str(number)).out
        for name, value in re.findall(r"(\w+) = ([^\s:]+)", words):
            column = ["size", "height"].index(name) if table else int(name)
            assert float(value) == pytest.approx(row[column], rel=1e-3, abs=0)
            seen.add(name)
        assert " as size = " in words if table else " as feature " in words
    assert seen == set(["size", "height"] if table else "0123")


def test_it_can_be_left_out_and_is_where_there_is_no_file(file: Path, tmp_path: Path) -> None:
    how = ["--data", file, *FEW, "--bend", "False", "--out", tmp_path / "run"]
    ran("train", "softmax-tree", *how)
    config = tmp_path / "run" / "config.json"
    assert json.loads(config.read_text())["data"]["x_scale"][2:] == []
    assert SoftmaxTreeRunSettings(str(file)).rows.bend is None
    assert not SoftmaxTreeRunSettings("digits").resolved().rows.bend
    said = refused("train", "softmax-tree", "--data", "digits", "--bend", "True")
    assert "--bend is for a file, FILE.csv or FILE.svm, not digits" in said
