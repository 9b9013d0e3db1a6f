"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from torch import Tensor

# The same examples at every run; a slow machine is no failure.
settings.register_profile(
    "structnet",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("structnet")


# Two threads on tensors this small only wait for each other.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Models drawn in a test are the same whichever tests ran before it."""
    torch.manual_seed(0)


@pytest.fixture
def real_data() -> Path:
    """The folder of published data files; tests that need it are skipped where there is none."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("STRUCTNET_DATA", default))
    if not folder.is_dir():
        pytest.skip("the published data files are not here; set STRUCTNET_DATA")
    return folder


@pytest.fixture
def poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that was not written holds what spoils every sum."""
    monkeypatch.setattr(
        Tensor,
        "new_empty",
        lambda self, *size, **how: self.new_full(
            size[0] if len(size) == 1 and not isinstance(size[0], int) else size,
            float("nan") if self.is_floating_point() else 2**40,
            **how,
        ),
    )
