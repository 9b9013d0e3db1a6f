"""Runs on a table with dates: what depends on the time of the day and of the year is learned."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from commands import SMALL, ran, refused

from structnet.recipes.predictions import predict_with
from structnet.recipes.run import Run


@pytest.mark.parametrize("model", ["neural-tree", "softmax-tree", "label-tree"])
def test_a_class_by_season_and_hour_is_learned(model: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    hours = random.uniform(0, 2 * 365 * 24, 500)
    dates = [datetime(2022, 1, 1) + timedelta(hours=float(each)) for each in hours]
    lines = ["when,noise,kind"]
    for date in dates:
        kind = ("open" if 4 <= date.month <= 9 else "short") if 8 <= date.hour < 20 else "shut"
        lines.append(f"{date:%d/%m/%Y %H:%M},{random.normal():.3f},{kind}")
    file = tmp_path / "shop.csv"
    file.write_text("\n".join([*lines, ""]))
    given = SMALL if model == "neural-tree" else []
    done = ran("train", model, "--data", file, "--out", tmp_path / "run", *given)
    assert "dates: 'when' (year, month, weekday, hour)" in done.out
    assert done.json["test"]["accuracy"] > 0.8  # without dates .5, as all are shut half of the time
    assert Run(tmp_path / "run").config["data"]["encoding"][0]["dated"] == ["dmy", "/"]
    rows = "15/07/2025 12:00,0\n15/01/2025 12:00,0\n15/07/2025 02:00,0\n"
    found = predict_with(tmp_path / "run", "when,noise\n" + rows)
    assert [each["class"] for each in found] == ["open", "short", "shut"]
    said = refused("predict", tmp_path / "run", "when,noise\n2025-07-15,0\n")
    assert "expected a date written as 31/05/2024; got '2025-07-15'" in said
