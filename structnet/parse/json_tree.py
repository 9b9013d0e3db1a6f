"""JSON documents, from their text or from Python values.

Reference:
    RFC 8259, "The JavaScript Object Notation (JSON) Data Interchange Format", 2017.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from json import JSONDecodeError, dumps
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
from math import isfinite
from os import PathLike

from structnet.parse.errors import ParseError
from structnet.parse.lines import text_of
from structnet.parse.reading import Leaves, Parsing, unfold
from structnet.trees.tree import Tree

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = r'"([^"\\\x00-\x1f]*)"'  # a string as it is written
_SCALAR = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w.])|(?:true|false|null)\b"
_VALUE = re.compile(rf"{_SPACE.pattern}(?:{_PLAIN}|({_SCALAR})|([\[{{]))")
_KEY = re.compile(rf"{_SPACE.pattern}{_PLAIN}{_SPACE.pattern}:")
_EMPTY = {"{": re.compile(rf"{_SPACE.pattern}}}"), "[": re.compile(rf"{_SPACE.pattern}]")}
_AFTER = re.compile(rf"{_SPACE.pattern}([],}}])")


def json(text_or_value: object) -> Tree:
    """The tree of a JSON document.

    An object is a node ``object`` whose children are its keys, each above its value; an array is a
    node ``array`` above its items. Numbers, ``true``, ``false`` and ``null`` are leaves labelled as
    they are written; a string is a leaf labelled with its characters, so that the string ``"1"``
    is the same leaf as the number. An empty object or array is a leaf.

    Reading takes about 17 times the memory of the text, and 125 times that of the densest texts.

    Args:
        text_or_value: text of a document, of any depth; or a value made of dicts, lists, tuples,
            strings, numbers, booleans and None. A string and bytes are always read as text. A key
            that is repeated in the text occurs as often in the tree.

    Raises:
        ParseError: the text is not JSON.
        TypeError: a value or a key has a type that JSON does not have.
        ValueError: a value contains itself, or an int has more digits than Python writes.

    Example:
        >>> json('{"name": "structnet", "tags": ["tree", 2]}')
        <Tree (object (name structnet) (tags (array tree 2)))>
        >>> json([1.5, {"ok": True}])
        <Tree (array 1.5 (object (ok true)))>
        >>> json('[1, 2')
        Traceback (most recent call last):
            ...
        structnet.parse.errors.ParseError: line 1, column 1: 1 unclosed '['
            [1, 2
            ^
    """
    with Parsing(text_or_value):
        if isinstance(text_or_value, (str, bytes)):
            return _Reader(text_of(text_or_value)).tree()
        return _of_value(text_or_value)


class _Member(tuple):
    """A key and its value."""


def _of_value(value: object) -> Tree:
    leaves = Leaves()

    def item(value: object) -> object:
        """A scalar's leaf; anything else as it is."""
        if type(value) is str:
            return leaves[value]
        if value is None or isinstance(value, (bool, int, float)):
            return leaves[_written(value)]
        if not isinstance(value, (dict, list, tuple, str)):
            read = "; give its read_bytes()" if isinstance(value, PathLike) else ""
            raise TypeError(f"JSON has no value of type {type(value).__name__}{read}")
        return value

    def expand(value: object) -> tuple[Hashable, Sequence, None]:
        if isinstance(value, _Member):
            return value[0], [value[1]], None
        if isinstance(value, dict):
            return "object", [member(*pair) for pair in value.items()], None
        if isinstance(value, (list, tuple)):
            return "array", [item(below) for below in value], None
        return value, (), None  # a str of a class of its own

    def member(key: object, value: object) -> object:
        if not isinstance(key, str):
            raise TypeError(f"a key of a JSON object must be a str; got {key!r}")
        below = item(value)
        return Tree(key, (below,)) if isinstance(below, Tree) else _Member((key, below))

    return unfold(item(value), expand)


def _written(value: float | None) -> str:
    if type(value) is int or (type(value) is float and isfinite(value)):
        write: Callable[[float | None], str] = repr
    else:
        write = dumps
    try:
        return write(value)
    except ValueError as error:  # Python writes no int of thousands of digits
        raise ValueError(f"a number of a JSON value cannot be written: {error}") from None


class _Reader:
    """A reader of JSON text, in one loop, so that no depth is too much."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.unclosed: list[int] = []  # where the open brackets stand

    def tree(self) -> Tree:
        text, unclosed = self.text, self.unclosed
        leaves = Leaves()
        above: list[tuple[str, list[Tree], str]] = []  # what a bracket resumes when it closes
        bracket, key = "", ""  # the innermost one that is open, and the last key in it
        children: list[Tree] = []
        at = 0
        while True:
            match = _VALUE.match(text, at)
            if match is None:
                string, at = self._string(at, "a value")
                node = leaves[string]
            else:
                at = match.end()
                if match.lastindex == 3:
                    above.append((bracket, children, key))
                    unclosed.append(at - 1)
                    bracket, children = text[at - 1], []
                    empty = _EMPTY[bracket].match(text, at)
                    if empty is None:
                        if bracket == "{":
                            key, at = self._key(at)
                        continue
                    at = empty.end()
                    node = leaves["object" if bracket == "{" else "array"]
                    bracket, children, key = above.pop()
                    unclosed.pop()
                else:
                    node = leaves[match.group(match.lastindex or 0)]
            while True:  # a value is read, and so are those that end behind it
                children.append(node if bracket != "{" else Tree(key, (node,)))
                if not unclosed:
                    self._check_end(at)
                    return node
                match = _AFTER.match(text, at)
                closing = "}" if bracket == "{" else "]"
                if match is None or match.group(1) not in (",", closing):
                    raise self._unexpected(f"',' or {closing!r}", at)
                at = match.end()
                if text[at - 1] == ",":
                    break
                node = Tree("object" if bracket == "{" else "array", children)
                bracket, children, key = above.pop()
                unclosed.pop()
            if bracket == "{":
                key, at = self._key(at)

    def _key(self, at: int) -> tuple[str, int]:
        """A key, and where its value may begin."""
        match = _KEY.match(self.text, at)
        if match is not None:
            return match.group(1), match.end()
        key, at = self._string(at, "a key in double quotes")
        at = self._past_blanks(at)
        if self.text[at : at + 1] != ":":
            raise self._unexpected("':'", at)
        return key, at + 1

    def _string(self, at: int, expected: str) -> tuple[str, int]:
        """A string, which may have escapes, and where it ends."""
        at = self._past_blanks(at)
        if self.text[at : at + 1] != '"':
            raise self._unexpected(expected, at)
        try:
            return scanstring(self.text, at + 1)
        except JSONDecodeError as error:
            message = error.msg.removesuffix(" at").removesuffix(" starting")
            raise ParseError.at(message[0].lower() + message[1:], self.text, error.pos) from None

    def _check_end(self, at: int) -> None:
        at = self._past_blanks(at)
        if at < len(self.text):
            raise ParseError.at("text after the end of the document", self.text, at)

    def _past_blanks(self, at: int) -> int:
        blanks = _SPACE.match(self.text, at)
        assert blanks is not None  # it matches nothing, too
        return blanks.end()

    def _unexpected(self, expected: str, at: int) -> ParseError:
        at = self._past_blanks(at)
        if at < len(self.text):
            message = f"expected {expected}; got {self.text[at]!r}"
            return ParseError.at(message, self.text, at)
        if not self.unclosed:
            return ParseError.at("no document", self.text, len(self.text.rstrip()))
        innermost = self.unclosed[-1]
        bracket = self.text[innermost]
        count = sum(self.text[offset] == bracket for offset in self.unclosed)
        return ParseError.at(f"{count} unclosed {bracket!r}", self.text, innermost)
