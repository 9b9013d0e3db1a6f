"""NEXUS, in which phylogeny software writes trees among characters and settings.

Reference:
    Maddison, Swofford and Maddison, "NEXUS: An Extensible File Format for Systematic Information",
    Systematic Biology 46(4), 1997.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile

from structnet.parse.errors import ParseError

Pieces = Callable[[str, int], Iterator[re.Match[str]]]
COMMENT = r"\[[^\[\]]*\]"
for _ in range(3):  # comments within comments; a regular expression cannot count them
    COMMENT = rf"\[[^\[\]]*(?:{COMMENT}[^\[\]]*)*\]"
_BEGIN = re.compile(r"\s*#NEXUS", re.IGNORECASE)
# A comment, which may hold a block that does not count, or the beginning of one.
_SPACE = rf"(?:\s|{COMMENT})"
_BLOCK = re.compile(
    rf"{COMMENT}|(?<![^\s;\]])begin{_SPACE}+(?:trees|taxa){_SPACE}*;", re.IGNORECASE
)


def is_nexus(text: str) -> bool:
    """Whether a text begins as NEXUS does.

    Example:
        >>> is_nexus("#nexus\\nbegin trees;"), is_nexus("(A,B);")
        (True, False)
    """
    return _BEGIN.match(text) is not None


def tree_statements(text: str, pieces: Pieces) -> Iterator[tuple[int, str]]:
    """The trees of all TREES blocks in Newick notation, with the lines on which they begin.

    Leaves get the names of the block's table (``TRANSLATE``); without a table, numbers stand for
    the taxa (``TAXLABELS``), unless a taxon has such a number as its name.

    Args:
        text: NEXUS.
        pieces: function that finds the words and signs of a text from a place on, without comments.

    Raises:
        ParseError: an entry of the table is not a short name and a name.
    """
    line, counted = 1, 0
    taxa: dict[str, str] = {}
    for block in _BLOCK.finditer(text):
        if block[0][0] == "[":
            continue
        names: dict[str, str] = {}
        at: int | None = block.end()
        while at is not None and (command := next(pieces(text, at), None)) is not None:
            word, begin = command[0].lower(), command.end()
            rest = list(takewhile(lambda piece: piece[0] != ";", pieces(text, begin)))
            end = rest[-1].end() if rest else begin
            semicolon = next(pieces(text, end), None)
            at = semicolon and semicolon.end()
            if word in ("end", "endblock", "begin"):  # some leave out the end
                break
            if word == "taxlabels":
                labels = [piece[0] for piece in rest]
                taxa = {str(i): label for i, label in enumerate(labels, 1)}
                taxa |= {label: label for label in labels}  # a name of digits is no number
            elif word == "translate":
                names = dict(_entries(text, rest))
            elif word in ("tree", "utree"):
                equals = (each for each in rest if "=" in each[0] and each[0][0] != "'")
                sign = next(equals, None)
                begin = sign.start() + sign[0].index("=") + 1 if sign else begin
                line, counted = line + text.count("\n", counted, begin), begin
                tree = text[begin:end]
                tree = _with_names(tree, names or taxa, pieces) if names or taxa else tree
                yield line, tree.lstrip(" \t") + ";" * (at is not None)


def _entries(text: str, pieces: list[re.Match[str]]) -> Iterator[tuple[str, str]]:
    """The keys by which trees call their leaves, and the names that these stand for."""
    entry: list[re.Match[str]] = []
    for piece in [*pieces, None]:
        if piece is not None and piece[0] != ",":
            entry.append(piece)
        elif len(entry) == 2:
            yield entry[0][0], entry[1][0]
            entry = []
        elif entry:
            message = f"expected a short name and a name in TRANSLATE; got {len(entry)} words"
            raise ParseError.at(message, text, entry[0].start())


def _with_names(tree: str, names: Mapping[str, str], pieces: Pieces) -> str:
    """The text of a tree with the keys of its leaves replaced by their names."""
    parts, at, before = [], 0, ""
    for piece in pieces(tree, 0):
        if before in ("", "(", ","):
            parts += [tree[at : piece.start()], names.get(piece[0], piece[0])]
            at = piece.end()
        before = piece[0]
    return "".join([*parts, tree[at:]])
