"""The commands on label trees whose labels consist of several parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import call, ran


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kinds, in opposite corners of a square each."""
    rng, file = np.random.default_rng(0), tmp_path_factory.mktemp("tables") / "corners.csv"
    corners = rng.integers(2, size=(400, 2))
    x = corners * 4 + rng.normal(size=(400, 2))
    kinds = np.where(corners[:, 0] == corners[:, 1], "even", "odd")
    rows = [f"{a:.3f},{b:.3f},{kind}" for (a, b), kind in zip(x, kinds, strict=True)]
    file.write_text("\n".join(["a,b,kind", *rows]))
    return file


def test_a_run_tells_labels_by_their_parts(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = ran("train", "label-tree", "--data", table, "--parts", "2", "--out", folder)
    assert "for up to 2 parts of each label" in done.out
    assert done.json["test"]["accuracy"] > 0.9 and done.json["details"]["parts"] == 2
    assert "even, part 1" in (folder / "tree.txt").read_text()
    assert call("evaluate", folder).json["test"] == pytest.approx(done.json["test"])
    [answer] = call("predict", folder, "1").json["answers"]
    assert set(answer["labels"]) == {"even", "odd"}
    assert sum(answer["labels"].values()) == pytest.approx(1)
    [answer] = call("predict", folder, "1", "--threshold", "0.5").json["answers"]
    assert len(answer["labels"]) == 1
    whole = ran("train", "label-tree", "--data", table, "--parts", "1", "--out", tmp_path / "one")
    assert whole.json["test"]["accuracy"] < 0.75 and "parts of each" not in whole.out


def test_a_run_is_resumed_with_the_same_parts(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    how = ["--parts", "2", "--arity", "2", "--epochs", "3", "--learning-rate", "0.1"]
    done = ran("train", "label-tree", "--data", table, *how, "--out", folder).json
    (folder / "result.json").unlink()  # as where the run was stopped after its last epoch
    assert call("train", "--resume", folder).json["test"] == done["test"]
