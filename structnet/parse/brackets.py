"""Trees in labelled brackets: the Penn Treebank, the Stanford Sentiment Treebank, and their like.

References:
    Marcus, Santorini and Marcinkiewicz, "Building a Large Annotated Corpus of English: The Penn
    Treebank", Computational Linguistics 1993.
    Socher et al., "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank",
    EMNLP 2013.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from structnet.parse.errors import ParseError
from structnet.parse.lines import numbered_lines
from structnet.parse.reading import (
    ATOM_OR_PARENTHESIS,
    spelled,
    split_parentheses,
    token_offset,
)
from structnet.trees.tree import Tree


def bracketed(
    text: str | Iterable[str],
    *,
    unwrap: bool = True,
    remove_traces: bool = False,
    strip_functions: bool = False,
) -> Tree:
    """The one tree of a text in labelled brackets, on one line or on several.

    A word is a leaf and its part of speech a node over it. Words are kept as they are written,
    ``-LRB-`` and ``\\/`` included; labels are strings, those of sentiment trees too.

    Args:
        text: ``(label child child ...)``, a child being a word or a bracket; or lines of it.
        unwrap: drop an outer bracket that has no label and only one child, as in ``( (S ...) )``.
        remove_traces: drop empty elements, labelled ``-NONE-``, and the nodes that they leave
            without a word.
        strip_functions: cut labels down to their category: ``NP-SBJ-1`` and ``NP=2`` become
            ``NP``; ``-LRB-`` and ``-NONE-`` stay.

    Raises:
        ParseError: brackets that do not balance, or lack a label or a child; words outside of
            brackets; a second tree; no tree; a tree of nothing but traces if these are removed.

    Example:
        >>> bracketed("( (S (NP-SBJ (PRP It)) (VP (VBZ works))) )")
        <Tree (S (NP-SBJ (PRP It)) (VP (VBZ works)))>
        >>> bracketed("(3 (2 It) (3 works))")
        <Tree (3 (2 It) (3 works))>
        >>> bracketed("(VP (VB go) (NP-TMP (-NONE- *T*-1)))", remove_traces=True)
        <Tree (VP (VB go))>
    """
    reader = _Reader(True, unwrap, remove_traces, strip_functions)
    trees = list(reader.trees(text))
    if not trees:
        raise ParseError("no tree", 1, 1, "")
    return trees[0]


def bracketed_many(
    text: str | Iterable[str],
    *,
    unwrap: bool = True,
    remove_traces: bool = False,
    strip_functions: bool = False,
) -> Iterator[Tree]:
    """The trees of a text or an open file one after the other, each as :func:`bracketed` reads it.

    Args:
        text: any number of trees, each on one line or on several; or an iterable of lines.
        unwrap, remove_traces, strip_functions: arguments of :func:`bracketed`.

    Raises:
        ParseError: as for :func:`bracketed`, but for the number of trees.

    Example:
        >>> list(bracketed_many("(NN dog) (NP (DT the)\\n (NN cat))"))
        [<Tree (NN dog)>, <Tree (NP (DT the) (NN cat))>]
    """
    return _Reader(False, unwrap, remove_traces, strip_functions).trees(text)


def to_bracketed(tree: Tree) -> str:
    """A tree in labelled brackets on one line: the inverse of :func:`bracketed`.

    Args:
        tree: a tree of at least two nodes.

    Raises:
        ValueError: the tree is a leaf, a node carries a token, or a label is empty or has a blank
            or a parenthesis in it.

    Example:
        >>> to_bracketed(Tree("NP", [Tree("DT", [Tree("the")]), Tree("NN", [Tree("cat")])]))
        '(NP (DT the) (NN cat))'
    """
    if not tree.children:
        raise ValueError(f"a tree in brackets has at least two nodes; got the leaf {tree.label!r}")

    def spell(node: Tree) -> list[str | Tree]:
        label = _checked_label(node)
        return [f" ({label}", *node.children, ")"] if node.children else [f" {label}"]

    return "".join(spelled(tree, spell)).lstrip()


class _Position(NamedTuple):
    line: int
    source: str
    place: int  # of the token, in its line

    def error(self, message: str) -> ParseError:
        offset = token_offset(ATOM_OR_PARENTHESIS, self.source, self.place)
        return ParseError(message, self.line, offset + 1, self.source)


class _Open(NamedTuple):
    """What an open bracket resumes when it closes, and where it stands."""

    label: str | None  # of the bracket around it
    siblings: list[Tree]
    position: _Position


class _Reader:
    """Trees from lines of tokens; holds what is open between two lines."""

    def __init__(
        self, only_one: bool, unwrap: bool, remove_traces: bool, strip_functions: bool
    ) -> None:
        self.only_one, self.unwrap = only_one, unwrap
        self.remove_traces, self.strip_functions = remove_traces, strip_functions
        self.line, self.source, self.place = 0, "", 0  # of the token being read
        self.leaves: dict[str, Tree] = {}  # a word is stored once, however often it occurs
        self.unclosed: list[_Open] = []
        self.label: str | None = None  # of the innermost open bracket, once it is known
        self.children: list[Tree] = []  # of the innermost open bracket

    def trees(self, text: str | Iterable[str]) -> Iterator[Tree]:
        for line, source in numbered_lines(text):
            self.line, self.source = line, source
            for place, token in enumerate(split_parentheses(source)):
                self.place = place
                if token == "(":
                    self._open()
                elif token != ")":
                    self._word(token)
                elif (tree := self._close()) is not None:
                    yield tree
        if self.unclosed:
            message = f"{len(self.unclosed)} unclosed '('" + self._where()
            raise self.unclosed[-1].position.error(message)

    def _here(self) -> _Position:
        return _Position(self.line, self.source, self.place)

    def _open(self) -> None:
        if not self.unclosed and self.children:
            raise self._here().error("text after the end of the tree")
        if self.unclosed and self.label is None:
            # Only the outermost bracket may go without a label.
            if len(self.unclosed) > 1:
                raise self.unclosed[-1].position.error("a bracket without a label" + self._where())
            self.label = ""
        self.unclosed.append(_Open(self.label, self.children, self._here()))
        self.label, self.children = None, []

    def _word(self, token: str) -> None:
        if not self.unclosed:
            raise self._here().error(f"{token!r} stands outside of brackets")
        if self.label is None:
            self.label = token
            return
        leaf = self.leaves.get(token)
        if leaf is None:
            leaf = self.leaves[token] = Tree(token)
        self.children.append(leaf)

    def _close(self) -> Tree | None:
        if not self.unclosed:
            raise self._here().error("unopened ')'")
        if not self.children:
            what = "an empty bracket" if self.label is None else f"{self.label!r} without a child"
            raise self._here().error(what)
        node = Tree(self.label, self.children)
        self.label, self.children, opened = self.unclosed.pop()
        if self.unclosed:
            self.children.append(node)
            return None
        tree = self._rewritten(node)
        if tree is None:
            raise opened.error("nothing is left of this tree without its traces")
        if self.only_one:
            self.children.append(tree)
        return tree

    def _rewritten(self, tree: Tree) -> Tree | None:
        """A tree that was read as it was asked for; None if nothing is left of it."""
        if self.unwrap and tree.label == "" and len(tree.children) == 1:
            tree = tree.children[0]
        if self.remove_traces or self.strip_functions:
            return tree.fold(self._rebuilt)
        return tree

    def _rebuilt(self, node: Tree, children: list[Tree | None]) -> Tree | None:
        if not node.children:
            return node
        kept = [child for child in children if child is not None]
        if self.remove_traces and (node.label == "-NONE-" or not kept):
            return None
        return Tree(_category(node.label) if self.strip_functions else node.label, kept)

    def _where(self) -> str:
        first = self.unclosed[0].position.line
        here = self.unclosed[-1].position.line
        return "" if here == first else f" in the tree that starts on line {first}"


@lru_cache(maxsize=4096)
def _category(label: str) -> str:
    # Where the category itself would be empty, as of -LRB- or =, the hyphen is part of it.
    return re.split("[-=]", label, maxsplit=1)[0] or label


def _checked_label(node: Tree) -> str:
    label = str(node.label)
    if split_parentheses(label) != [label] or label in "()":
        raise ValueError(f"a label in brackets is a word without blanks or brackets; got {label!r}")
    return label
