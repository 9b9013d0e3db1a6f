"""Draws an outline on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.boxes import MARK, Style, Styles
from structnet.plot.labels import FONT, Labels
from structnet.plot.outline import (
    GAP,
    GUTTER,
    ROW,
    Outline,
    first_rows,
    headings,
    in_columns,
    middle,
    rails,
    rows_of,
)
from structnet.plot.style import GREY
from structnet.plot.tree_layout import Collapsed
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

INCH = 72.0  # points
PADDING = 1.8  # points between a text and the edge of its box
BASE = 3.5  # points from the middle of a row down to the baseline of its text
HEADING = 0.8  # size of letters above a column, relative to the normal size
WIDER = 1.03  # small letters on a screen, as they are moved to whole pixels
SMALLEST = 0.6  # smallest relative size of letters: 6 points can be read on paper
A4 = np.array([595.0, 842.0])  # points, portrait
MARGIN = 14.0  # points around the drawing on a page of its own
EDGE = 3.0  # points around the drawing at normal size, for the edges of boxes


def room_of(ax: Axes) -> np.ndarray:
    """The width and the height of axes in points, ``[2]``."""
    return np.array(ax.get_window_extent().size) * INCH / ax.figure.dpi


def fit_title(ax: Axes) -> None:
    """Makes a figure that its axes fill larger, so that the title above them is in it."""
    figure: Any = ax.figure
    title, page = ax.title.get_window_extent(), figure.bbox
    width = 1.08 * title.width + INCH / 10  # at another resolution, letters are wider
    more = np.array([width - page.width, title.y1 + INCH / 10 - page.y1])
    more = np.maximum(more, 0) / figure.dpi
    size = figure.get_size_inches()
    ax.set_position((more[0] / 2, 0, *size) / np.tile(size + more, 2))
    figure.set_size_inches(size + more)


def outline_of(nodes: list[Tree | Collapsed], parent: np.ndarray, labels: Labels) -> list:
    """The rows of an outline of nodes, with the parent of each, ``[nodes]``."""
    widths = [_box_width(labels, labels.on_one_line(node)) for node in nodes]
    return rows_of(parent.tolist(), widths, _box_width(labels, "(999)"))


def fit_page(rows: list) -> tuple[Outline, float, np.ndarray]:
    """Arranges rows on a page of their own, at most as large as A4, portrait or landscape.

    If the letters would be too small on A4, the page is larger, with about its proportions.

    Returns:
        The outline, the scale of the letters, and the width and the height of the page in points,
        ``[2]``.
    """
    best: tuple[Outline, float] | None = None
    for page in (A4, A4[::-1]):
        layout = in_columns(rows, *(page - 2 * MARGIN - 2 * EDGE))
        if best is None or layout[1] > 1.05 * best[1]:  # landscape only if it gains 5 %
            best = layout
    assert best is not None
    outline, scale = best
    scale = max(scale, SMALLEST)
    return outline, scale, scale * (np.array(outline.size) + 2 * EDGE) + 2 * MARGIN


def fit_axes(rows: list, room: np.ndarray) -> tuple[Outline, float]:
    """The outline of rows for axes of a size in points, ``[2]``, and the scale of the letters."""
    outline, _ = in_columns(rows, *(room - 2 * EDGE * SMALLEST))
    return outline, min(1.0, *(room / (np.array(outline.size) + 2 * EDGE)))


def draw_outline(
    ax: Axes,
    outline: Outline,
    nodes: list[Tree | Collapsed],
    labels: Labels,
    styles: Styles,
    scale: float,
    room: np.ndarray,
) -> None:
    """Draws the rows, aligned at the top and centred from left to right.

    Args:
        ax: axes to draw on.
        outline: rows and their places.
        nodes: nodes of the picture.
        labels: texts of the nodes.
        styles: styles of the nodes.
        scale: size of the letters; 1 for the normal size.
        room: width and height of the axes in points, ``[2]``.
    """
    from matplotlib.collections import LineCollection

    # A data unit is a point at the normal size of letters.
    width, height = np.maximum(room / scale, np.array(outline.size) + 2 * EDGE)
    left = EDGE + (width - outline.size[0] - 2 * EDGE) / 2
    ax.set(xlim=(-left, width - left), ylim=(-height + EDGE, EDGE))
    lines, boxes = [*(rails(outline) * [1, -1])], []
    for number, row in enumerate(outline.rows):
        x, y = outline.x(number), -middle(outline, number)
        parts: list[tuple[str, Style, int | None]]
        parts = [(f"({row.begins})", MARK, None)] if row.begins else []
        parts += [(labels.on_one_line(nodes[i]), styles.of(nodes[i]), i) for i in row.nodes]
        parts += [(f"({row.goes_on})", MARK, None)] if row.goes_on else []
        for place, (text, style, node) in enumerate(parts):
            if place:
                lines.append(np.array([(x - GAP, y), (x, y)]))
            written = _write(ax, (x + PADDING, y - BASE), text, labels, scale, color=style.text)
            written.set_gid(None if node is None else f"node-{node}")
            boxes.append((x, y, _box_width(labels, text), style))
            x += _box_width(labels, text) + GAP
    _draw_boxes(ax, boxes, scale)
    drawn = LineCollection(lines, colors=GREY, linewidths=0.8 * scale, zorder=1)
    ax.add_collection(drawn, autolim=False)
    _draw_headings(ax, outline, nodes, labels, scale)


def _draw_boxes(ax: Axes, boxes: list[tuple[float, float, float, Style]], scale: float) -> None:
    from matplotlib.collections import PolyCollection

    half = (ROW - 1) / 2
    corners = [
        [(x, y - half), (x + wide, y - half), (x + wide, y + half), (x, y + half)]
        for x, y, wide, _ in boxes
    ]
    styles = [style for *_, style in boxes]
    drawn = PolyCollection(
        corners,
        facecolors=[style.face for style in styles],
        edgecolors=[style.edge[0] for style in styles],
        linestyles=[style.line for style in styles],
        linewidths=[0.5 * style.edge[1] * scale for style in styles],
        zorder=2,
        label="_boxes",
    )
    ax.add_collection(drawn, autolim=False)


def _write(
    ax: Axes, place: tuple[float, float], text: str, labels: Labels, scale: float, **style: Any
) -> Text:
    style |= {"family": list(labels.fonts.families), "fontsize": FONT * scale}
    return ax.text(*place, text, va="baseline", parse_math=False, zorder=3, **style)


def _draw_headings(
    ax: Axes, outline: Outline, nodes: list[Tree | Collapsed], labels: Labels, scale: float
) -> None:
    """Writes above each column the number of the tree that begins there, or the path to its first
    row, shortened from the root's end."""
    edges = [*outline.left[1:], outline.size[0] + GUTTER]
    firsts = first_rows(outline.rows)
    begun = {int(outline.column[row]): number for number, row in enumerate(firsts, start=1)}
    for column, path in enumerate([[], *headings(outline)]):
        names = [labels.on_one_line(nodes[v]) for row in path for v in outline.rows[row].nodes]
        text = _fitting(names, edges[column] - outline.left[column] - GUTTER, labels)
        if column in begun and len(firsts) > 1:
            text = f"tree {begun[column]}"
        place = float(outline.left[column]), BASE - ROW
        if text:
            _write(ax, place, text, labels, HEADING * scale, color=GREY)


def _fitting(names: list[str], room: float, labels: Labels) -> str:
    """A path in the letters of headings, without as many of its first names as have no room."""
    text = " › ".join(names)
    while names and HEADING * WIDER * labels.width(text) > room:
        names = names[1:]
        text = " › ".join(["…", *names])
    return text if names else ""


def _box_width(labels: Labels, text: str) -> float:
    return WIDER * labels.width(text) + 2 * PADDING
