"""Functions of Python's standard library as syntax trees: real code, found on every machine."""

from __future__ import annotations

import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from structnet.checks import check_integer
from structnet.parse.errors import ParseError
from structnet.parse.python_source import python
from structnet.trees.tree import Tree

# Tests are repetitive, and site-packages do not belong to the standard library.
LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "lib2to3", "turtledemo", "ensurepip"}
FUNCTIONS = ("FunctionDef", "AsyncFunctionDef")


class PythonFunctions(NamedTuple):
    """Functions and where they come from, in three lists of the same length.

    Attributes:
        trees: syntax tree of each function.
        packages: name of its package, such as "asyncio".
        files: path of its file, relative to the library's folder.
    """

    trees: list[Tree]
    packages: list[str]
    files: list[str]


def python_functions(
    packages: int | Sequence[str] | None = 8, max_size: int = 2000, contexts: bool = False
) -> PythonFunctions:
    """The functions and methods in the standard library of the running Python.

    Args:
        packages: names of packages, or a number to take the packages with the most functions. None
            for all packages, and the modules of a single file, each counted as a package; these
            cannot be chosen by name.
        max_size: largest number of nodes of a function.
        contexts: True to keep the nodes that say how a name is used (to load, store or delete it),
            as in :func:`structnet.parse.python`.

    Raises:
        FileNotFoundError: the source of the library or of a package is not installed, or no
            function in it is small enough.
        ValueError: a number is out of range.

    Example:
        >>> found = python_functions(["json"], max_size=100)
        >>> found.trees[0].label, set(found.packages), found.files[0]
        ('FunctionDef', {'json'}, 'json/__init__.py')
    """
    root = Path(sysconfig.get_paths()["stdlib"])
    check_integer("max_size", max_size, 1, owner="python_functions")
    names: set[str] | None = None
    if isinstance(packages, (str, Sequence)):
        names = {packages} if isinstance(packages, str) else set(packages)
    else:
        check_integer("packages", packages, 1, optional=True, owner="python_functions")
    sources = list(_sources(root, names))
    if packages is None:
        sources += sorted(root.glob("*.py"))
    functions = [each for path in sources for each in _functions(path, root, max_size, contexts)]
    missing = sorted((names or set()) - {package for _, package, _ in functions})
    if missing or not functions:
        raise FileNotFoundError(
            f"there is no source of Python's {', '.join(missing) or 'library'} in {root}"
        )
    count = Counter(package for _, package, _ in functions)
    kept = names or {name for name, _ in count.most_common(packages)}  # type: ignore[arg-type]  # an int, or None
    chosen = [each for each in functions if each[1] in kept]
    trees, of, files = (list(column) for column in zip(*chosen, strict=True))
    return PythonFunctions(trees, of, files)


def _sources(root: Path, names: set[str] | None) -> Iterator[Path]:
    """The source files of these packages, or of all."""
    for package in sorted(path.parent for path in root.glob("*/__init__.py")):
        if names is not None and package.name not in names:
            continue
        for path in sorted(package.rglob("*.py")):
            if not LEFT_OUT & set(path.relative_to(root).parts):
                yield path


def _functions(
    path: Path, root: Path, max_size: int, contexts: bool
) -> Iterator[tuple[Tree, str, str]]:
    place = path.relative_to(root)
    try:
        module = python(path.read_text(encoding="utf-8"), contexts=contexts)
    except (ParseError, UnicodeDecodeError):  # some files are examples of broken source
        return
    for node in module.preorder():
        if node.label in FUNCTIONS and node.children and node.size <= max_size:
            yield node, place.parts[0].removesuffix(".py"), place.as_posix()
