"""What all tests share."""

from __future__ import annotations

import gc
import os
import urllib.request
from pathlib import Path

import dgl_marks
import pytest
import torch
import tyro  # noqa: F401 - it hashes all builtins, among which a doctest leaves the last array
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
# Taken before any test changes the environment.
REAL_DATA = os.environ.get("STRUCTNET_DATA")


def pytest_configure(config: pytest.Config) -> None:
    """Registers what holds for the doctests of the package as well."""
    config.pluginmanager.register(dgl_marks)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those of one aggregator follow each other within a file.

    Of two processes, each then compiles the loops of some aggregators, and not both those of all.
    """
    files = {path: i for i, path in enumerate(dict.fromkeys(item.path for item in items))}

    def place(item: pytest.Item) -> tuple[int, str]:
        given = getattr(item, "callspec", None) and item.callspec.params.get("configuration")
        return files[item.path], getattr(given, "aggregator", "")

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Modules and tests, which stay, are not looked through whenever garbage is looked for."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Models drawn in a test are the same whichever tests ran before it."""
    torch.manual_seed(0)


@pytest.fixture
def real_data() -> Path:
    """The folder of published data files; tests that need it are skipped where none is named."""
    if not REAL_DATA or not Path(REAL_DATA).is_dir():
        pytest.skip("no published data files; STRUCTNET_DATA names their folder")
    return Path(REAL_DATA)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no network."""

    def refuse(url: str, timeout: float) -> None:
        raise urllib.request.URLError("no network in tests")

    monkeypatch.setenv("STRUCTNET_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    return tmp_path / "cache"


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
    empty = torch.empty

    def poisoned(*size: object, **how: object) -> Tensor:
        x = empty(*size, **how)
        with torch.no_grad():
            return x.fill_(float("nan") if x.is_floating_point() else 2**40)

    monkeypatch.setattr(torch, "empty", poisoned)
