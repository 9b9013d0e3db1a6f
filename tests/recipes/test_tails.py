"""Columns with heavy tails, and sparse counts, scaled as by the estimators."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from commands import SMALL, ran, refused
from scipy.sparse import csr_matrix, issparse

from structnet.datasets.arrays import set_aside
from structnet.estimators.counts import CountStandardizer, learned_scale
from structnet.estimators.tails import BentStandardizer
from structnet.recipes import RECIPES
from structnet.recipes.recipe import Place
from structnet.recipes.run import Run

RNG, Y = np.random.default_rng(1), np.arange(90) % 3
TAILS = np.stack([np.exp(4 * Y + RNG.normal(size=90)), RNG.normal(size=90)], axis=1).round(3)
TAILS[0, 0] = 1e6  # far out, on the side of its class or not
COUNTS = RNG.geometric(0.6, size=(90, 4)) * (RNG.random((90, 4)) < 0.5) + np.eye(4)[Y + 1]
FEW = {
    "neural-tree": [*SMALL, "--no-transformers", "--max-leaves", "2", "--batch-size", "32"],
    "softmax-tree": ["--depth", "1", "--k", "3", "--max-iter", "3"],
}


class Given(NamedTuple):
    """A file, the rows in it, and the model that learns from them."""

    model: str
    file: Path
    x: np.ndarray

    @property
    def learned(self) -> np.ndarray:
        """The places of the rows to learn from."""
        return set_aside(self.file, 90, 0.2, 0, None if self.file.stem == "depth" else Y)[0]

    def train(self, run: Path, *words: Any) -> Run:
        ran("train", self.model, "--data", self.file, *FEW[self.model], *words, "--out", run)
        return Run(run)


@pytest.fixture(
    params=[
        ("neural-tree", "kind.csv"),
        ("neural-tree", "depth.csv"),
        ("softmax-tree", "kind.csv"),
        ("softmax-tree", "counts.svm"),
    ],
    ids=" ".join,
)
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Given:
    """A table of a heavy tail with a class or a number to predict, or sparse counts of classes."""
    model, name = request.param
    path = tmp_path / name
    if name == "counts.svm":
        parts = (" ".join(f"{i}:{v:g}" for i, v in enumerate(row, 1) if v) for row in COUNTS)
        path.write_text("".join(f"{c} {row}\n" for c, row in zip(Y, parts, strict=True)))
        return Given(model, path, COUNTS)
    kinds = [f"k{kind}" for kind in Y]
    y = kinds if name == "kind.csv" else np.log(TAILS[:, 0]) + TAILS[:, 1]
    rows = [f"{a!r},{b!r},{c}\n" for (a, b), c in zip(TAILS.tolist(), y, strict=True)]
    path.write_text(f"size,height,{path.stem}\n" + "".join(rows))
    return Given(model, path, TAILS)


def full(x: Any) -> np.ndarray:
    return x.toarray() if issparse(x) else np.asarray(x)


def test_a_run_scales_as_the_estimators_do(given: Given, tmp_path: Path) -> None:
    run, recipe = given.train(tmp_path / "run"), RECIPES[given.model]()
    arrays = recipe.work.load(run.settings(recipe.Settings), print).arrays
    sparse = given.file.suffix == ".svm"
    x = given.x[given.learned]
    expected = learned_scale(csr_matrix(x) if sparse else x, arrays.y_train)
    assert isinstance(expected, CountStandardizer if sparse else BentStandardizer)
    assert not expected.linear
    np.testing.assert_allclose(full(arrays.x_train), expected(x), atol=1e-5)
    # A user's file and the run's own rows are scaled as those of the training.
    found = recipe.work.read(run, str(given.file), Place()).x
    np.testing.assert_allclose(full(found), expected(given.x), atol=1e-5)
    own, other = (ran("evaluate", run, *more).json for more in ((), ("--data", given.file)))
    assert (own["sizes"], other["sizes"]) == ({"test": 18}, {"test": 90})
    assert other["test"].get("accuracy", 1) > 0.6
    assert len(ran("predict", run, given.file).json["answers"]) == 90


def test_reasons_have_the_names_and_numbers_of_the_file(given: Given, tmp_path: Path) -> None:
    run = given.train(tmp_path / "run")
    names = ["size", "height"] if given.file.suffix == ".csv" else list("0123")
    tested = np.setdiff1d(np.arange(90), given.learned)
    seen = set()
    for number, place in enumerate(np.random.default_rng(0).permutation(tested)):
        words = ran("predict", run, str(number)).out
        for name, value in re.findall(r"(\w+) = ([^\s:]+)", words):
            column = names.index(name)
            assert float(value) == pytest.approx(given.x[place, column], rel=1e-3, abs=0)
            seen.add(name)
    assert seen == set(names)


def test_it_can_be_left_out_and_is_where_there_is_no_file(given: Given, tmp_path: Path) -> None:
    run, settings = tmp_path / "run", RECIPES[given.model]().Settings
    given.train(run, "--bend", "False")
    assert json.loads((run / "config.json").read_text())["data"]["x_scale"][2:] == []
    assert settings(str(given.file)).resolved().rows.bend
    assert not settings("digits").resolved().rows.bend
    said = refused("train", given.model, "--data", "digits", "--bend", "True")
    assert re.search(r"--bend is for a (table|file), FILE.csv.*, not digits", said)
