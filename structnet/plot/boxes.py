"""Draws the box of a node and chooses its colours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """The colours of a box and of its text, and the line style of its edge."""

    face: str
    text: str
    line: str


MARK = Style("white", GREY, "dashed")  # stands for nodes that are drawn elsewhere or not at all


def style_of(node: Tree | Collapsed, colors: Colors) -> Style:
    """The style of a node, in the user's colours or the default ones."""
    if isinstance(node, Collapsed):
        return MARK
    chosen = None
    if colors is not None:
        chosen = colors(node) if callable(colors) else colors.get(node.label)
    face = chosen or (INNER if node.children else LEAF)
    return Style(face, _readable_on(face), "solid")


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
        "edgecolor": GREY,
        "linewidth": 0.6 * scale,
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
