"""Files of rows with classes, as every family that predicts classes reads them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import ran, refused

QUICK = {
    "softmax-tree": ["--depth", 0, "--decision-penalty", 1e-3, "--leaf-penalty", 1e-3],
    "label-tree": ["--epochs", 2],
}
families = pytest.mark.parametrize("model", QUICK)


def sparse(path: Path, also: str = "") -> Path:
    rng = np.random.default_rng(0)
    kinds = rng.integers(1, 4, size=90)
    path.write_text("".join(f"{k} {k}:1.5 {rng.integers(4, 9)}:0.5{also}\n" for k in kinds))
    return path


@families
def test_columns_of_sparse_rows_that_a_run_does_not_know_are_left_out(
    model: str, tmp_path: Path
) -> None:
    known, more = sparse(tmp_path / "known.svm"), sparse(tmp_path / "more.svm", " 12:7 40:1")
    run = tmp_path / "run"
    ran("train", model, "--data", known, *QUICK[model], "--out", run)
    for verb, file in (("evaluate", "--data"), ("predict", "")):
        asked = [[verb, run, *filter(None, (file, each))] for each in (known, more)]
        expected, found = (ran(*words) for words in asked)
        assert f"{more}: 2 columns that the tree does not know are left out\n" in found.out
        key = "answers" if verb == "predict" else "sizes"
        assert found.json[key] == expected.json[key]


@families
def test_rows_to_test_on_may_have_a_file_of_their_own(model: str, tmp_path: Path) -> None:
    rows = [f"{i % 7}.5,{i % 3},{'ab'[i % 3 > 0]}\n" for i in range(60)]
    for name, part in (("train", rows[:40]), ("test", rows[40:])):
        (tmp_path / f"{name}.csv").write_text("x,y,kind\n" + "".join(part))
    words = ["--data", "train.csv", "--test-file", "test.csv", "--data-dir", tmp_path]
    done = ran("train", model, *words, *QUICK[model], "--out", tmp_path / "run")
    assert done.json["sizes"] == {"train": 40, "validation": 0, "test": 20}
    told = json.loads((tmp_path / "run" / "config.json").read_text())
    assert told["data"]["split"] == f"{tmp_path / 'test.csv'} for testing"


@families
@pytest.mark.parametrize(
    "prices", [range(200), np.arange(200) / 7, np.repeat([0.5, 1.25, 7.75], 30)]
)
def test_numbers_are_no_classes(model: str, prices: np.ndarray, tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(
        "size,price\n" + "".join(f"{i % 9},{price}\n" for i, price in enumerate(prices))
    )
    said = refused("train", model, "--data", file, "--out", tmp_path / "run")
    assert f"{file} has numbers to predict" in said


@families
def test_codes_are_classes_however_many_there_are(model: str, tmp_path: Path) -> None:
    file = tmp_path / "codes.csv"
    file.write_text("size,code\n" + "".join(f"{i % 40}.5,{1000 + i % 40}\n" for i in range(200)))
    done = ran("train", model, "--data", file, *QUICK[model], "--out", tmp_path / "run")
    assert "40 classes" in done.out
