"""The box of a node: its colours, and how it is drawn."""

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

LINE = 13.0  # points: the height of each further line of text
Colors = Callable[[Tree], "str | None"] | Mapping[object, str] | None


class Style(NamedTuple):
    """Colours of a box, of what is written in it, and the way its edge is drawn."""

    face: str
    text: str
    line: str


MARK = Style("white", GREY, "dashed")  # of what stands for nodes that are elsewhere, or nowhere


def style_of(node: Tree | Collapsed, colors: Colors) -> Style:
    """The user's colours, or the usual ones."""
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
    """A text in a box.

    Args:
        place: x and y of the middle.
        scale: the size of all; with 1, letters have their usual size.
        padding: the points between text and edge.
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
