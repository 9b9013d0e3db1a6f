"""The help of the commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import call
from fresh_python import ROOT, python

from structnet.cli import CLOSED, FAILURE, main
from structnet.recipes import RECIPES
from structnet.recipes.execution import speaker

HEAVY = {"torch", "dgl", "numba", "numpy", "matplotlib"}


def test_help_is_silent_and_imports_nothing_heavy() -> None:
    models = [[verb, name] for verb in ("train", "reproduce") for name in RECIPES]
    asked = [[], ["train"], *models, ["data"], ["evaluate"]]
    code = f"""
import sys
from structnet.cli import main
for words in {asked}:
    main([*words, "--help"])
    if heavy := {HEAVY} & {{*sys.modules}}:
        sys.exit(f"{{words}} imports {{heavy}}")
"""
    done = python("-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    usages = [line for line in done.stdout.splitlines() if line.startswith("usage: structnet ")]
    assert len(usages) == len(asked)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("command", ["train", "reproduce"])
def test_a_models_help_says_what_each_flag_does(command: str, name: str) -> None:
    text = call(command, name, "--help").out
    assert f"  structnet {command} {name} --" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "default: none" not in text.lower() and "{None}" not in text
    assert "\nruntime options:\n" in text
    assert not re.search(r"^(place|rows|samples|sentences|sizes) options", text, re.MULTILINE)
    said = text.partition("\noptions:")[2].split("\n  --")[1:]
    assert len(said) > 8
    for flag in said:
        assert len(flag.split()) > 3, f"--{flag} is not explained"


@pytest.mark.parametrize("name", RECIPES)
def test_flags_that_turn_something_off_say_so(name: str) -> None:
    text = call("train", name, "--help").out
    for said in text.split("\n  --no-")[1:]:
        flag, *words = said.split()
        assert words[:2] == ["turns", "off:"] or words[0] == "without", f"--no-{flag}"


@pytest.mark.parametrize(
    "words",
    [*(("train", name) for name in RECIPES), *(("reproduce", name) for name in RECIPES), ("data",)],
)
def test_no_markup_is_shown_and_no_number_is_broken(words: tuple[str, ...]) -> None:
    text = call(*words, "--help").out
    assert "`" not in text
    assert not re.search(r"\d,\n +\d{3}\b", text)


def test_only_the_first_process_speaks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    speaker()("a line")
    assert capsys.readouterr().out == ""


def test_where_there_is_no_output_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it where it is closed
    assert main(["--version"]) == 0


@pytest.mark.parametrize("words", [["--help"], ["train", "naru", "--help"], ["data", "--help"]])
def test_who_stops_reading_hears_no_complaint(words: list[str]) -> None:
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-m", "structnet", *words], cwd=ROOT, **piped) as done:
        done.stdout.close()
        assert done.stderr.read() == b""
    assert done.returncode == CLOSED


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--version"], FAILURE, "structnet: error: the output: No space left on device\n"),
        (
            ["train", "--help"],
            FAILURE,
            "structnet train: error: [Errno 28] No space left on device\n",
        ),
    ],
)
def test_an_output_that_is_full(words: list[str], status: int, said: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "structnet", *words],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == status
    assert done.stderr.decode() == said
