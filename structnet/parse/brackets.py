"""Trees in labelled brackets, as in the Penn Treebank and the Stanford Sentiment Treebank.

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
from itertools import chain
from typing import Any, Literal, TypeAlias

from structnet.checks import check_one_of
from structnet.parse.errors import ParseError, warn_of_skipped
from structnet.parse.lines import (
    UTF_8,
    Line,
    Lines,
    decoded_lines,
    file_name,
    numbered_lines,
    raw_lines,
)
from structnet.parse.reading import (
    ATOM_OR_PARENTHESIS,
    Leaves,
    Parsing,
    in_batches,
    spelled,
    split_parentheses,
    token_offset,
)
from structnet.trees.tree import Tree

# Newick, or a tuple as Python writes it.
OF_OTHERS = re.compile(r"\),|,\(|\A\s*\((['\"])[^()]*\1,\s*[()]")


def bracketed(
    text: str | bytes | Iterable[str] | Iterable[bytes],
    *,
    unwrap: bool = True,
    remove_traces: bool = False,
    strip_functions: bool = False,
) -> Tree:
    """The single tree of a text in labelled brackets, on one or more lines.

    A word is a leaf and its part of speech a node above it; a leaf may have brackets of its own, as
    programs write them: ``(a (b) c)`` is ``(a b c)``. Words are kept as they are written, including
    ``-LRB-`` and ``\\/``; labels are strings, also in sentiment trees.

    Reading takes about 25 times the memory of a treebank, and 95 times that of the densest texts.

    Args:
        text: ``(label child child ...)``, where a child is a word or a bracket; or its lines.
            Bytes must be UTF-8.
        unwrap: True to drop an outer bracket without a label around a single child, as in
            ``( (S ...) )``.
        remove_traces: True to drop empty elements, labelled ``-NONE-``, and the nodes that are left
            without a word.
        strip_functions: True to cut labels down to their category: ``NP-SBJ-1`` and ``NP=2`` become
            ``NP``; ``-LRB-`` and ``-NONE-`` stay.

    Raises:
        ParseError: it is text of another format; brackets do not balance, or lack a label; there
            are words outside of brackets; there is a second tree, or none; or a tree has only
            traces, and these are removed.

    Example:
        >>> bracketed("( (S (NP-SBJ (PRP It)) (VP (VBZ works))) )")
        <Tree (S (NP-SBJ (PRP It)) (VP (VBZ works)))>
        >>> bracketed("(3 (2 It) (3 works))")
        <Tree (3 (2 It) (3 works))>
        >>> bracketed("(VP (VB go) (NP-TMP (-NONE- *T*-1)))", remove_traces=True)
        <Tree (VP (VB go))>
    """
    if isinstance(text, str) and (comma := OF_OTHERS.search(text)):
        raise ParseError.at(
            "a comma beside a bracket; structnet.parse.newick reads Newick, and nested tuples",
            text,
            comma.start(),
        )
    lines = numbered_lines(text)
    nodes = _Nodes(unwrap, remove_traces, strip_functions)
    with Parsing(text):
        trees = list(_trees(lines, nodes, only_one=True))
    if not trees:
        raise ParseError("no tree", 1, 1, "")
    return trees[0]


def bracketed_many(
    text: Lines,
    *,
    unwrap: bool = True,
    remove_traces: bool = False,
    strip_functions: bool = False,
    errors: Literal["raise", "skip"] = "raise",
    encoding: str = UTF_8,
) -> Iterator[Tree]:
    """Yields the trees of a text or a file, each as read by :func:`bracketed`.

    Up to 1,024 trees of a text or a file are made before they are used. A bracket that lacks its
    word, ``(NP )``, is read as the word ``NP``.

    Args:
        text: any number of trees, each on one or more lines; a ``Path`` to a file of them; or its
            lines.
        unwrap, remove_traces, strip_functions: arguments of :func:`bracketed`.
        errors: "raise" to stop at the first invalid tree; "skip" to leave invalid trees out and
            end with one warning that says how many there were. After the first of them, each line
            that begins with a bracket begins a tree.
        encoding: encoding of a file, and of lines that are bytes.

    Raises:
        ParseError: as for :func:`bracketed`, but with any number of trees.
        ValueError: ``errors`` is neither of the two.
        OSError: the file cannot be read.
        LookupError: Python does not know the encoding.

    Warns:
        UserWarning: trees were left out because of ``errors``.

    Example:
        >>> list(bracketed_many("(NN dog) (NP (DT the)\\n (NN cat))"))
        [<Tree (NN dog)>, <Tree (NP (DT the) (NN cat))>]
    """
    check_one_of("errors", errors, ("raise", "skip"), "bracketed_many")
    nodes = _Nodes(unwrap, remove_traces, strip_functions)
    name = file_name(text)
    if errors == "skip":
        lines = enumerate(raw_lines(text, encoding), start=1)
        return in_batches(_good_trees(lines, nodes, name, encoding), text)
    return in_batches(_trees(numbered_lines(text, encoding), nodes, False, name), text)


def to_bracketed(tree: Tree) -> str:
    """A tree in labelled brackets on one line: the inverse of :func:`bracketed`.

    Args:
        tree: tree.

    Raises:
        ValueError: a node carries a token, or a label is empty or contains whitespace or a
            parenthesis.

    Example:
        >>> to_bracketed(Tree("NP", [Tree("DT", [Tree("the")]), Tree("NN", [Tree("cat")])]))
        '(NP (DT the) (NN cat))'
        >>> to_bracketed(Tree("cat"))
        '(cat)'
    """

    def spell(node: Tree) -> list[str | Tree]:
        label = _checked_label(node)
        bare = not node.children and node is not tree
        return [f" {label}"] if bare else [f" ({label}", *node.children, ")"]

    return "".join(spelled(tree, spell)).lstrip()


# What an open bracket resumes when it closes, and where it stands: the label of the bracket around
# it and its children so far, the line's number, the line, and the place among its tokens.
_Open: TypeAlias = tuple[str | None, list, int, str, int]


class _Nodes:
    """Makes nodes by the caller's options; a word below its tag is stored once."""

    def __init__(self, unwrap: bool, remove_traces: bool, strip_functions: bool) -> None:
        self.unwrap = unwrap
        self.remove_traces, self.strip_functions = remove_traces, strip_functions
        self.tagged: dict[tuple[str, str], Tree] = {}
        self.leaves = Leaves()

    def node(self, label: str, children: list[Any]) -> Tree | None:
        """The node of a bracket; None if it is a trace, or has no other children."""
        if not children and label != "-NONE-":
            return self.leaves[label]
        if self.remove_traces:
            children = [child for child in children if child is not None]
            if label == "-NONE-" or not children:
                return None
        if self.strip_functions:
            label = _category(label)
        if len(children) != 1 or children[0].children:
            return Tree(label, children)
        key = label, children[0].label
        node = self.tagged.get(key)
        if node is None:
            node = self.tagged[key] = Tree(label, children)
        return node

    def root(self, label: str, children: list[Any]) -> Tree | None:
        """The node of an outermost bracket."""
        if self.unwrap and not label and len(children) == 1:
            return children[0]
        return self.node(label, children)


