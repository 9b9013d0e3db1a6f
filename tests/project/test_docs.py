"""What is written for users is true: README, guides, tutorials, docstrings, ``--help``."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import pydoc
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from commands import call, refused
from fresh_python import ROOT, python
from sklearn.base import BaseEstimator

import structnet
from structnet.cli.names import COMMANDS, chosen_recipe
from structnet.neural_tree.settings import NeuralTreeSettings

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "tutorials" / "guides").glob("*.md"))]
TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}
GUIDES = {page.stem: TEXT[page] for page in PAGES[1:]}
TUTORIALS = sorted((ROOT / "tutorials").glob("*.py"))
MADE = {"trees": {"tree.png", "history.png", "expressions.tsv"}}  # files, by a page's examples
MATCH = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(text: str, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language, each with the number of its first line."""
    fences = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in fences]


def run_block(page: Path, line: int, code: str, names: dict) -> None:
    """Executes a block; what it prints must be what stands behind its ``# ->``."""
    printed = io.StringIO()
    # Leading newlines make a traceback name the line of the page.
    program = compile("\n" * (line - 1) + code, str(page), "exec")
    with contextlib.redirect_stdout(printed):
        exec(program, names)
    expected = "".join(text.lstrip() + "\n" for text in re.findall(r"# ->(.*)", code))
    # Indentation is not compared.
    got = "".join(text.lstrip() + "\n" for text in printed.getvalue().splitlines())
    if not doctest.OutputChecker().check_output(expected, got, MATCH):
        pytest.fail(f"{page.name}, the block at line {line} prints\n{got}\ninstead of\n{expected}")


def commands(text: str) -> list[str]:
    """The lines of all shell blocks."""
    return [line for _, block in blocks(text, "sh") for line in block.splitlines() if line]


def all_commands() -> list[str]:
    """The commands of all pages, each once."""
    return list(dict.fromkeys(line for text in TEXT.values() for line in commands(text)))


def refusal(words: list[str]) -> str:
    """What the command says of words that name a device which there is not: nothing is run."""
    return refused(*words, "--device", "abacus")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(TEXT[page], "python")], ids=lambda page: page.stem
)
def test_examples_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page.stem}
    for line, code in blocks(TEXT[page], "python"):
        run_block(page, line, code, names)
    plt.close("all")
    made = {path.name for path in tmp_path.iterdir()}
    assert made == MADE.get(page.stem, set())


def test_a_wrong_page_would_be_noticed() -> None:
    page = ROOT / "page.md"
    run_block(page, 1, "print(1)  # -> 1\nprint([1, 2])  # -> [1, ...]\n", {})
    for wrong in ("print(1)  # -> 2\n", "print(1)\n", "x = 1  # -> 1\n"):
        with pytest.raises(pytest.fail.Exception, match=r"page\.md, the block at line 7"):
            run_block(page, 7, wrong, {})


@pytest.mark.parametrize(
    "line", [line for line in all_commands() if re.search(r"\bstructnet \w", line)]
)
def test_commands_are_understood(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)
    words = words[words.index("structnet") + 1 :]
    assert words[0] in COMMANDS
    said = refusal(words)
    # It gets as far as the device, or to the run, which is not here.
    about_a_run = words[0] in ("evaluate", "predict", "plot") or "--resume" in words
    if about_a_run:
        assert "holds no run: it has no config.json" in said
        return
    recipe, _ = chosen_recipe(words[0], words[1:])
    assert "abacus" in said, f"{recipe.name}: {said}"
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_pages_name_what_there_is() -> None:
    named = {words[1] for line in all_commands() if (words := line.split())[0] == "make"}
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= named <= targets
    for line in all_commands():
        if line.startswith("python "):
            assert (ROOT / line.split()[1]).is_file(), line
    for page, text in TEXT.items():
        for link in re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", text):
            [target] = filter(None, link)
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"
    for other in (*TUTORIALS, *PAGES[1:]):
        assert f"]({other.relative_to(ROOT)})" in README


def test_pages_name_help_that_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [each for text in TEXT.values() for each in re.findall(r"`(help\([^`]*\))`", text)]
    assert asked
    program = "\n".join(["import structnet", "from structnet import *", *asked])
    exec(program, {"help": pydoc.help})
    out, err = capsys.readouterr()
    assert out.count("Help on ") == len(asked) and not err
    assert "No Python documentation found" not in out


def test_the_default_of_lookahead_is_named() -> None:
    assert f"leaves unexplained has, up to {NeuralTreeSettings.lookahead}, and" in GUIDES["design"]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_the_demo_is_a_command_that_is_understood(tmp_path: Path) -> None:
    make = ["make", "--no-print-directory", "-n", "demo", f"PYTHON={sys.executable}"]
    planned = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    [line] = [line for line in planned.splitlines() if "/structnet " in line]
    words = shlex.split(line)[1:]
    assert words[:4] == ["train", "tree-lstm", "--data", "listops"]
    assert words[-2:] == ["--out", "runs/demo"]
    words[-1] = str(tmp_path / "demo")  # the demo may have been run in this checkout
    assert "'abacus'" in refusal(words)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRUCTNET_SMOKE", "1")
    runpy.run_path(str(path), run_name="__main__")
    plt.close("all")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("name", structnet.__all__)
def test_public_names_are_documented(name: str) -> None:
    value = getattr(structnet, name)
    doc = inspect.getdoc(value) or ""
    assert doc.split("\n")[0].rstrip().endswith((".", ":", "?")) or inspect.ismodule(value), doc
    explains_itself = inspect.ismodule(value) or (
        isinstance(value, type) and issubclass(value, Exception)
    )
    assert explains_itself or "\nExample:" in doc, f"{name}: add an example"


REFERENCE = re.compile(r":\w+:`~?(structnet\.[\w.]+)`")


@pytest.mark.parametrize("name", structnet.__all__)
def test_full_references_of_public_names_exist(name: str) -> None:
    for there in REFERENCE.findall(inspect.getdoc(getattr(structnet, name)) or ""):
        assert pydoc.locate(there) is not None, there


ESTIMATORS = [
    each
    for each in map(structnet.__getattr__, structnet.__all__)
    if isinstance(each, type) and issubclass(each, BaseEstimator)
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
def test_help_explains_every_parameter(estimator: type) -> None:
    said = inspect.getdoc(estimator) or ""
    assert "Args:" in said and len(re.findall(r"^Args:", said, re.MULTILINE)) == 1
    missing = [
        parameter
        for parameter in inspect.signature(estimator).parameters
        if not re.search(rf"^ {{4}}(\w+, )*{parameter}(, \w+)*: ", said, re.MULTILINE)
    ]
    assert not missing


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    text = call(name, "--help").out
    assert text.startswith(f"usage: structnet {name} ")
    assert f"  structnet {name} " in text, "there is no example"
    assert f"`structnet {name} " in GUIDES["command"]
    assert max(map(len, text.splitlines())) <= 100


def test_the_command_is_a_module_too(tmp_path: Path) -> None:
    done = python("-W", "error", "-m", "structnet", "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: structnet ")
    assert "\n  structnet " in done.stdout, "there is no example"
    for name in COMMANDS:
        assert re.search(rf"^    {name}\s", done.stdout, re.MULTILINE)
