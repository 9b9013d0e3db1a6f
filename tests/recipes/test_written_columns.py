"""Runs on a table of prices with marks and signs, through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import SMALL, ran, refused

from structnet.recipes.run import Run

NAMES = "fläche;anteil;preis\n"


def german(value: float, sign: str = "") -> str:
    return f"{value:,.2f}{sign}".translate(str.maketrans(",.", ".,"))


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on prices, and beside it the same rows as plain numbers."""
    folder, rng = tmp_path_factory.mktemp("homes"), np.random.default_rng(0)
    area, share = rng.uniform(500, 3000, 200).round(2), rng.integers(1, 90, 200)
    price = (3 * area - 10 * share).round(2)
    rows = list(zip(area, share, price, strict=True))
    written = [f"{german(a)};{s} %;{german(p, ' €')}\n" for a, s, p in rows]
    plain = [f"{a};{s};{p}\n" for a, s, p in rows]
    for name, lines in (("written", written), ("plain", plain)):
        (folder / f"{name}.csv").write_text(NAMES + "".join(lines), encoding="utf-8")
        data = ["--data", folder / f"{name}.csv", "--out", folder / name]
        ran("train", "neural-tree", *data, *SMALL)
    return folder


def measures(run: Path, *words: Any) -> dict:
    return ran("evaluate", run, *words).json["test"]


def answers(run: Path, *words: Any) -> list[Any]:
    return ran("predict", run, *words).json["answers"]


def test_a_run_is_that_on_the_plain_numbers(homes: Path) -> None:
    assert measures(homes / "written") == measures(homes / "plain")
    data = Run(homes / "written").config["data"]
    assert data["classes"] is None and data["written"] == ["", "€", ",", True]
    new, plain = homes / "new.csv", homes / "new_plain.csv"
    new.write_text(NAMES + "1.500;12 %;1.500 €\n2.000,5;3 %;4.500,50 €\n", encoding="utf-8")
    plain.write_text(NAMES + "1500;12;1500\n2000.5;3;4500.5\n", encoding="utf-8")
    expected = measures(homes / "plain", "--data", plain)
    assert measures(homes / "written", "--data", new) == expected
    given = answers(homes / "plain", plain)
    assert answers(homes / "written", new) == given
    # The delimiter of rows that were typed is guessed; points between thousands are learned.
    for text in ("1.500;12 %", "fläche;anteil\n1.500;12 %", "anteil;fläche\n12 %;1.500"):
        assert answers(homes / "written", text) == given[:1]


def test_another_sign_is_an_error(homes: Path) -> None:
    said = refused("predict", homes / "written", "1.500;$12")
    assert "expected a number written as 12 %; got '$12'" in said
    new = homes / "dollars.csv"
    new.write_text(NAMES + "1.500;12 %;$1,500\n", encoding="utf-8")
    said = refused("evaluate", homes / "written", "--data", new)
    assert "line 2, column 3 ('preis'): expected a number written as 1.234,5 €; got '$1,50" in said


def test_plain_runs_are_described_as_before(homes: Path) -> None:
    assert "written" not in json.dumps(Run(homes / "plain").config["data"]["encoding"])
    assert "written" not in Run(homes / "plain").config["data"]


@pytest.mark.parametrize(
    ("model", "flags"), [("softmax-tree", ["--depth", 0]), ("label-tree", ["--epochs", 3])]
)
def test_classes_with_signs_are_kept(model: str, flags: list[Any], tmp_path: Path) -> None:
    prices = np.random.default_rng(0).uniform(500, 3000, 120).round(2)
    expensive = [("5 %", "19 %")[int(price > 1500)] for price in prices]
    rows = list(zip(prices, expensive, strict=True))
    (tmp_path / "plain.csv").write_text("x;y\n" + "".join(f"{x};{y}\n" for x, y in rows))
    text = "x;y\n" + "".join(f"{german(x, ' €')};{y}\n" for x, y in rows)
    for name in ("written", "test"):
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    found = []
    for name, test in (("plain", "plain"), ("written", "test")):
        files = ["--data", tmp_path / f"{name}.csv", "--test-file", tmp_path / f"{test}.csv"]
        ran("train", model, *files, *flags, "--out", tmp_path / name)
        found.append([measures(tmp_path / name)["accuracy"], answers(tmp_path / name, 1, 2, 3)])
        assert Run(tmp_path / name).config["data"]["classes"] == ["19 %", "5 %"]
    assert found[0] == found[1] and "written" not in Run(tmp_path / "written").config["data"]
    whole = measures(tmp_path / "written")["accuracy"]
    again = measures(tmp_path / "written", "--data", tmp_path / "test.csv")
    assert again["accuracy"] == whole
