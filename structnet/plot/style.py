"""Colours for any kind of colour vision, new axes, legends, and texts from users.

Reference:
    Paul Tol, "Colour Schemes", SRON technical note 09-002, 2021: the schemes "bright" and "light".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from structnet.plot.fonts import fonts_for

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.text import Text

LINES = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#777777")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INNER, LEAF, GREY = "#CFE1F2", "#F8E8C0", "#777777"
WRONG = "#F4A6A0"  # a node whose prediction is wrong
# A legend among lines has no box, but a background, which hides grid lines behind its text.
LEGEND: Mapping[str, Any] = {"facecolor": "inherit", "edgecolor": "none", "framealpha": 0.85}
BEHIND_LINES = 1.9  # zorder of such a legend, which so hides the grid, but no part of a curve

HIGH = 0.5  # height of a legend, relative to its axes, above which it is too high


def new_axes(panels: int, width: float, height: float) -> list[Axes]:
    """Axes side by side in a new figure of pyplot, which notebooks show automatically.

    Args:
        panels: number of axes.
        width, height: size of the figure in inches.
    """
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(width, height), layout="constrained")
    return list(figure.subplots(1, panels, squeeze=False)[0])


def one_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The given axes, or new ones of a size in inches."""
    return new_axes(1, width, height)[0] if ax is None else ax


def tidy(ax: Axes) -> None:
    """Draws a light grid behind the lines, and no frame at the top and right."""
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def look_of(number: int) -> dict[str, Any]:
    """The colour, the marker and, where the colours repeat, another style of a numbered line."""
    return {
        "color": LINES[number % len(LINES)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": ("-", "--", ":")[number // len(LINES) % 3],
    }


def whole_numbers(ax: Axes) -> None:
    """Labels the x axis, whose values are integers, at integers only, even at a single one."""
    ax.locator_params("x", integer=True, min_n_ticks=1)


def percent_axis(ax: Axes) -> None:
    """Labels the y axis, whose values are shares, in percent."""
    from matplotlib.ticker import PercentFormatter

    ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def labelled(ax: Axes, x: str, y: str, title: str = "", *, shares: bool = True) -> Axes:
    """Adds labels, a title, a light grid and, if lines have names, a legend to finished axes.

    Args:
        ax: axes on which everything is drawn.
        x, y, title: labels of the axes, and title above them.
        shares: True if the values of the y axis are shares, which are shown in percent.
    """
    tidy(ax)
    if shares:
        percent_axis(ax)
    ax.set(xlabel=x, ylabel=y)
    ax.set_title(title, fontsize=11)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(**LEGEND).set_zorder(BEHIND_LINES)
    return ax


def as_written(*texts: Text) -> None:
    """Turns off mathematics in users' texts, where two dollar signs are just letters, and draws
    letters that matplotlib's font lacks with an installed font that has them."""
    fonts = fonts_for(text.get_text() for text in texts)
    for text in texts:
        text.set(parse_math=False, family=list(fonts.families), text=fonts.shown(text.get_text()))


def add_legend(ax: Axes, handles: Sequence[Artist], names: Sequence[str], **style: Any) -> Legend:
    """Adds a legend with users' names as they are, including those that begin with "_"."""
    legend = ax.legend(list(handles), list(map(str, range(len(names)))), **style)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)  # as labels, names that begin with "_" are left out
    as_written(*legend.get_texts())
    return legend


def fit_legend(ax: Axes, columns: int, made: Callable[[int], Legend]) -> None:
    """Adds a legend of as many columns, up to a number, as the axes are wide enough for.

    If it would then be too high, it has the number of columns for which it is too large by least.

    Args:
        ax: axes.
        columns: largest number of columns.
        made: function that adds the legend with a number of columns.
    """
    room, taken = ax.get_window_extent(), {}
    for number in range(columns, 0, -1):
        box = made(number).get_window_extent()
        taken[number] = max(box.width / room.width, box.height / (HIGH * room.height))
        if taken[number] <= 1:
            return
    made(min(taken, key=taken.__getitem__))


def legend_above(ax: Axes, handles: Sequence[Artist], columns: int) -> None:
    """Adds one legend for axes and their twins, above them, where it hides no line."""
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "frameon": False}
    fit_legend(ax, columns, lambda number: ax.legend(handles=handles, ncols=number, **place))


def write_cells(ax: Axes, shares: np.ndarray, texts: Sequence[Sequence[str]]) -> None:
    """Writes texts into a heat map of shares, white on dark cells. ``[rows, columns]`` each."""
    for y, (row, words) in enumerate(zip(shares, texts, strict=True)):
        for x, (share, text) in enumerate(zip(row, words, strict=True)):
            color = "white" if share > 0.5 else "black"
            if text:
                ax.text(x, y, text, ha="center", va="center", fontsize=8, color=color)


def cut_end(text: str, length: int) -> str:
    """A text on one line, cut at its end to at most ``length`` characters.

    Example:
        >>> cut_end("left: low position 5", 9)
        'left: lo…'
    """
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"
