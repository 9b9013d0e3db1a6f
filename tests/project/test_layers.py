"""Who may import whom: the layers of the library, read off its import statements."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

from structnet.recipes import RECIPES

PACKAGE = Path(__file__).resolve().parents[2] / "structnet"

# Every folder of structnet, and every module at its root, stands in one layer. It imports from
# lower layers, and in layers 0 and 1 from its own; above, the members of a layer know nothing of
# each other. CONTRIBUTING.md says what each of them holds.
LAYERS = (
    {"checks", "errors", "trees"},
    {"estimators", "message_passing", "parse", "routing", "text", "training"},
    {"datasets", "label_tree", "naru", "neural_tree", "softmax_tree", "tensor_tree"},
    {"plot"},
    {"recipes"},
    {"__main__", "cli"},
    {"structnet"},  # structnet/__init__.py, which names everything
)
FAMILIES = {"label_tree", "naru", "neural_tree", "softmax_tree", "tensor_tree"}
LAYER_OF = {name: layer for layer, names in enumerate(LAYERS) for name in names}
CLOSED = {name for names in LAYERS[2:] for name in names} - {"__main__", "cli"}


class Import(NamedTuple):
    """One imported module: its dotted name, the line, and when the statement is executed."""

    target: str
    line: int
    when: str  # "import", "call" (inside a function) or "never" (under TYPE_CHECKING)


def imports_of(source: str, name: str, is_package: bool, known: set[str]) -> list[Import]:
    """All imports of a module; ``from structnet import x`` counts as x where x is a module."""
    found = []
    for node, when in walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, when) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, name, is_package)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.append(Import(full if full in known else base, node.lineno, when))
    return found


def walk(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    found, stack = [], [(tree, "import")]
    while stack:
        node, when = stack.pop()
        found.append((node, when))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            when = "call" if when == "import" else when
        guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        body = node.body if guarded else []
        for child in ast.iter_child_nodes(node):
            stack.append((child, "never" if child in body else when))
    return found


def absolute(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, node.module] if node.module else parts)


def read_package(folder: Path) -> dict[str, list[Import]]:
    """The imports of every module of the package, by dotted name."""
    files = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        files[".".join(parts[:-1] if is_package else parts)] = (path, is_package)
    return {
        name: imports_of(path.read_text(encoding="utf-8"), name, is_package, set(files))
        for name, (path, is_package) in files.items()
    }


def member(name: str) -> str:
    """What stands in the table for a module: ``structnet.parse.expressions`` is of ``parse``."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def violation(importer: str, imported: str) -> str | None:
    """What is wrong with one module importing another, if anything."""
    upper, lower = member(importer), member(imported)
    if upper == lower or not {upper, lower} <= set(LAYER_OF):  # unknown ones have their own test
        return None
    if LAYER_OF[lower] > LAYER_OF[upper]:
        return f"{imported} is of layer {LAYER_OF[lower]}, above layer {LAYER_OF[upper]}"
    if LAYER_OF[lower] == LAYER_OF[upper] and upper in CLOSED:
        return f"{lower} and {upper} stand side by side in layer {LAYER_OF[upper]}"
    return None


def reached(package: dict[str, list[Import]], start: str) -> dict[str, str]:
    """Every module that importing ``start`` loads, each with the module that asked for it."""
    asked_by, queue = {start: "you"}, [start]
    while queue:
        name = queue.pop()
        for target, _, when in package.get(name, ()):
            if when != "import":
                continue
            parts = target.split(".")  # importing a.b.c imports a and a.b
            for end in range(1, len(parts) + 1):
                parent = ".".join(parts[:end])
                if parent not in asked_by:
                    asked_by[parent] = name
                    queue.append(parent)
    return asked_by


def path_to(asked_by: dict[str, str], name: str) -> str:
    chain = [name]
    while asked_by[chain[-1]] != "you":
        chain.append(asked_by[chain[-1]])
    return " -> ".join(reversed(chain))


