"""Python source code, as the abstract syntax tree from Python's own parser."""

from __future__ import annotations

import ast
import io
import warnings
from itertools import accumulate
from tokenize import detect_encoding
from typing import Any

from structnet.parse.errors import ParseError
from structnet.parse.lines import text_of
from structnet.parse.reading import Leaves, Parsing
from structnet.trees.tree import Tree

# Fields that may be empty, whose values could else be taken for those of a field beside them.
_NAMED = {"posonlyargs", "vararg", "kwonlyargs", "kw_defaults", "kwarg"}
_NAMED |= {"decorator_list", "returns", "orelse", "finalbody", "upper", "step", "default_value"}


def python(source: str | bytes | ast.AST, *, fields: bool = False, contexts: bool = True) -> Tree:
    """The abstract syntax tree of Python source.

    A node is labelled with its class in :mod:`ast`, the outermost one with ``Module``; its children
    are the values of its fields in order, where the items of a list follow each other. Values of
    optional fields that could be taken for those of another, such as the ``orelse`` of a loop or
    the ``upper`` bound of a slice, stand below a node with the field's name. Names are leaves
    labelled as they are written, constants leaves labelled with their ``repr``. Fields that are
    None are left out, but the constant None is not, and None in a list is a leaf.

    Reading takes about 230 times the memory of the text, and 1000 times that of the densest texts;
    Python's own tree takes most of it.

    Args:
        source: text of a module, where bytes have the encoding that they declare, or UTF-8; or a
            node of :mod:`ast`, such as that of a function.
        fields: True to put a node with the field's name above the values of each field that is not
            empty.
        contexts: False to leave out ``Load``, ``Store`` and ``Del``, which say how a name is used.

    Raises:
        ParseError: the source is not valid in the running version of Python, or nests deeper than
            its parser can follow.

    Example:
        >>> python("x = 1 + y", contexts=False)
        <Tree (Module (Assign (Name x) (BinOp (Constant 1) Add (Name y))))>
        >>> python("x[1:]", contexts=False), python("x[:1]", contexts=False)
        (<Tree (Module (Expr (Subscript (Name x) (Slice (Constant 1)))))>,
         <Tree (Module (Expr (Subscript (Name x) (Slice (upper (Constant 1))))))>)
        >>> python(ast.parse("f(x)").body[0].value, contexts=False)
        <Tree (Call (Name f) (Name x))>
        >>> python("print(")
        Traceback (most recent call last):
            ...
        structnet.parse.errors.ParseError: line 1, column 6: '(' was never closed
            print(
                 ^
    """
    if isinstance(source, ast.AST):
        return _tree(source, fields, contexts)
    text = _decoded(source)
    with Parsing(text):
        return _tree(_syntax_tree(text), fields, contexts)


def _tree(root: ast.AST, fields: bool, contexts: bool) -> Tree:
    leaves = Leaves()
    built: list[Tree] = []
    # A node is taken twice: itself, and when its children are built, as its label and their number.
    stack: list[Any] = [root]
    while stack:
        item = stack.pop()
        if type(item) is str:
            built.append(leaves[item])
            continue
        if type(item) is tuple:
            label, count = item
            built[-count:] = [Tree(label, built[-count:])]
            continue
        if type(item) is _Field:
            label, below = item
        else:
            label, below = type(item).__name__, _below(item, fields, contexts)
        if below:
            stack.append((label, len(below)))
            stack.extend(reversed(below))
        else:
            built.append(leaves[label])
    return built[0]


class _Field(tuple):
    """A field's name and its values."""


def _below(node: ast.AST, fields: bool, contexts: bool) -> list[Any]:
    """What stands below a node: other nodes, leaves as text, fields that have a node."""
    below: list[Any] = []
    constant = isinstance(node, ast.Constant)
    for name in node._fields:
        value = getattr(node, name, None)
        if constant and name == "value":
            values: list[Any] = [_written(value)]
        elif value is None:
            continue
        else:
            values = [
                item if isinstance(item, ast.AST) else str(item)
                for item in (value if isinstance(value, list) else [value])
                if contexts or not isinstance(item, ast.expr_context)
            ]
        if values and (fields or (name in _NAMED and not isinstance(node, ast.IfExp))):
            below.append(_Field((name, values)))
        else:
            below += values
    return below


def _written(value: object) -> str:
    """A constant as Python writes it; an int too long for decimal digits is written in hex."""
    try:
        return repr(value)
    except ValueError:
        return f"{value:#x}"


def _decoded(source: str | bytes) -> str:
    if not isinstance(source, (bytes, bytearray)):
        return text_of(source)
    try:
        encoding, _ = detect_encoding(io.BytesIO(source).readline)
    except SyntaxError as error:  # of an encoding that Python does not know, or no UTF-8
        raise ParseError(str(error), 1, 1, "") from None
    try:
        return text_of(source, encoding)
    except LookupError:  # of a codec that is none of texts, such as rot13
        raise ParseError(f"{encoding!r} is no encoding of texts", 1, 1, "") from None


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
