"""The functions of Python's own standard library as trees: real source code, on every machine."""

from __future__ import annotations

import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from structnet.checks import check_integer
from structnet.parse.errors import ParseError
from structnet.parse.python_source import python
from structnet.trees.tree import Tree

# Tests repeat themselves, and site-packages are not the library's.
LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "lib2to3", "turtledemo", "ensurepip"}
FUNCTIONS = ("FunctionDef", "AsyncFunctionDef")


class PythonFunctions(NamedTuple):
    """Functions and where they come from; all three of one length.

    Attributes:
        trees: syntax tree of each.
        packages: package of each, such as "asyncio".
        files: file of each, from the library's folder.
    """

    trees: list[Tree]
    packages: list[str]
    files: list[str]


def python_functions(packages: int = 8, max_size: int = 2000) -> PythonFunctions:
    """The functions, methods too, of the packages of the running Python that have the most.

    Args:
        packages: number of packages.
        max_size: nodes of the largest function that is taken.

    Raises:
        FileNotFoundError: this Python comes without the source of its library.
    """
    check_integer("packages", packages, 1, owner="python_functions")
    check_integer("max_size", max_size, 1, owner="python_functions")
    root = Path(sysconfig.get_paths()["stdlib"])
    found = [each for path in _sources(root) for each in _functions(path, root, max_size)]
    if not found:
        raise FileNotFoundError(f"there is no source of Python's library in {root}")
    count = Counter(package for _, package, _ in found)
    kept = {name for name, _ in count.most_common(packages)}
    chosen = [each for each in found if each[1] in kept]
    trees, names, files = (list(column) for column in zip(*chosen, strict=True))
    return PythonFunctions(trees, names, files)


def _sources(root: Path) -> Iterator[Path]:
    """The files of all packages of the library."""
    for package in sorted(path.parent for path in root.glob("*/__init__.py")):
        for path in sorted(package.rglob("*.py")):
            if not LEFT_OUT & set(path.relative_to(root).parts):
                yield path


def _functions(path: Path, root: Path, max_size: int) -> Iterator[tuple[Tree, str, str]]:
    place = path.relative_to(root)
    try:
        module = python(path.read_text(encoding="utf-8"), contexts=False)
    except (ParseError, UnicodeDecodeError):  # there are examples of what is no Python
        return
    for node in module.preorder():
        if node.label in FUNCTIONS and node.children and node.size <= max_size:
            yield node, place.parts[0], place.as_posix()
