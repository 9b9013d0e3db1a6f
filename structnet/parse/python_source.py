"""Python source code, as the abstract syntax tree of Python's own parser."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Hashable, Sequence
from itertools import accumulate

from structnet.parse.errors import ParseError
from structnet.parse.reading import unfold
from structnet.trees.tree import Tree


def python(source: str, *, fields: bool = False, contexts: bool = True) -> Tree:
    """The abstract syntax tree of Python source.

    A node is labelled with its class in :mod:`ast`, the outermost one ``Module``; its children are
    the values of its fields in order, those of a list one after the other. Names are leaves as
    they are written, constants leaves labelled by their ``repr``. Fields that are None are left
    out, but the constant None is not.

    Args:
        source: the text of a module.
        fields: put a node with the field's name over the values of each field that is not empty.
            Without them the body of an ``if`` and its ``else`` are one row of children.
        contexts: False leaves out ``Load``, ``Store`` and ``Del``, which say how a name is used.

    Raises:
        ParseError: the source is not valid in the running version of Python, or nests deeper than
            its parser can follow.

    Example:
        >>> python("x = 1 + y", contexts=False)
        <Tree (Module (Assign (Name x) (BinOp (Constant 1) Add (Name y))))>
        >>> python("print(")
        Traceback (most recent call last):
            ...
        structnet.parse.errors.ParseError: line 1, column 6: '(' was never closed
            print(
                 ^
    """

    def expand(item: object) -> tuple[Hashable, Sequence, None]:
        if isinstance(item, ast.AST):
            parts = [(name, _values(item, name, contexts)) for name in item._fields]
            if fields:
                return type(item).__name__, [_Field(part) for part in parts if part[1]], None
            return type(item).__name__, [value for _, values in parts for value in values], None
        if isinstance(item, _Field):
            return item[0], item[1], None
        return item, (), None

    return unfold(_syntax_tree(source), expand)


class _Field(tuple):
    """A field's name and its values."""


def _values(node: ast.AST, name: str, contexts: bool) -> list:
    """The values of one field that become children: nodes, and leaves as text."""
    value = getattr(node, name, None)
    if name == "value" and isinstance(node, ast.Constant):
        return [_written(value)]
    values = value if isinstance(value, list) else [value]
    values = [
        item if isinstance(item, ast.AST) else str(item) for item in values if item is not None
    ]
    return [v for v in values if contexts or not isinstance(v, ast.expr_context)]


def _written(value: object) -> str:
    """A constant as Python writes it; an int of thousands of digits, which it does not, in hex."""
    try:
        return repr(value)
    except ValueError:
        return f"{value:#x}"


def _syntax_tree(source: str) -> ast.Module:
    null = source.find("\0")
    if null >= 0:  # Python refuses it too, but does not say where it is
        raise ParseError.at("a null character", source, null)
    try:
        # Python warns of doubtful escapes in the source; whether to mend them is not our question.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
        raise ParseError.on_line(error.msg, source, line, column) from None
    except UnicodeEncodeError as error:
        raise ParseError.at(error.reason, source, error.start) from None
    except (RecursionError, MemoryError):
        message = "the source nests deeper than Python's parser can follow"
        raise ParseError.at(message, source, _deepest(source)) from None


def _deepest(source: str) -> int:
    """Where the most brackets are open; the start if there are none."""
    depths = list(accumulate((c in "([{") - (c in ")]}") for c in source))
    return depths.index(max(depths)) if max(depths) > 0 else 0
