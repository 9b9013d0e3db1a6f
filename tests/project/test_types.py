"""Types for the users of the library: they are shipped, and what silences a check says why."""

from __future__ import annotations

import re
from pathlib import Path

import structnet

PACKAGE = Path(structnet.__file__).parent


def test_the_package_says_that_it_has_types() -> None:
    assert (PACKAGE / "py.typed").read_text() == ""


def test_every_silenced_check_has_a_reason() -> None:
    silenced = [
        f"{path.name}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"#\s*type:\s*ignore", line)
    ]
    reasoned = re.compile(r"# type: ignore\[[a-z-]+\]  # \w.+")
    assert [line for line in silenced if not reasoned.search(line)] == []
