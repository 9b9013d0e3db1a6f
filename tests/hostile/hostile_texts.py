"""Every parser against texts made to harm it: a tree that is one, or an error with its place.

The n-th text of a parser follows from the seed, the parser's name and n alone, so that a failure is
repeated by ``tried(TARGETS[name], seed, n)``.
"""

from __future__ import annotations

import re
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from mutations import encoded, mutated

from structnet.parse import ParseError
from structnet.trees import Tree

SECONDS = 1.0  # of the processor, for a text of at most 2,000 characters
Text = str | bytes
Options = dict[str, Any]


class HangError(Exception):
    """A parser took too long."""


@dataclass(frozen=True)
class Target:
    """A parser and what it is tried with.

    Attributes:
        read: the trees of a text.
        texts: valid texts.
        pieces: what the format's grammar gives a meaning to.
        options: draws the parser's arguments.
        compare: asserts that the trees of a text that was read are the right ones.
    """

    name: str
    read: Callable[..., list[Tree]]
    texts: tuple[str, ...]
    pieces: tuple[str, ...]
    options: Callable[[Random], Options] = lambda rng: {}
    compare: Callable[[Text, list[Tree], Options], None] = lambda text, trees, options: None


def case(target: Target, seed: int, number: int) -> tuple[Text, Options]:
    """The text of a number, and the arguments that it is read with."""
    rng = Random(f"{target.name} {seed} {number}")
    text: Text = mutated(rng, target.texts, target.pieces)
    kind = rng.random()
    if kind < 0.25:
        text = encoded(rng, str(text))
    return text, target.options(rng)


def tried(target: Target, seed: int, number: int) -> bool:
    """Whether the text of a number was read; False if it was refused as it is to be.

    Raises:
        HangError: it takes too long.
        AssertionError: the error has no place in the text, or the trees are none, or wrong.
        Exception: whatever else than a ParseError the parser raises.
    """
    text, options = case(target, seed, number)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        trees = target.read(text, **options)
    except ParseError as error:
        check_place(error, text)
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    for tree in trees:
        check_tree(tree)
    target.compare(text, trees, options)
    return True


def failures(
    target: Target, seed: int, start: int, end: int
) -> Iterator[tuple[int, BaseException]]:
    """The numbers of the texts that something is wrong with, and what."""
    with _limited(), warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning that nobody foresaw is a failure, too
        warnings.filterwarnings("ignore", ".*were skipped, as they are no trees")
        warnings.filterwarnings("ignore", "invalid escape sequence")  # of bytes so encoded
        for number in range(start, end):
            try:
                tried(target, seed, number)
            except Exception as error:
                yield number, error


@contextmanager
def _limited() -> Iterator[None]:
    """The timer of ``tried`` is heard."""

    def late(*_: object) -> None:
        raise HangError(f"no end after {SECONDS} s")

    before = signal.signal(signal.SIGVTALRM, late)
    try:
        yield
    finally:
        signal.signal(signal.SIGVTALRM, before)


def check_place(error: ParseError, text: Text) -> None:
    """The error's place lies in the text, and its line is one of the text's."""
    assert error.message and "\n" not in error.summary, repr(error.summary)
    assert 1 <= error.column <= len(error.source) + 1, (error.column, error.source)
    assert str(error).startswith(error.summary)
    if isinstance(text, str):
        assert 1 <= error.line <= len(re.split("\r\n|\r|\n", text)), error.line
        assert error.source in text, error.source
    else:
        assert 1 <= error.line <= 1 + len(text)


def check_tree(tree: Tree) -> None:
    """Sizes, heights and hashes are those of a tree built anew; labels are texts."""

    def rebuilt(node: Tree, below: list[Tree]) -> Tree:
        assert isinstance(node.label, str) and isinstance(node.token, str | None)
        again = Tree(node.label, below, node.token)
        assert (again.size, again.height) == (node.size, node.height)
        return again

    assert type(tree) is Tree
    again = tree.fold(rebuilt)
    assert again == tree and hash(again) == hash(tree)
    assert len(list(tree.preorder())) == tree.size
