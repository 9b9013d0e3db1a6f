"""The package as it is installed: what importing it does, what it exports, what it depends on."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from dgl_marks import HAS_DGL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import structnet

ROOT = Path(__file__).resolve().parents[2]


def run_python(code: str, home: Path) -> subprocess.CompletedProcess:
    """Runs code in a fresh process, away from the checkout, at an empty home."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=home,
        env=kept | {"HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


EVERYTHING = "from structnet import *"
# A graph, because that is what imports dgl, which by itself prints and writes a file.
GRAPH = f"""
{EVERYTHING}
trees = [parse.listops("[MAX 2 9 ]")]
Forest.from_trees(trees, Vocabulary.from_trees(trees)).graph
"""


@pytest.mark.parametrize("code", ["import structnet", GRAPH if HAS_DGL else EVERYTHING])
def test_importing_is_silent_and_without_consequences(code: str, tmp_path: Path) -> None:
    done = run_python(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    # Where the library's own folder is not writable, numba keeps its compiled functions here.
    assert [path for path in written if "numba" not in path.parts] == []


def test_importing_loads_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, structnet; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = set(run_python(code, tmp_path).stdout.split())
    assert "structnet" in loaded
    assert not loaded & {"dgl", "matplotlib", "networkx", "numba", "numpy", "scipy", "torch"}


def test_it_works_where_nothing_can_be_cached(tmp_path: Path) -> None:
    code = """
from numba.core import caching
caching.CacheImpl._locator_classes = []  # as with a read-only library and no home
import numpy as np
from structnet.trees import _kernels
print(_kernels.heights(np.array([0, 0, 1]), np.array([0])))
"""
    done = run_python(code, tmp_path)
    assert (done.stderr, done.stdout) == ("", "[0 1]\n")


# ---- what it exports


PACKAGES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in (ROOT / "structnet").rglob("__init__.pyi")
)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match=r"attribute '?Treees"):
        module.Treees  # noqa: B018


def test_every_package_names_what_it_exports() -> None:
    packages = {path.parent for path in (ROOT / "structnet").rglob("__init__.py")}
    named = {path.parent for path in (ROOT / "structnet").rglob("__init__.pyi")}
    without = {
        "cli",
        "compiled",
        "counts",
        "gpu",
        "kernels",
    }  # and the recipes, which the command imports
    found = {path for path in packages - named if "recipes" not in path.parts}
    assert {path.name for path in found} <= without


def test_modules_stay_modules() -> None:
    from structnet.message_passing.propagation import propagate

    assert structnet.message_passing.propagate is propagate
    assert structnet.parse.listops("[MAX 2 9 ]").label == "MAX"


# ---- what it depends on


def project() -> dict:
    toml = pytest.importorskip("tomllib", reason="Python 3.10 has no TOML reader")
    return toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_version() -> None:
    try:
        installed = version("structnet")
    except PackageNotFoundError:
        pytest.skip("structnet is not installed")
    assert structnet.__version__ == installed


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_every_dependency_is_pinned_within_its_range(python: str) -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    pins: dict[str, str] = {}
    for pin in map(Requirement, lines):
        if pin.marker is None or pin.marker.evaluate(environment):
            name = canonicalize_name(pin.name)
            assert name not in pins, f"{name} is pinned twice for Python {python}"
            pins[name] = re.fullmatch(r"==([\w.]+)", str(pin.specifier))[1]
    needed = project()["dependencies"] + project()["optional-dependencies"]["dev"]
    for requirement in map(Requirement, needed):
        if requirement.marker is not None and not requirement.marker.evaluate(environment):
            continue
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])