def circles(package: dict[str, list[Import]]) -> list[set[str]]:
    """The sets of modules that import each other, wherever the statements stand."""
    graph = nx.DiGraph(
        (name, target)
        for name, imports in package.items()
        for target, _, _ in imports
        if target in package and target != name
    )
    return [found for found in nx.strongly_connected_components(graph) if len(found) > 1]


@pytest.fixture(scope="module")
def package() -> dict[str, list[Import]]:
    return read_package(PACKAGE)


def test_every_module_has_a_layer(package: dict[str, list[Import]]) -> None:
    unknown = sorted({member(name) for name in package} - set(LAYER_OF))
    assert not unknown, f"add {', '.join(unknown)} to its layer in LAYERS, in {__file__}"


def test_no_import_runs_upward(package: dict[str, list[Import]]) -> None:
    wrong = [
        f"{name}, line {line}: {reason}"
        for name, imports in package.items()
        for target, line, _ in imports
        if target.split(".")[0] == "structnet" and (reason := violation(name, target))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other(package: dict[str, list[Import]]) -> None:
    found = [" and ".join(sorted(circle)) for circle in circles(package)]
    assert not found, "\n".join(f"{circle} import each other" for circle in found)


def test_dgl_is_imported_in_one_place(package: dict[str, list[Import]]) -> None:
    places = [
        name
        for name, imports in package.items()
        for target, _, when in imports
        if target.split(".")[0] == "dgl" and when != "never"
    ]
    assert places == ["structnet.trees.schema"]


LIGHT = [
    "structnet",
    "structnet.cli",
    "structnet.parse",
    "structnet.recipes.neural_tree.recipe",
    "structnet.recipes.tree_lstm.recipe",
    "structnet.trees.tree",
    "structnet.trees.vocabulary",
]


@pytest.mark.parametrize("start", LIGHT)
def test_what_needs_no_torch_does_not_load_it(package: dict[str, list[Import]], start: str) -> None:
    assert start in package
    asked_by = reached(package, start)
    for heavy in ("torch", "dgl", "numba", "matplotlib"):
        assert heavy not in asked_by, path_to(asked_by, heavy)


def test_matplotlib_is_loaded_when_something_is_drawn(package: dict[str, list[Import]]) -> None:
    for name, imports in package.items():
        eager = [
            i.line for i in imports if i.target.startswith("matplotlib") and i.when == "import"
        ]
        assert not eager, f"{name}, line {eager}: import matplotlib inside the function that draws"


def test_drawing_loads_no_family(package: dict[str, list[Import]]) -> None:
    for start in ("structnet.plot", "structnet.plot.tree", "structnet.plot.history"):
        loaded = {member(name) for name in reached(package, start) if "." in name}
        assert not loaded & FAMILIES, f"{start} loads {sorted(loaded & FAMILIES)}"


@pytest.mark.parametrize("folder", ["plot", "routing"])
def test_what_serves_all_families_names_none(package: dict[str, list[Import]], folder: str) -> None:
    named = [
        f"{name}, line {line}: {target}"
        for name, imports in package.items()
        for target, line, _ in imports  # also inside functions, and for type checkers alone
        if member(name) == folder and target.startswith("structnet.") and member(target) in FAMILIES
    ]
    assert any(member(name) == folder for name in package)
    assert not named, "\n".join(named)


def test_the_command_knows_no_family() -> None:
    names = {name.replace("_", "-") for name in FAMILIES} | FAMILIES
    names |= set(RECIPES) | {name.replace("-", "_") for name in RECIPES}
    for path in (PACKAGE / "cli").glob("*.py"):
        source = path.read_text(encoding="utf-8")
        named = {name for name in names if re.search(rf"\b{name}\b", source)}
        assert not named, f"{path} names {sorted(named)}"


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_the_command_stays_small() -> None:
    assert sum(map(lines, (PACKAGE / "cli").rglob("*.py"))) <= 800


@pytest.mark.parametrize("folder", ["structnet", "tests", "tutorials"])
def test_no_file_is_long(folder: str) -> None:
    sizes = {path: lines(path) for path in (PACKAGE.parent / folder).rglob("*.py")}
    long = {str(path): size for path, size in sizes.items() if size > 400}
    assert sizes and not long, f"more than 400 lines: {long}"


def test_the_root_has_four_modules() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 4


def test_contributing_says_the_same_layers() -> None:
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| (.*?) \|", text, re.MULTILINE)
    said = {int(layer): set(re.findall(r"`(\w+)`", cell)) for layer, cell in rows}
    for layer, names in said.items():
        # What is not written yet is not said; what the folder of a layer holds may be.
        there = {name for name in LAYERS[layer] if (PACKAGE / name).is_dir()}
        assert there <= names, f"layer {layer} lacks {sorted(there - names)} in CONTRIBUTING.md"
        unknown = {name for name in names if name in LAYER_OF} - LAYERS[layer]
        assert not unknown, f"CONTRIBUTING.md has {sorted(unknown)} in layer {layer}"
    assert set(said) == set(range(len(LAYERS) - 1))


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "cli" not in path.parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_function_has_the_name_of_its_module(path: Path) -> None:
    # Importing the module would put it in the place of the function that its package exports.
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert path.stem not in {node.name for node in named}, f"rename {path}"


# ---- the test itself


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("structnet.trees.forest", "structnet.trees.tree", True),
        ("structnet.message_passing.propagation", "structnet.message_passing.dgl_backend", True),
        (
            "structnet.tensor_tree.aggregators.tucker",
            "structnet.tensor_tree.aggregators.base",
            True,
        ),
        ("structnet.tensor_tree.heads", "structnet.trees.examples", True),
        ("structnet.cli.main", "structnet.datasets.listops", True),
        ("structnet.trees.forest", "structnet.parse", False),
        ("structnet.training.fitting", "structnet.tensor_tree", False),
        ("structnet.naru.network", "structnet.softmax_tree", False),
        ("structnet.tensor_tree", "structnet.datasets", False),
        ("structnet.plot.tree", "structnet", False),
    ],
)
def test_the_rule(importer: str, imported: str, allowed: bool) -> None:
    assert (violation(importer, imported) is None) == allowed


