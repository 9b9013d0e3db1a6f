"""Samples that several of these files learn from."""

from __future__ import annotations

import numpy as np
import pytest
from label_trees import planted


@pytest.fixture(scope="session")
def points() -> tuple[np.ndarray, np.ndarray]:
    x, y, _ = planted(3, 2, 4, 2000, seed=0)
    return x, np.array([f"group {k}" for k in y])
