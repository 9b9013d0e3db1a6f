"""Draws a tree level by level, with its root on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structnet.plot.boxes import LINE, Styles, draw_box
from structnet.plot.labels import Labels
from structnet.plot.style import GREY
from structnet.plot.tree_layout import Collapsed, Layout
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# In points: padding in a box, gap between boxes, least width of a node, and height of a level with
# one line of text.
PADDING, SPACE, UNIT, ROW = 3.0, 6.0, 22.0, 40.0


def width_of(node: Tree | Collapsed, labels: Labels) -> float:
    """The width of a node in units of the layout."""
    return max(1.0, (labels.width(labels[node]) + 2 * PADDING + SPACE) / UNIT)


def row_height(placed: Layout, labels: Labels) -> float:
    """The height of a level in points."""
    return ROW + LINE * (max(map(labels.lines, placed.nodes)) - 1)


def size_of(placed: Layout, labels: Labels) -> np.ndarray:
    """The width and the height of the whole drawing in points. ``[2]``."""
    first, last = _ends(placed)
    rows = row_height(placed, labels)
    return np.array([UNIT * (last - first), rows * (placed.depth.max() + 1)])


def draw_levels(
    ax: Axes, placed: Layout, labels: Labels, styles: Styles, scale: float, stretch: float
) -> None:
    """Draws boxes and the lines between them.

    Args:
        ax: axes to draw on.
        placed: nodes and their places.
        labels: texts of the nodes.
        styles: styles of the nodes.
        scale: size of the letters; 1 for the normal size.
        stretch: height of a level on the axes, relative to the height that it needs at scale 1.
    """
    half = np.array([labels.lines(node) * LINE / 2 + PADDING for node in placed.nodes])
    _draw_edges(ax, placed, half * scale / (stretch * row_height(placed, labels)), scale)
    for v, node in enumerate(placed.nodes):
        text = draw_box(
            ax,
            (placed.x[v], -placed.depth[v]),
            labels[node],
            styles.of(node),
            labels.fonts,
            scale=scale,
            padding=PADDING,
        )
        text.set_gid(f"node-{v}")
    ax.set_xlim(*_ends(placed))
    ax.set_ylim(-placed.depth.max() - 0.5, 0.5)


def _ends(placed: Layout) -> tuple[float, float]:
    return (placed.x - placed.width / 2).min(), (placed.x + placed.width / 2).max()


def _draw_edges(ax: Axes, placed: Layout, half: np.ndarray, scale: float) -> None:
    """Draws a stem below each parent, a bar over its children, and a line down to each child."""
    # In wide trees, slanted lines would run into each other and into the boxes of siblings.
    from matplotlib.collections import LineCollection

    x, y = placed.x, -placed.depth
    child = np.flatnonzero(placed.parent >= 0)
    parents, place = np.unique(placed.parent[child], return_inverse=True)
    first, last = np.full(len(parents), np.inf), np.full(len(parents), -np.inf)
    np.minimum.at(first, place, x[child])
    np.maximum.at(last, place, x[child])
    bar = y[parents] - 0.5  # halfway between two levels
    stems = _segments(x[parents], y[parents] - half[parents], x[parents], bar)
    bars = _segments(first, bar, last, bar)
    drops = _segments(x[child], y[child] + 0.5, x[child], y[child] + half[child])
    lines = LineCollection([*stems, *bars, *drops], colors=GREY, linewidths=0.9 * scale, zorder=1)
    ax.add_collection(lines, autolim=False)


def _segments(x0: np.ndarray, y0: np.ndarray, x1: np.ndarray, y1: np.ndarray) -> np.ndarray:
    return np.stack([np.stack([x0, y0], axis=1), np.stack([x1, y1], axis=1)], axis=1)