def test_imports_are_found_wherever_they_stand() -> None:
    source = """
from __future__ import annotations
import numpy as np
from structnet import parse, Tree
from . import sibling
from ..tree import Tree
if TYPE_CHECKING:
    from dgl import DGLGraph
else:
    import scipy
class C:
    def f(self):
        import structnet.plot.tree
"""
    known = {"structnet.parse", "structnet.naru.sibling"}
    found = imports_of(source, "structnet.naru.network", False, known)
    assert {(i.target, i.when) for i in found} == {
        ("__future__", "import"),
        ("numpy", "import"),
        ("structnet.parse", "import"),
        ("structnet", "import"),
        ("structnet.naru.sibling", "import"),
        ("structnet.tree", "import"),
        ("dgl", "never"),
        ("scipy", "import"),
        ("structnet.plot.tree", "call"),
    }


def test_circles_are_found_wherever_their_imports_stand() -> None:
    package = {
        "a": [Import("b", 1, "call"), Import("a", 2, "import")],
        "b": [Import("c", 1, "never"), Import("d", 2, "import")],
        "c": [Import("a", 1, "import")],
        "d": [Import("torch", 1, "import")],
    }
    assert circles(package) == [{"a", "b", "c"}]


def test_what_an_import_loads() -> None:
    package = {
        "structnet": [],
        "structnet.a": [Import("structnet.b.c", 1, "import"), Import("torch", 2, "call")],
        "structnet.b": [Import("numpy.linalg", 1, "import")],
        "structnet.b.c": [Import("dgl", 1, "never")],
    }
    asked_by = reached(package, "structnet.a")
    assert set(asked_by) == {
        "structnet", "structnet.a", "structnet.b", "structnet.b.c", "numpy", "numpy.linalg",
    }  # fmt: skip
    assert path_to(asked_by, "numpy") == "structnet.a -> structnet.b -> numpy"
