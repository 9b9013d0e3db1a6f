"""JSON documents, from their text or from the Python values they stand for.

Reference:
    RFC 8259, "The JavaScript Object Notation (JSON) Data Interchange Format", 2017.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from json import JSONDecodeError, dumps
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out

from structnet.parse.errors import ParseError
from structnet.parse.lines import text_of
from structnet.parse.reading import Builder, unfold
from structnet.trees.tree import Tree

_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w.])|(?:true|false|null)\b"
)


def json(text_or_value: object) -> Tree:
    """The tree of a JSON document.

    An object is a node ``object`` whose children are its keys, each over its value; an array is a
    node ``array`` over its items. Numbers, ``true``, ``false`` and ``null`` are leaves labelled as
    they are written; a string is a leaf labelled with its characters. An empty object or array is
    a leaf.

    Args:
        text_or_value: the text of a document, of any depth; or a value of dicts, lists, tuples,
            strings, numbers, booleans and None. A string is always taken as text, and so are
            bytes. A key that a text repeats is kept each time.

    Raises:
        ParseError: the text is not JSON.
        TypeError: a value or a key is of a type that JSON does not have.
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
    if isinstance(text_or_value, (str, bytes)):
        return _Reader(text_of(text_or_value)).tree()
    return unfold(text_or_value, _expand)


class _Member(tuple):
    """A key and its value."""


def _expand(value: object) -> tuple[Hashable, Sequence, None]:
    if isinstance(value, _Member):
        return value[0], [value[1]], None
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a key of a JSON object must be a str; got {key!r}")
        return "object", [_Member(member) for member in value.items()], None
    if isinstance(value, (list, tuple)):
        return "array", value, None
    if isinstance(value, str):
        return value, (), None
    if value is None or isinstance(value, (bool, int, float)):
        return _written(value), (), None
    raise TypeError(f"JSON has no value of type {type(value).__name__}")


def _written(value: float | None) -> str:
    try:
        return dumps(value)
    except ValueError as error:  # Python writes no int of thousands of digits
        raise ValueError(f"a number of a JSON value cannot be written: {error}") from None


_Step = Callable[[], "_Step | None"]


class _Reader:
    """A reader of JSON text whose every step returns the next one, so that no depth is too much."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0
        self.builder = Builder()
        self.unclosed: list[int] = []  # where the open brackets stand

    def tree(self) -> Tree:
        step: _Step | None = self._value
        while step is not None:
            step = step()
        return self.builder.roots[0]

    def _value(self) -> _Step:
        next_character = self._peek()
        if next_character == '"':
            self.builder.leaf(self._string())
        elif next_character in ("{", "["):
            return self._enter("object" if next_character == "{" else "array")
        else:
            scalar = _SCALAR.match(self.text, self.offset)
            if scalar is None:
                raise self._unexpected("a value")
            self.builder.leaf(scalar.group())
            self.offset = scalar.end()
        return self._after_value

    def _enter(self, label: str) -> _Step:
        self.builder.open(label)
        self.unclosed.append(self.offset)
        self.offset += 1
        if self._peek() == ("}" if label == "object" else "]"):
            return self._leave
        return self._member if label == "object" else self._value

    def _member(self) -> _Step:
        if self._peek() != '"':
            raise self._unexpected("a key in double quotes")
        self.builder.open(self._string())
        if self._peek() != ":":
            raise self._unexpected("':'")
        self.offset += 1
        return self._value

    def _after_value(self) -> _Step:
        if not self.unclosed:
            return self._end
        in_object = self.text[self.unclosed[-1]] == "{"
        if in_object:
            self.builder.close()  # a key is a node whose one child is its value
        closing = "}" if in_object else "]"
        next_character = self._peek()
        if next_character == closing:
            return self._leave
        if next_character != ",":
            raise self._unexpected(f"',' or {closing!r}")
        self.offset += 1
        return self._member if in_object else self._value

    def _leave(self) -> _Step:
        self.builder.close()
        self.unclosed.pop()
        self.offset += 1
        return self._after_value

    def _end(self) -> None:
        if self._peek():
            raise ParseError.at("text after the end of the document", self.text, self.offset)

    def _peek(self) -> str:
        """The next character that is no blank; empty at the end of the text."""
        blanks = _SPACE.match(self.text, self.offset)
        assert blanks is not None  # it matches nothing, too
        self.offset = blanks.end()
        return self.text[self.offset : self.offset + 1]

    def _string(self) -> str:
        try:
            string, self.offset = scanstring(self.text, self.offset + 1)
        except JSONDecodeError as error:
            message = error.msg.removesuffix(" at").removesuffix(" starting")
            raise ParseError.at(message[0].lower() + message[1:], self.text, error.pos) from None
        return string

    def _unexpected(self, expected: str) -> ParseError:
        if self.offset < len(self.text):
            message = f"expected {expected}; got {self.text[self.offset]!r}"
            return ParseError.at(message, self.text, self.offset)
        if not self.unclosed:
            return ParseError.at("no document", self.text, len(self.text.rstrip()))
        innermost = self.unclosed[-1]
        bracket = self.text[innermost]
        count = sum(self.text[offset] == bracket for offset in self.unclosed)
        return ParseError.at(f"{count} unclosed {bracket!r}", self.text, innermost)
