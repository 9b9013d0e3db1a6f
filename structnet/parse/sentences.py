"""Sentences of propositional logic, curried as in the logical relations (LRT) data.

Reference:
    Bowman, Potts and Manning, "Recursive Neural Networks Can Learn Logical Semantics", CVSC 2015.
"""

from __future__ import annotations

from collections.abc import Hashable
from string import ascii_lowercase

from structnet.parse.errors import ParseError
from structnet.parse.lines import text_of
from structnet.parse.reading import (
    ATOM_OR_PARENTHESIS,
    Parsing,
    spelled,
    split_parentheses,
    token_offset,
)
from structnet.trees.tree import Tree

_BINARY = ("and", "or")
_VARIABLES = {letter: Tree(letter) for letter in ascii_lowercase}


def logic(text: str | bytes) -> Tree:
    """The operator tree of a logical sentence.

    A binary operator is written in two steps, ``( left ( and right ) )``, and becomes one node
    with the children left and right; ``( not a )`` becomes a node with one child.

    Reading takes about 23 times the memory of the text, and 65 times that of the densest texts.

    Args:
        text: one sentence over the operators and, or, not; any other name is a variable.

    Raises:
        ParseError: a bracket has none of these forms, brackets do not balance, there is text after
            the sentence, or no text.

    Example:
        >>> logic("( a ( and b ) )")
        <Tree (and a b)>
        >>> logic("( ( not a ) ( or ( b ( and c ) ) ) )")
        <Tree (or (not a) (and b c))>
        >>> logic("( a and b )")
        Traceback (most recent call last):
            ...
        structnet.parse.errors.ParseError: line 1, column 11: expected '( not X )' or
        '( X ( and Y ) )'; got '( a and b )'
            ( a and b )
                      ^
    """
    text = text_of(text)
    with Parsing(text):
        return _read(text)


def to_logic(tree: Tree) -> str:
    """The sentence of a tree: the inverse of :func:`logic`.

    Args:
        tree: tree of ``and`` and ``or`` with two children, ``not`` with one, and variables as
            leaves.

    Raises:
        ValueError: an operator or its number of children is wrong, a leaf is not a name, or a node
            has a token.

    Example:
        >>> to_logic(Tree("and", [Tree("a"), Tree("not", [Tree("b")])]))
        '( a ( and ( not b ) ) )'
    """

    def spell(node: Tree) -> list[str | Tree]:
        _check(node)
        if not node.children:
            return [str(node.label)]
        if node.label == "not":
            return ["(", "not", *node.children, ")"]
        left, right = node.children
        return ["(", left, "(", str(node.label), right, ")", ")"]

    return " ".join(spelled(tree, spell))


def _read(text: str) -> Tree:
    # An item is a Tree, an operator that waits for its operands (str), or one that has its right
    # operand and waits for the left (str, Tree).
    items: list = []
    unclosed: list[list] = []
    for place, token in enumerate(split_parentheses(text)):
        if token == "(":
            unclosed.append(items)
            items = []
        elif token == ")":
            if not unclosed:
                raise _error("unopened ')'", text, place)
            item = _reduce(items)
            if item is None:
                raise _error(_unexpected(items), text, place)
            items = unclosed.pop()
            items.append(item)
        elif token in _BINARY or token == "not":
            items.append(token)
        else:
            items.append(_VARIABLES.get(token) or _variable(token, text, place))
    if unclosed or len(items) != 1 or not isinstance(items[0], Tree):
        raise _incomplete(text, items)
    return items[0]


def _reduce(items: list) -> Tree | tuple[str, Tree] | None:
    """What a closed bracket stands for; None if its items are none of the known forms."""
    if len(items) != 2:
        return None
    first, second = items
    if type(first) is Tree and type(second) is tuple:
        return Tree(second[0], (first, second[1]))
    if type(first) is str and type(second) is Tree:
        return Tree("not", (second,)) if first == "not" else (first, second)
    return None


def _error(message: str, text: str, place: int) -> ParseError:
    return ParseError.at(message, text, token_offset(ATOM_OR_PARENTHESIS, text, place))


def _unexpected(items: list) -> str:
    got = ["(", *map(_shown, items), ")"]
    return f"expected '( not X )' or '( X ( and Y ) )'; got {' '.join(got)!r}"


def _shown(item: str | Tree | tuple[str, Tree]) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, tuple):
        return f"( {item[0]} {_shown(item[1])} )"
    return "X" if item.children else str(item.label)


def _variable(token: str, text: str, place: int) -> Tree:
    if not token.isidentifier():
        raise _error(f"unknown token {token!r}; expected a variable, and, or, not", text, place)
    return Tree(token)


def _incomplete(text: str, items: list) -> ParseError:
    """The error of a text that is incomplete although its closed brackets are right."""
    starts: list[int] = []  # where the top level's items start
    unclosed: list[int] = []
    for place, token in enumerate(split_parentheses(text)):
        if token != ")" and not unclosed:
            starts.append(place)
        if token == "(":
            unclosed.append(place)
        elif token == ")":
            unclosed.pop()
    if len(starts) > 1:
        return _error("text after the end of the sentence", text, starts[1])
    if unclosed:
        return _error(f"{len(unclosed)} unclosed '('", text, unclosed[-1])
    if not starts:
        return ParseError.at("no sentence", text, len(text.rstrip()))
    operator = items[0] if isinstance(items[0], str) else items[0][0]
    return _error(f"operator {operator!r} lacks an operand", text, starts[0])


def _check(node: Tree) -> None:
    arities: dict[Hashable, int] = {"not": 1, "and": 2, "or": 2}
    arity = arities.get(node.label, 0)
    if len(node.children) != arity:
        raise ValueError(
            f"a node of a logical sentence is and, or (2 children), not (1) or a variable (none); "
            f"got {node.label!r} with {len(node.children)}"
        )
    if not arity and not (isinstance(node.label, str) and node.label.isidentifier()):
        raise ValueError(f"a variable must be a name; got {node.label!r}")
