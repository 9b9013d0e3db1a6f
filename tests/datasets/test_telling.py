"""Columns tell something if they explain more than in random orders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from structnet.datasets import table
from structnet.datasets.telling import tell


@pytest.mark.parametrize("classes", [True, False])
def test_noise_tells_as_rarely_as_is_said(classes: bool) -> None:
    random, told = np.random.default_rng(0), 0
    for _ in range(200):
        x, z = random.normal(size=(60, 4)), random.normal(size=(60, 2))
        told += tell(x, z.argmax(1) if classes else z)
    assert told <= 12  # four are expected


@pytest.mark.parametrize("classes", [True, False])
def test_one_column_of_several_is_enough(classes: bool) -> None:
    random = np.random.default_rng(1)
    x = np.column_stack([1e6 + random.normal(size=(300, 3)), np.ones(300)])
    y = x[:, [1]] - 1e6 + random.normal(size=(300, 1))
    assert tell(x, (y[:, 0] > 0).astype(int) if classes else y)


def test_dates_that_tell_nothing_are_left_out(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    lines = ["when,seen,x,kind"]
    for hour in random.integers(0, 24, 200):
        noon = "day" if 8 <= hour < 20 else "night"
        date = f"2024-05-{random.integers(1, 29):02d}"
        lines.append(f"2024-05-01 {hour:02d}:00,{date},{random.normal():.2f},{noon}")
    path = tmp_path / "seen.csv"
    path.write_text("\n".join([*lines, ""]))
    found = table.load(path)
    hours = ("when (hour)", "when (hour, sine)", "when (hour, cosine)")
    assert found.features == ("when (year)", *hours, "x")
    assert found.encoding is not None and list(found.encoding.lines()) == [
        "dates: 'when' (year, hour)",
        "left out: 'seen' (dates that tell nothing of the target)",
    ]
