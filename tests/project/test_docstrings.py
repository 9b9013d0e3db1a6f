"""What the docstrings of public names say: errors, the shapes of arrays, arguments as nouns.

A method that says nothing says what the method it overrides says; a class speaks for its methods.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "structnet"

Definition = ast.FunctionDef | ast.ClassDef
SPECIAL = {
    "__init__",
    "__post_init__",
    "__getitem__",
    "__call__",
}  # the class's docstring is theirs
NO_NOUN = {"as", "how", "of", "what", "where", "whether", "which"}
SECTION = re.compile(r"^(Args|Attributes):\n((?: {4,}.*\n|\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^ {4}\w[\w, *]*: (\w+).*", re.MULTILINE)
SHAPE = re.compile(r"``[^`]*\[[^`]*\]")


class Public(NamedTuple):
    """A public class, function or method, what is said of it, and what its class says."""

    name: str
    node: Definition
    doc: str
    owner: str = ""


def public_names(module: str) -> Iterator[Public]:
    loaded = importlib.import_module(module)
    for node in ast.parse(Path(loaded.__file__).read_text(encoding="utf-8")).body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        doc = ast.get_docstring(node) or ""
        yield Public(node.name, node, doc)
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(member, ast.FunctionDef) and (
                member.name in SPECIAL or not member.name.startswith("_")
            ):
                said = inspect.getdoc(getattr(getattr(loaded, node.name), member.name)) or ""
                yield Public(f"{node.name}.{member.name}", member, said, doc)


def raises(function: ast.FunctionDef) -> bool:
    """Does it raise something itself? What is left to a subclass does not count."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Raise) and node.exc is not None:
            if "NotImplementedError" not in ast.unparse(node.exc):
                return True
        elif not isinstance(node, ast.FunctionDef | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))
    return False


def handles_arrays(function: ast.FunctionDef) -> bool:
    arguments = [*function.args.args, *function.args.kwonlyargs]
    written = [function.returns, *(argument.annotation for argument in arguments)]
    return any(each and re.search(r"\b(Tensor|ndarray)\b", ast.unparse(each)) for each in written)


def faults(public: Public) -> Iterator[str]:
    said = f"{public.doc}\n{public.owner}"
    if not public.doc and public.node.name not in SPECIAL:
        yield "has no docstring"
    if isinstance(public.node, ast.FunctionDef):
        if raises(public.node) and "Raises:" not in said:
            yield "raises, and has no Raises"
        if handles_arrays(public.node) and not SHAPE.search(said):
            yield "takes or gives arrays, and names no shape"
    for section in SECTION.finditer(public.doc + "\n"):
        for entry in ENTRY.finditer(section[2]):
            if entry[1] in NO_NOUN:
                yield f"has an entry that does not begin with its noun: {entry[0].strip()}"


MODULES = [
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("[!_]*.py"))
]


@pytest.mark.parametrize("name", MODULES)
def test_public_docstrings(name: str) -> None:
    module = f"structnet.{name}"
    if ".gpu." in module:
        pytest.importorskip("triton")
    wrong = [
        f"{module}, line {public.node.lineno}: {public.name} {fault}"
        for public in public_names(module)
        for fault in faults(public)
    ]
    assert not wrong, "\n".join(wrong)


FOLDERS = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))
NAMES = [folder.relative_to(PACKAGE).as_posix() for folder in FOLDERS]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_header_names_every_file(name: str) -> None:
    folder = PACKAGE / name
    header = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    here = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    here |= {path.name for path in FOLDERS if path.parent == folder and path != folder}
    missing = sorted(stem for stem in here if f"``{stem}``" not in (header or ""))
    assert not missing, f"say what {', '.join(missing)} is for in {folder / '__init__.py'}"


# ---- the test itself


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("def f(): ...", "has no docstring"),
        ("def f():\n  '''F.'''\n  if x:\n    raise ValueError", "raises, and has no Raises"),
        ("def f():\n  '''F.\n\n  Raises:\n    E: x.'''\n  raise E", ""),
        ("def f():\n  '''F.'''\n  raise NotImplementedError", ""),
        ("def f():\n  '''F.'''\n  def g():\n    raise E", ""),
        ("def f(x: np.ndarray):\n  '''F.'''", "takes or gives arrays, and names no shape"),
        ("def f() -> Tensor | None:\n  '''F, ``[n, 2]``.'''", ""),
        (
            "def f(x):\n  '''F.\n\n  Args:\n      x: number of trees.\n      y, z: of trees.'''",
            "has an entry that does not begin with its noun: y, z: of trees.",
        ),
    ],
)
def test_the_rules(source: str, fault: str) -> None:
    node = ast.parse(source).body[0]
    assert isinstance(node, Definition)
    assert list(faults(Public("f", node, ast.get_docstring(node) or ""))) == ([fault] * bool(fault))
