"""Some of the attacks that ``run.py`` makes many of; and they find what they look for."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fresh_python import ROOT, python
from hostile_files import MAKERS, changed, damaged
from hostile_parsers import TARGETS
from hostile_texts import HangError, Target, failures

from structnet.parse import ParseError
from structnet.trees import Tree

HERE = Path(__file__).parent
forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes it has forked")


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_text_gives_trees_or_an_error_with_its_place(target: Target) -> None:
    assert list(failures(target, 0, 0, 1500)) == []


def test_both_trees_and_errors_are_seen() -> None:
    for target in TARGETS.values():
        seen = []
        counted = replace(target, compare=lambda *_, seen=seen: seen.append(1))
        assert list(failures(counted, 0, 0, 300)) == []
        assert 20 < len(seen) < 280, target.name


def _raises(error: BaseException) -> Any:
    def read(text: object, **_: object) -> list[Tree]:
        raise error

    return read


def _hangs(text: object, **_: object) -> list[Tree]:
    while True:
        pass


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (_raises(KeyError("x")), KeyError),
        (_raises(RecursionError()), RecursionError),
        (_raises(ParseError("bad", 999, 1, "")), AssertionError),
        (_raises(ParseError("bad", 1, 9, "")), AssertionError),
        (lambda text: [Tree(7)], AssertionError),
        (lambda text: [Tree("MAX", [Tree("x")])], ValueError),
        (_hangs, HangError),
    ],
)
def test_what_a_parser_may_not_do_is_found(
    read: Any, found: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostile_texts.SECONDS", 0.05)
    [(number, error)] = failures(replace(TARGETS["listops"], read=read), 0, 0, 1)
    assert (number, type(error)) == (0, found)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "model"])
def test_files_that_are_damaged_or_changed(name: str, tmp_path: Path) -> None:
    saved = MAKERS[name](tmp_path)
    whole = saved.path.read_bytes()
    bits = 8 * len(whole)
    assert list(damaged(saved, 0, bits, step=bits // 100)) == []
    assert list(changed(saved, 0, 0, 60)) == []
    assert saved.path.read_bytes() == whole


def test_a_file_without_a_hash_would_be_found(tmp_path: Path) -> None:
    saved = MAKERS["model"](tmp_path)
    careless = replace(saved, load=lambda: None, read=lambda path: None)
    assert [bit for bit, _ in damaged(careless, 0, 20)] == list(range(20))

    def raising() -> None:
        raise KeyError("size")

    assert [number for number, _ in changed(replace(saved, load=raising), 0, 0, 5)] == [*range(5)]


def run(log: Path, *arguments: str) -> dict[str, tuple[int, int]]:
    """What the long form has tried, and what of it failed."""
    done = python(HERE / "run.py", "--log", log, *arguments)
    assert done.returncode == 0, done.stderr
    entries = map(json.loads, done.stdout.splitlines())
    return {each["target"]: (each["tried"], each["failed"]) for each in entries}


@forking
def test_trainings_that_are_killed_or_fill_the_disk(tmp_path: Path) -> None:
    only = ["kills of fit", "full_disks of fit", "kills of save_model"]
    tried = run(tmp_path / "log", "--kills", "1", "--disks", "1", "--only", *only)
    assert tried == dict.fromkeys(only, (1, 0))


LOSING = """
import sys
from itertools import count
from pathlib import Path
from hostile_trainings import TRAININGS, full_disks
training, lost = TRAININGS["fit"](Path(sys.argv[1])), count()
training.kept = lambda folder: [next(lost)]
print(list(full_disks(training, 0, 0, 1)))
"""


@forking
def test_a_training_that_loses_something_is_found(tmp_path: Path) -> None:
    folders = os.pathsep.join(map(str, (ROOT, HERE, HERE.parent / "support")))
    done = python("-c", LOSING, tmp_path, PYTHONPATH=folders)
    assert done.stdout == "[(0, AssertionError('what was there is lost'))]\n", done.stderr


@forking
def test_the_long_form_goes_on_where_it_was(tmp_path: Path) -> None:
    log = tmp_path / "log"
    expected = {f"texts of {name}": (20, 0) for name in TARGETS}
    assert run(log, "--inputs", "20") == expected
    lines = log.read_text().splitlines()
    assert len(lines) == len(TARGETS)
    assert run(log, "--inputs", "20") == expected
    assert log.read_text().splitlines() == lines
