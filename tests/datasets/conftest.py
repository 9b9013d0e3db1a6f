"""What the tests of data sets share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def at_hand(real_data: Path) -> Path:
    if not (real_data / "lrt" / "train0").exists():
        pytest.skip("the published files are not at hand")
    return real_data
