"""Writes and reads trees: in brackets on one line, and as an outline.

The functions only need ``label``, ``children`` and ``token`` of a node, so that
:class:`structnet.trees.tree.Tree` can be built on them. The brackets of treebanks, with their
traces and functions, are read by :mod:`structnet.parse.brackets`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol

_PIECE = re.compile(r"[()]|[^\s()]+")
_SHOWN = 40  # characters of a text that an error quotes


class _Node(Protocol):
    """The parts of a node that are written."""

    @property
    def label(self) -> Hashable: ...

    @property
    def children(self) -> Sequence: ...

    @property
    def token(self) -> Hashable | None: ...


def name_of(node: _Node) -> str:
    """A node's label, followed by "/" and its token if it carries one."""
    return str(node.label) if node.token is None else f"{node.label}/{node.token}"


def written(tree: _Node) -> str:
    """The tree in brackets, ``(label child child)``; a token follows its label after "/"."""
    parts: list[str] = []
    stack: list[_Node | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            parts[-1] += ")"
            continue
        parts.append("(" * bool(node.children) + name_of(node))
        if node.children:
            stack += [None, *reversed(node.children)]
    return " ".join(parts)


def outlined(tree: _Node) -> str:
    """The tree with one node per line, indented by depth, as a file browser draws folders."""
    lines = []
    stack = [(tree, 0, "")]
    open_columns: list[bool] = []  # per depth: does a sibling still follow below?
    while stack:
        node, depth, branch = stack.pop()
        # A rail costs three characters a level; past 40 levels the depth is printed instead.
        indent = f"[depth {depth}] "
        if depth <= 40:
            rails = open_columns[: max(depth - 1, 0)]
            indent = "".join("│  " if rail else "   " for rail in rails)
        lines.append(indent + branch + name_of(node))
        if depth:
            open_columns[depth - 1 :] = [branch == "├─ "]
        for place, child in reversed(list(enumerate(node.children, 1))):
            stack.append((child, depth + 1, "├─ " if place < len(node.children) else "└─ "))
    return "\n".join(lines)


def postorder_of(text: str, separator: str | None = None) -> Iterator[tuple[str, int, str | None]]:
    """Reads what :func:`written` wrote, as ``(label, number of children, token)``, children first.

    Args:
        text: one tree.
        separator: characters between a label and a token; None if there are no tokens.

    Raises:
        ValueError: the text is not one tree in balanced brackets.

    Example:
        >>> list(postorder_of("(NP (DT the))"))
        [('the', 0, None), ('DT', 1, None), ('NP', 1, None)]
    """
    opened: list[tuple[str | None, int]] = []  # labels of open brackets, once read; their places
    counts = [0]  # the children so far of each open bracket; the first counts the trees

    def node(name: str) -> tuple[str, int, str | None]:
        label, separated, token = name.partition(separator) if separator else (name, "", "")
        return label, 0, token if separated else None

    for match in _PIECE.finditer(text):
        piece, place = match.group(), match.start()
        if piece == ")" and not opened:
            raise _problem("unopened ')'", text, place)
        if counts == [1] and not opened:
            raise _problem("text after the end of the tree", text, place)
        if piece == "(":
            if opened and opened[-1][0] is None:
                opened[-1] = "", opened[-1][1]
            opened.append((None, place))
            counts.append(0)
        elif piece == ")":
            name, start = opened.pop()
            if name is None:
                raise _problem("an empty bracket", text, start)
            label, _, token = node(name)
            yield label, counts.pop(), token
            counts[-1] += 1
        elif opened and opened[-1][0] is None:
            opened[-1] = piece, opened[-1][1]
        else:
            yield node(piece)
            counts[-1] += 1
    if opened:
        raise _problem(f"{len(opened)} unclosed '('", text, opened[-1][1])
    if counts == [0]:
        raise ValueError("expected a tree in brackets, (label child child ...); got no tree")


def _problem(message: str, text: str, place: int) -> ValueError:
    shown = text[place : place + _SHOWN] + "..." * (place + _SHOWN < len(text))
    return ValueError(f"character {place + 1} of a tree in brackets: {message}, at {shown!r}")
