"""ListOps expressions: nested list operations on digits, such as ``[MAX 2 9 [MIN 4 7 ] 0 ]``.

Reference:
    Nangia and Bowman, "ListOps: A Diagnostic Dataset for Latent Tree Learning", NAACL SRW 2018.
"""

from __future__ import annotations

import re

from structnet.parse.errors import ParseError
from structnet.parse.lines import text_of
from structnet.parse.reading import Parsing, spelled, token_offset
from structnet.trees.tree import Tree

_DIGITS = {digit: Tree(digit) for digit in "0123456789"}
_TRAILING = "text after the end of the expression"
# The tokens that _split finds, with their places: only errors need them.
_TOKEN = re.compile(r"[()\]]|\[[^\s()\[\]]*|[^\s()\[\]]+")


def listops(text: str | bytes) -> Tree:
    """The tree of a ListOps expression.

    Two notations are read: the plain one, and the published one, in which parentheses pair up
    tokens, ``( ( ( [MAX 1 ) 2 ) ] )``. The parentheses tell nothing that the brackets do not, so
    they are only checked to balance.

    Reading takes about 27 times the memory of the text, and 110 times that of the densest texts.

    Args:
        text: one expression; in the tree, operators are inner labels and digits 0 to 9 leaves.

    Raises:
        ParseError: there is an unknown token, an operator without operands, or text after the
            expression; brackets or parentheses do not balance; or there is no text.

    Example:
        >>> listops("[MAX 2 9 [MIN 4 7 ] 0 ]")
        <Tree (MAX 2 9 (MIN 4 7) 0)>
        >>> listops("( ( ( [MAX 1 ) 2 ) ] )")
        <Tree (MAX 1 2)>
        >>> listops("[MAX 1 [MIN 2")
        Traceback (most recent call last):
            ...
        structnet.parse.errors.ParseError: line 1, column 8: 2 unclosed '['
            [MAX 1 [MIN 2
                   ^
    """
    text = text_of(text)
    with Parsing(text):
        return _read(text)


def to_listops(tree: Tree, binary: bool = False) -> str:
    """The expression of a tree: the inverse of :func:`listops`.

    Args:
        tree: tree whose inner labels are operators and whose leaves are digits 0 to 9.
        binary: True to write the published notation, with parentheses that pair up tokens.

    Raises:
        ValueError: a leaf is not a digit, a label contains whitespace or a bracket, or a node has a
            token.

    Example:
        >>> tree = Tree("MAX", [Tree("1"), Tree("MIN", [Tree("4"), Tree("7")])])
        >>> to_listops(tree)
        '[MAX 1 [MIN 4 7 ] ]'
        >>> to_listops(tree, binary=True)
        '( ( ( [MAX 1 ) ( ( ( [MIN 4 ) 7 ) ] ) ) ] )'
    """

    def spell(node: Tree) -> list[str | Tree]:
        if not node.children:
            return [_checked_digit(node)]
        tokens: list[str | Tree] = [_checked_operator(node), *node.children, "]"]
        if not binary:
            return tokens
        # k operands and the bracket close k + 1 pairs, all of which open before the operator.
        closed = [part for token in tokens[1:] for part in (token, ")")]
        return [*"(" * (len(node.children) + 1), tokens[0], *closed]

    return " ".join(spelled(tree, spell))


def _read(text: str) -> Tree:
    roots: list[Tree] = []
    children = roots
    unclosed: list[tuple[str, list[Tree]]] = []  # the open operators, each with its siblings
    parentheses = 0
    # One loop over split tokens, the commonest tests first: a training file has millions of them.
    for place, token in enumerate(_split(text)):
        if token in _DIGITS:
            children.append(_DIGITS[token])
        elif token == ")":
            parentheses -= 1
            if parentheses < 0:
                raise _error("unopened ')'", text, place)
        elif token == "(":
            if roots:
                raise _error(_TRAILING, text, place)
            parentheses += 1
        elif token == "]":
            if not unclosed or not children:
                raise _error(_bad_close(unclosed), text, place)
            operator, siblings = unclosed.pop()
            siblings.append(Tree(operator, children))
            children = siblings
        elif token[0] == "[" and len(token) > 1:
            unclosed.append((token[1:], children))
            children = []
        else:
            raise _error(_unknown(token), text, place)
    if unclosed or parentheses or len(roots) != 1:
        raise _incomplete(text)
    return roots[0]


def _split(text: str) -> list[str]:
    spaced = text.replace("[", " [").replace("]", " ] ")
    return spaced.replace("(", " ( ").replace(")", " ) ").split()


def _error(message: str, text: str, place: int) -> ParseError:
    return ParseError.at(message, text, token_offset(_TOKEN, text, place))


def _bad_close(unclosed: list) -> str:
    return f"operator {unclosed[-1][0]!r} has no operands" if unclosed else "unopened ']'"


def _unknown(token: str) -> str:
    if token == "[":
        return "an operator's name must follow '[' directly"
    return f"unknown token {token!r}; expected a digit 0-9, '[NAME' or ']'"


def _incomplete(text: str) -> ParseError:
    """The error of a text whose tokens are right, but which does not end after one tree."""
    unclosed: dict[str, list[int]] = {"[": [], "(": []}
    roots = 0
    for place, token in enumerate(_split(text)):
        if token == "]":
            unclosed["["].pop()
        elif token == ")":
            unclosed["("].pop()
        else:
            if token != "(" and not unclosed["["]:
                roots += 1
            if roots > 1:
                return _error(_TRAILING, text, place)
            if token[0] in unclosed:
                unclosed[token[0]].append(place)
    for bracket, places in unclosed.items():
        if places and roots:
            return _error(f"{len(places)} unclosed {bracket!r}", text, places[-1])
    return ParseError.at("no expression", text, len(text.rstrip()))


def _checked_digit(leaf: Tree) -> str:
    if leaf.label not in _DIGITS:
        raise ValueError(f"a leaf of a ListOps tree must be a digit '0' to '9'; got {leaf.label!r}")
    return leaf.label


def _checked_operator(node: Tree) -> str:
    if not isinstance(node.label, str) or not re.fullmatch(r"[^\s()\[\]]+", node.label):
        raise ValueError(
            f"an operator of a ListOps tree must be a name without blanks or brackets; "
            f"got {node.label!r}"
        )
    return "[" + node.label
