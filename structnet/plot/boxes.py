"""Draws the box of a node and chooses its colours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structnet.plot.fonts import Fonts
from structnet.plot.labels import FONT
from structnet.plot.style import GREY, INNER, LEAF
from structnet.plot.tree_layout import Collapsed
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

LINE = 13.0  # points: height of each additional line of text
Colors = Callable[[Tree], "str | None"] | Mapping[object, str] | None


class Style(NamedTuple):
    """The colours of a box and of its text, the line style of its edge, and if that is thick."""

    face: str
    text: str
    line: str
    marked: bool = False

    @property
    def edge(self) -> tuple[str, float]:
        """The colour of the edge and the factor of its width."""
        return ("black", 3.0) if self.marked else (GREY, 1.0)


MARK = Style("white", GREY, "dashed")  # stands for nodes that are drawn elsewhere or not at all


@dataclass(frozen=True)
class Styles:
    """The styles of nodes, in the user's colours or the default ones.

    Args:
        colors: colours, as in :func:`structnet.plot.plot_tree`.
        marked: the ``id`` of each node with a thick edge.
    """

    colors: Colors = None
    marked: Collection[int] = ()

    def of(self, node: Tree | Collapsed) -> Style:
        """The style of a node."""
        if isinstance(node, Collapsed):
            return MARK
        chosen = None
        if self.colors is not None:
            by = self.colors
            chosen = by(node) if callable(by) else by.get(node.label)
        face = chosen or (INNER if node.children else LEAF)
        return Style(face, _readable_on(face), "solid", id(node) in self.marked)


def _readable_on(color: str) -> str:
    from matplotlib.colors import to_rgb

    luminance = np.dot(to_rgb(color), (0.299, 0.587, 0.114))
    return "black" if luminance > 0.5 else "white"


def draw_box(
    ax: Axes,
    place: tuple[float, float],
    text: str,
    style: Style,
    fonts: Fonts,
    *,
    scale: float,
    padding: float,
) -> Text:
    """Draws a text in a box.

    Args:
        ax: axes to draw on.
        place: x and y of the middle.
        text: text, of one line or several.
        style: colours and line style.
        fonts: fonts of the text.
        scale: size of letters and lines; 1 for the normal size.
        padding: points between text and edge.
    """
    box: dict[str, Any] = {
        "boxstyle": f"round,pad={padding / FONT}",
        "facecolor": style.face,
        "edgecolor": style.edge[0],
        "linewidth": 0.6 * style.edge[1] * scale,
        "linestyle": style.line,
    }
    return ax.text(
        *place,
        text,
        ha="center",
        va="center",
        family=list(fonts.families),
        fontsize=FONT * scale,
        linespacing=LINE / FONT,
        color=style.text,
        bbox=box,
        parse_math=False,
        zorder=2,
    )
