"""What several tests of recipes share."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import ran
from tree_files import SMALL, lines


@pytest.fixture(scope="session")
def classes_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on classes of trees; tests read it, and change copies of it."""
    folder = tmp_path_factory.mktemp("classes")
    (folder / "own.tsv").write_text(lines("classes"))
    ran("train", "tree-lstm", "--data", folder / "own.tsv", *SMALL, "--out", folder / "run")
    return folder / "run"
