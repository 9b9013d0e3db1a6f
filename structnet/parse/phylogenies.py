"""Newick: the trees of phylogenetics, ``((human:0.1,chimpanzee:0.2):0.05,gorilla:0.3);``.

NEXUS files contain such trees among other things, which ``nexus`` skips.

Reference:
    Olsen, "Interpretation of the 'Newick's 8:45' tree format standard", 1990.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike

from structnet.parse.errors import ParseError
from structnet.parse.lines import content_of, file_name, text_of
from structnet.parse.nexus import COMMENT, is_nexus, tree_statements
from structnet.parse.reading import Leaves, Parsing, in_batches, spelled
from structnet.trees.number_tokens import number_of
from structnet.trees.tree import Tree

UNNAMED = "clade"  # the label of a node without a name
_PLAIN = re.compile(r"[^\s\ufeff()\[\]',:;]+")
# A comment, a quoted name (in which two quotes are one), a sign, a word, or what has no end.
_PIECE = re.compile(rf"{COMMENT}|\[[^\]]*\]|'(?:[^']|'')*'|[(),:;]|{_PLAIN.pattern}|[\['\]]")


def newick(text: str | bytes, *, names: bool = True, lengths: bool = True) -> Tree:
    """The tree of a text in Newick notation.

    A node is labelled with its name, that of a species or the support of a clade; a node without a
    name is labelled ``clade``. The length of the branch above a node is the node's token, as it is
    written. Comments, in square brackets, are dropped; names are kept as they are written, without
    quotes around them.

    Reading takes about 14 times the memory of the text, and 130 times that of the densest texts.

    Args:
        text: one tree, up to its semicolon.
        names: False to label all nodes ``clade``, if only the shape matters.
        lengths: False to drop the lengths of branches.

    Raises:
        ParseError: parentheses do not balance, a length is not a number, a quote or comment does
            not end, the semicolon is missing, or there is text after it.

    Example:
        >>> newick("((human:0.1,chimpanzee:0.2):0.05,gorilla:0.3);")
        <Tree (clade (clade/0.05 human/0.1 chimpanzee/0.2) gorilla/0.3)>
        >>> newick("(A,(B,C)0.9)root;", lengths=False)
        <Tree (root A (0.9 B C))>
        >>> newick("(A,(B,C);")
        Traceback (most recent call last):
            ...
        structnet.parse.errors.ParseError: line 1, column 1: 1 unclosed '('
            (A,(B,C);
            ^
    """
    text = text_of(text)
    if is_nexus(text):
        raise ParseError("this is NEXUS, whose trees newick_many reads", 1, 1, text.split("\n")[0])
    with Parsing(text):
        reading = _trees(text, names, lengths)
        end, tree = next(reading, (0, None))
        if tree is None:
            raise ParseError("no tree", 1, 1, "")
        behind = next(_pieces(text, end), None)
        if behind is not None:
            raise ParseError.at("text after the end of the tree", text, behind.start())
    return tree


def newick_many(
    text: str | bytes | PathLike[str], *, names: bool = True, lengths: bool = True
) -> Iterator[Tree]:
    """Yields the trees of a text or a file, each as read by :func:`newick`.

    From NEXUS it reads the trees of all TREES blocks, with the names of their ``TRANSLATE``.

    Args:
        text: any number of trees, each up to its semicolon, or NEXUS; or the ``Path`` of such a
            file.
        names, lengths: arguments of :func:`newick`.

    Raises:
        ParseError: as for :func:`newick`, after the trees before the place of the error.
        OSError: the file cannot be read.

    Example:
        >>> list(newick_many("(A,B); (C,\\n(D,E));"))
        [<Tree (clade A B)>, <Tree (clade C (clade D E))>]
        >>> nexus = ["#NEXUS", "BEGIN TREES;", "TRANSLATE 1 A, 2 B;", "TREE t = (1,2);", "END;"]
        >>> list(newick_many("\\n".join(nexus)))
        [<Tree (clade A B)>]
    """
    name = file_name(text)
    whole = text_of(content_of(text))

    def trees() -> Iterator[Tree]:
        try:
            if is_nexus(whole):
                for line, one in tree_statements(whole, _pieces):
                    yield _on_line(line, one, names, lengths)
                return
            for _, tree in _trees(whole, names, lengths):
                yield tree
        except ParseError as error:
            raise error.but(file=name) from None

    return in_batches(trees(), text)


def _on_line(line: int, text: str, names: bool, lengths: bool) -> Tree:
    """The tree of a text that begins on some line of another."""
    try:
        return newick(text, names=names, lengths=lengths)
    except ParseError as error:
        raise error.but(line=line + error.line - 1) from None


def to_newick(tree: Tree) -> str:
    """A tree in Newick notation on one line: the inverse of :func:`newick`.

    Args:
        tree: a tree whose labels are names, or ``clade`` for none, and whose tokens, if any, are
            the lengths of branches.

    Raises:
        ValueError: a token is not a number.

    Example:
        >>> to_newick(Tree("clade", [Tree("human", (), "0.1"), Tree("great ape", (), 0.2)]))
        "(human:0.1,'great ape':0.2);"
    """

    def spell(node: Tree) -> list[str | Tree]:
        last = _name(node) + _length(node)
        between: list[str | Tree] = ["(", *node.children[:1]]
        for child in node.children[1:]:
            between += [",", child]
        return [*between, f"){last}"] if node.children else [last]

    return ("".join(spelled(tree, spell, carried=True)) or UNNAMED) + ";"


def statements(text: str) -> Iterator[tuple[int, str]]:
    """The texts of trees, each up to its semicolon, with the lines on which they begin, from 1."""
    if is_nexus(text):
        yield from tree_statements(text, _pieces)
        return
    line, counted, begun = 1, 0, None
    for piece in _pieces(text):
        if begun is None:
            begun = piece.start()
            line, counted = line + text.count("\n", counted, begun), begun
        if piece[0] == ";":
            yield line, text[begun : piece.end()]
            begun = None
    if begun is not None:
        yield line, text[begun:]


def _pieces(text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """The pieces of a text from a place on, without comments."""
    return (
        piece for piece in _PIECE.finditer(text, start) if len(piece[0]) < 2 or piece[0][0] != "["
    )


def _trees(text: str, names: bool, lengths: bool) -> Iterator[tuple[int, Tree]]:
    """The trees of a text, each with the place behind its semicolon."""
    leaves = Leaves()
    opened: list[tuple[list[Tree], int]] = []  # nodes inside each open parenthesis, and its place
    below: list[Tree] | None = None  # of the node that is read
    name: str | None = None
    length: str | None = None
    for piece in _pieces(text):
        word, at = piece[0], piece.start()
        if length == "":  # behind a colon
            if number_of(word) is None:
                raise ParseError.at(f"expected the length of a branch; got {word!r}", text, at)
            length = word
        elif word in (",", ")", ";"):
            label = UNNAMED if name is None or not names else name
            token = length if lengths else None
            plain = below is None and token is None
            node = leaves[label] if plain else Tree(label, below or (), token)
            if word != ";":
                if not opened:
                    raise ParseError.at(f"{word!r} stands outside of parentheses", text, at)
                opened[-1][0].append(node)
                below = opened.pop()[0] if word == ")" else None
            elif opened:
                raise ParseError.at(f"{len(opened)} unclosed '('", text, opened[-1][1])
            elif below is name is length is None:
                raise ParseError.at("no tree before ';'", text, at)
            else:
                yield piece.end(), node
                below = None
            name = length = None
        elif word in ("[", "]", "'"):
            raise ParseError.at(f"{word!r} without its other end", text, at)
        elif length is not None or (name is not None and word != ":") or (below and word == "("):
            message = f"expected ',', ')' or ';' behind a node; got {word!r}"
            raise ParseError.at(message + " (a name with blanks is quoted)", text, at)
        elif word == "(":
            opened.append(([], at))
        elif word == ":":
            length = ""
        else:
            name = word[1:-1].replace("''", "'") if word[0] == "'" else word
    if opened:
        raise ParseError.at(f"{len(opened)} unclosed '('", text, opened[-1][1])
    if not (below is name is length is None):
        raise ParseError.at("no ';' behind the tree", text, len(text.rstrip()))


def _name(node: Tree) -> str:
    label = str(node.label)
    if label == UNNAMED:
        return ""
    return label if _PLAIN.fullmatch(label) else "'" + label.replace("'", "''") + "'"


def _length(node: Tree) -> str:
    if node.token is None:
        return ""
    length = number_of(node.token)
    if length is None:
        raise ValueError(f"the length of a branch must be a number; got the token {node.token!r}")
    return f":{node.token if isinstance(node.token, str | int) else length}"
