"""Functions that the parsers share: places of tokens, building trees without recursion."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from structnet.parse.errors import ParseError
from structnet.trees.memory import collector_paused
from structnet.trees.tree import Tree

# The tokens of split_parentheses, with their places.
ATOM_OR_PARENTHESIS = re.compile(r"[()]|[^\s()]+")

_LONG = 50_000  # characters
_BATCH = 1024  # trees

N = TypeVar("N", bound=Hashable)  # a node, by its name or number


def split_parentheses(text: str) -> list[str]:
    """The parentheses of a text and the words between them.

    Example:
        >>> split_parentheses("(NP (DT the))")
        ['(', 'NP', '(', 'DT', 'the', ')', ')']
    """
    return text.replace("(", " ( ").replace(")", " ) ").split()


def token_offset(pattern: re.Pattern[str], text: str, place: int) -> int:
    """The offset at which token number ``place`` of a text starts.

    A parser splits its text the fast way and counts tokens; only an error needs the offset.

    Example:
        >>> token_offset(re.compile("[a-z]+"), "one  two", 1)
        5
    """
    return next(islice(pattern.finditer(text), place, None)).start()


def spelled(
    tree: Tree, spell: Callable[[Tree], Sequence[str | Tree]], carried: bool = False
) -> list[str]:
    """A tree written as words, in order.

    Args:
        tree: the tree.
        spell: function from a node to its words, with its children in their places.
        carried: True if ``spell`` also writes the token of a node.

    Raises:
        ValueError: a node carries a token, which this notation has no place for.
    """
    tokens: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            tokens.append(item)
            continue
        if item.token is not None and not carried:
            raise ValueError(
                f"this notation has no place for the token {item.token!r} of {item.label!r}"
            )
        stack.extend(reversed(spell(item)))
    return tokens


def cycle_above(node: N, parent: Callable[[N], N]) -> list[N]:
    """The nodes of the cycle that going up from a node leads into, the first one first."""
    path: dict[N, int] = {}  # nodes and their places on the way
    while node not in path:
        path[node] = len(path)
        node = parent(node)
    return list(path)[path[node] :]


class Parsing:
    """The context in which a parser reads one text: without garbage collection, if that is long.

    The collector starts over after every pause, which costs more than reading a short text.

    Args:
        text: the text.

    Raises:
        ParseError: that of the parser; if the text is the name of a file, it says what to give.
    """

    def __init__(self, text: object):
        short = isinstance(text, (str, bytes)) and len(text) < _LONG
        self.text, self.paused = text, None if short else collector_paused()

    def __enter__(self) -> None:
        if self.paused is not None:
            self.paused.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self.paused is not None:
            self.paused.__exit__(kind, error, trace)
        if isinstance(error, ParseError):
            explained = _of_a_file_name(error, self.text, ".read_bytes()")
            if explained is not error:
                raise explained from None


def in_batches(trees: Iterator[Tree], source: object) -> Iterator[Tree]:
    """Yields the trees; those of a text or a file are made in batches with the collector paused.

    Trees of a stream are made one by one, as its lines may arrive slowly.

    Raises:
        ParseError: the text is bad; if it is the name of a file, the error says what to give.
    """
    if not isinstance(source, (str, bytes, PathLike)):
        yield from trees
        return
    size, full = 1, True
    while full:
        batch: list[Tree] = []
        try:
            with collector_paused():
                for tree in islice(trees, size):
                    batch.append(tree)
        except ParseError as error:
            raise _of_a_file_name(error, source) from None
        finally:  # those before an error are handed out, too
            yield from batch
        full = len(batch) == size
        size = min(2 * size, _BATCH)


def _of_a_file_name(error: ParseError, source: object, read: str = "") -> ParseError:
    """The error of a text; if the text is the name of a file, the error says how to read the
    file.
    """
    with suppress(OSError, ValueError):  # a text may be too long for a name, or have a null in it
        if isinstance(source, str) and Path(source).is_file():
            message = f"{error.message}; to read this file, give Path({source!r}){read}"
            return error.but(message=message)
    return error


class Leaves(dict[Hashable, Tree]):
    """The leaf of each label, stored once however often it occurs.

    Example:
        >>> leaves = Leaves()
        >>> leaves["the"] is leaves["the"]
        True
    """

    def __missing__(self, label: Hashable) -> Tree:
        leaf = self[label] = Tree(label)
        return leaf


def unfold(
    root: object, expand: Callable[[Any], tuple[Hashable, Sequence, Hashable | None]]
) -> Tree:
    """The Tree of nested objects of any kind, without recursion.

    Args:
        root: the outermost object.
        expand: function that gives an object's label, the objects below it in order, and its token
            or None. Objects that are Trees already are used as they are.

    Raises:
        ValueError: an object contains itself.

    Example:
        >>> unfold(3, lambda n: (n, range(n - 1, 0, -1), None))
        <Tree (3 (2 1) 1)>
    """
    done: dict[int, Tree] = {}  # what has children, by its identity ...
    kept: list[object] = []  # ... which nothing else may take meanwhile
    above: set[int] = set()
    built: list[Tree] = []
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if type(node) is _Expanded:
            key, label, count, token = node
            tree = Tree(label, built[-count:], token)
            built[-count:] = [tree]
            done[key] = tree
            above.discard(key)
            continue
        if type(node) is Tree:
            built.append(node)
            continue
        key = id(node)
        if key in done:  # the same object in two places is one subtree, built once
            built.append(done[key])
            continue
        label, below, token = expand(node)
        if not len(below):
            built.append(Tree(label, (), token))
            continue
        if key in above:
            raise ValueError(f"a {type(node).__name__} contains itself; a tree cannot")
        above.add(key)
        kept.append(node)
        stack.append(_Expanded((key, label, len(below), token)))
        stack.extend(reversed(below))
    return built[0]


class _Expanded(tuple):
    """An object whose children are being built: its identity, label, their number, its token."""