def _trees(
    lines: Iterable[tuple[int, str]],
    nodes: _Nodes,
    only_one: bool,
    name: str | None = None,
    opened: list[_Open] | None = None,
) -> Iterator[Tree]:
    # One loop over split tokens, with the state of the innermost bracket in variables: a treebank
    # has millions of tokens, and a call for each would take most of the time.
    leaves = nodes.leaves
    opened = [] if opened is None else opened  # by which the caller knows what an error left open
    label: str | None = None  # of the innermost open bracket, once it is known
    children: list[Any] = []  # of it; trees read before, where no bracket is open
    for number, source in lines:
        for place, token in enumerate(split_parentheses(source)):
            if token == "(":
                if label is None:
                    _check_open(opened, children, (number, source, place), name)
                    label = "" if opened else None  # which only an outermost bracket may have
                opened.append((label, children, number, source, place))
                label, children = None, []
            elif token != ")":
                if label is not None:
                    children.append(leaves[token])
                elif opened:
                    label = token
                else:
                    message = f"{token!r} stands outside of brackets"
                    raise _error(message, number, source, place, name)
            elif not opened or label is None:
                message = "an empty bracket" if opened else "unopened ')'"
                raise _error(message, number, source, place, name)
            elif len(opened) > 1:
                node = nodes.node(label, children)
                label, children, _, _, _ = opened.pop()
                children.append(node)
            else:
                tree = nodes.root(label, children)
                if tree is None:
                    message = "nothing is left of this tree without its traces"
                    raise _error(message, *opened[0][2:], name)
                label, children, _, _, _ = opened.pop()
                if only_one:
                    children.append(tree)
                yield tree
    if opened:
        message = f"{len(opened)} unclosed '('" + _where(opened)
        raise _error(message, *opened[-1][2:], name)


def _good_trees(
    lines: Iterator[Line], nodes: _Nodes, name: str | None, encoding: str
) -> Iterator[Tree]:
    """The trees of lines; lines without a tree are skipped, with one warning at the end.

    Where a bracket is never closed, the tree ends with the text only. So behind the first error the
    lines below the one on which its tree began are read again, cut before each line that begins
    with a bracket. No line is read a third time.
    """
    kept: list[Line] = []  # lines since the last tree
    opened: list[_Open] = []
    bad: list[ParseError] = []
    total = 0

    def followed() -> Iterator[Line]:
        for line in lines:
            kept.append(line)
            yield line

    def good(trees: Iterator[Tree]) -> Iterator[Tree]:
        nonlocal total
        try:
            for tree in trees:
                del kept[:-1]
                total += 1
                yield tree
        except ParseError as error:
            total += 1
            bad.append(error)

    yield from good(_trees(decoded_lines(followed(), encoding), nodes, False, name, opened))
    if bad:
        begun = opened[0][2] if opened else bad[0].line
        again = [line for line in kept if line[0] > begun]
        for block in _begun(chain(again, lines)):
            yield from good(_trees(decoded_lines(block, encoding), nodes, False, name))
    warn_of_skipped(bad, total, "trees", name)


def _begun(lines: Iterable[Line]) -> Iterator[list[tuple[int, str | bytes]]]:
    """The lines from each one that begins with a bracket up to the next such one."""
    block: list[Line] = []
    for line in lines:
        if line[1][:1] in ("(", b"("):
            if block:
                yield block
            block = [line]
        elif block:
            block.append(line)
    if block:
        yield block


def _error(message: str, number: int, source: str, place: int, name: str | None) -> ParseError:
    offset = token_offset(ATOM_OR_PARENTHESIS, source, place)
    return ParseError(message, number, offset + 1, source, name)


def _check_open(
    opened: list[_Open], trees: list[Any], here: tuple[int, str, int], name: str | None
) -> None:
    """Refuses a bracket before which a label is missing, or another tree stands."""
    if len(opened) > 1:
        raise _error("a bracket without a label" + _where(opened), *opened[-1][2:], name)
    if trees and not opened:
        raise _error("text after the end of the tree", *here, name)


def _where(opened: list[_Open]) -> str:
    first, here = opened[0][2], opened[-1][2]
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
