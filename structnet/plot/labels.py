"""The texts on the nodes of a drawn tree, and their widths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from structnet.plot.fonts import Fonts, fonts_for
from structnet.plot.tree_layout import Collapsed
from structnet.trees.label_words import as_read, word_ids
from structnet.trees.tree import Tree

FONT = 10.0  # points
JOINT = "  "  # joins the lines of a label that is drawn on one line
SIGNS = {c: f"\\x{c:02x}" for c in range(32)} | {9: "⇥", 10: "⏎", 13: "⏎"}


class Labels:
    """The texts of nodes, of one line or several, each cut to a largest length.

    An empty text is shown as two quotation marks, and line breaks within a label as signs, so that
    they can be seen.

    Args:
        nodes: nodes of the picture.
        text_of: function that returns the text of a node; None for its label and, on another line,
            its token.
        max_letters: largest length of a line.

    Example:
        >>> nodes = [Tree("say", token="a\\nb"), Tree(""), Tree("incomprehensibilities")]
        >>> labels = Labels(nodes, None, 8)
        >>> [labels[node] for node in nodes], labels.full(nodes[2])
        (['say\\na⏎b', '""', 'incompr…'], 'incomprehensibilities')
    """

    def __init__(
        self,
        nodes: Sequence[Tree | Collapsed],
        text_of: Callable[[Tree], str] | None,
        max_letters: int,
    ):
        self.max_letters = max_letters
        # By identity, as equal nodes may have different texts. Each is made once, as a text may be
        # a costly prediction.
        self._full: dict[int, str] = {}
        words = word_ids(nodes)
        for node in nodes:
            if isinstance(node, Tree) and id(node) not in self._full:
                form = _word if text_of is None and id(node) in words else text_of
                self._full[id(node)] = _text(node, form)
        self.fonts: Fonts = fonts_for([*self._full.values(), "…"])

    def full(self, node: Tree | Collapsed) -> str:
        """The whole text of a node."""
        return self._full[id(node)] if isinstance(node, Tree) else f"… {node.size:,}\nmore"

    def __getitem__(self, node: Tree | Collapsed) -> str:
        """The text of a node as it is drawn."""
        if not isinstance(node, Tree):
            return self.full(node)
        return "\n".join(map(self._cut, self.fonts.shown(self.full(node)).split("\n")))

    def on_one_line(self, node: Tree | Collapsed) -> str:
        """The text of a node as it is drawn on one line."""
        return self[node].replace("\n", " " if isinstance(node, Collapsed) else JOINT)

    def width(self, text: str) -> float:
        """The width of a text in points, in letters of 10 points."""
        return max(text_width(line, self.fonts) for line in text.split("\n"))

    def lines(self, node: Tree | Collapsed) -> int:
        """The number of lines of a node's text."""
        return self.full(node).count("\n") + 1

    def _cut(self, line: str) -> str:
        return line if len(line) <= self.max_letters else line[: max(self.max_letters - 1, 0)] + "…"


def _word(word: Tree) -> str:
    return visible(as_read(word))


def _text(node: Tree, text_of: Callable[[Tree], str] | None) -> str:
    if text_of is not None:
        lines = str(text_of(node)).split("\n")
        return "\n".join(map(_drawable, lines)) if any(map(str.strip, lines)) else visible("")
    parts = [node.label] if node.token is None else [node.label, node.token]
    return "\n".join(visible(str(part)) for part in parts)


def visible(text: str) -> str:
    """A text on one line, with line breaks as signs, and in quotation marks if it is blank.

    Example:
        >>> print(visible("a\\tb"), visible(""), visible(" "), visible("$x$"))
        a⇥b "" " " $x$
    """
    text = _drawable(text.replace("\r\n", "\n"))
    return text if text.strip() else f'"{text}"'


def _drawable(text: str) -> str:
    """The text without control characters and lone surrogates, which fonts cannot draw."""
    return text.translate(SIGNS).encode("utf-8", "backslashreplace").decode()


@lru_cache(maxsize=8192)
def text_width(line: str, fonts: Fonts) -> float:
    """The width of a line in points, in letters of 10 points."""
    from matplotlib.textpath import TextPath

    if not line.strip():
        return 0.0
    # Matplotlib would take text between two dollar signs for mathematics.
    path = TextPath((0, 0), line.replace("$", "S"), size=FONT, prop=fonts.properties)
    # The points that span the curves of letters; the exact extents of these take ten times as long.
    drawn = path.vertices[path.codes != path.CLOSEPOLY, 0]
    return float(np.ptp(drawn)) if len(drawn) else 0.0
