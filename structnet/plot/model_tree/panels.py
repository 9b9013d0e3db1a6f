"""Draws the nodes of a model tree's picture as panels, boxes or dots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.model_tree.captions import draw_marks, write
from structnet.plot.model_tree.key import COMING_COLOR, ROUTER_COLOR
from structnet.plot.model_tree.sheet import CLASSES, COMING, FONT, MIN_TEXT, ROUTER, WIDTH, Sheet
from structnet.plot.palette import class_colors, confidence, shaded
from structnet.plot.style import GREY, INNER, LEAF
from structnet.routing.protocol import RoutedTree
from structnet.routing.visits import Reach

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

GROUND, GAP = "#F2F2F2", 2.0  # GAP: points between the panels of a node
FAINT, TINTED = 0.05, 0.4  # strength of the background for equal classes, and for a single class
PALEST = 0.25  # strength of a dot for equal classes


def draw_panels(ax: Axes, tree: RoutedTree, sheet: Sheet, reached: Reach) -> None:
    """Draws panels for the targets at each node, the probabilities to reach it, and its routing.

    Where all probabilities are 0 or 1, as the shares of the samples tell, there are only the first.
    """
    from matplotlib.colors import to_rgba_array

    drawn = np.flatnonzero(sheet.nodes >= 0)
    nodes, x0, y0 = sheet.nodes[drawn], sheet.x[drawn] - WIDTH / 2, sheet.top[drawn] - CLASSES
    router, coming = tree.topology.inner[nodes], y0 - GAP - COMING
    below = coming[router] - GAP - ROUTER
    upper = np.full(len(nodes), GROUND)
    if reached.classes is not None:
        upper = _shades(reached.classes[nodes], FAINT, TINTED)
    _add(ax, _rectangles(x0, y0, WIDTH, CLASSES), upper, "_panels")
    if reached.classes is not None:
        colors = class_colors(reached.classes.shape[1])
        bars = _histograms(reached.classes[nodes], x0, y0, CLASSES)
        _add(ax, bars, np.tile(to_rgba_array(colors), (len(nodes), 1)), "_classes")
    elif reached.mean is not None and reached.spread is not None:
        _draw_spreads(ax, reached.mean, reached.spread, nodes, x0, y0)
    if reached.sure:
        return
    _add(ax, _rectangles(x0, coming, WIDTH, COMING), GROUND, "_panels")
    _add(ax, _rectangles(x0[router], below, WIDTH, ROUTER), GROUND, "_panels")
    _add(ax, _histograms(reached.coming[nodes], x0, coming, COMING), COMING_COLOR, "_coming")
    arity = np.diff(tree.topology.offsets)[nodes[router]]
    for number in np.unique(arity):
        same = arity == number
        counts = _going(tree, nodes[router][same], number, reached)
        bars = _histograms(counts, x0[router][same], below[same], ROUTER)
        _add(ax, bars, ROUTER_COLOR, "_routers")


def _shades(classes: np.ndarray, palest: float, fullest: float) -> np.ndarray:
    """The colours of the nodes' most frequent classes, stronger if purer. ``[m, k] -> [m]``."""
    colors, number = class_colors(classes.shape[1]), classes.shape[1]
    sure = confidence(_parts(classes).max(axis=1), number)
    best = classes.argmax(axis=1).tolist()
    return np.array(
        [
            shaded(colors[k], palest + each * (fullest - palest))
            for k, each in zip(best, sure.tolist(), strict=True)
        ]
    )


def _going(tree: RoutedTree, nodes: np.ndarray, number: int, reached: Reach) -> np.ndarray:
    # For two branches, the probabilities of the first; for others, the shares that go on.
    first = tree.topology.offsets[nodes]
    if number == 2:
        # Reversed, so that high probabilities to go left are at the left.
        return reached.going[tree.topology.children[first], ::-1]
    return reached.share[tree.topology.children[first[:, None] + np.arange(number)]]


def draw_boxes(ax: Axes, tree: RoutedTree, sheet: Sheet, scale: float) -> None:
    """Draws each node as a box with its number."""
    height = sheet.form.body
    shown = sheet.nodes >= 0
    nodes, x, top = sheet.nodes[shown], sheet.x[shown], sheet.top[shown]
    faces = np.where(tree.topology.inner[nodes], INNER, LEAF)
    boxes = _add(ax, _rectangles(x - 13, top - height, 26, height), faces, "_boxes")
    boxes.set(edgecolor=GREY, linewidth=0.6 * scale)
    if scale < MIN_TEXT:
        return
    draw_marks(ax, sheet, scale)
    for v, across, y in zip(nodes, x, top - height / 2, strict=True):
        write(ax, across, y, str(v), FONT * scale, ha="center", color="black")


def draw_dots(
    ax: Axes, tree: RoutedTree, sheet: Sheet, reached: Reach | None, scale: float
) -> None:
    """Draws each node as a dot in the colour of its most frequent class, or of its kind."""
    colors = np.where(tree.topology.inner[sheet.nodes], "#7799CC", "#CCAA33")
    if reached is not None and reached.classes is not None:
        colors = _shades(reached.classes[sheet.nodes], PALEST, 1.0)
    colors[sheet.nodes < 0] = GREY
    y = (sheet.top + sheet.bottom) / 2
    size = (sheet.form.body * scale) ** 2
    ax.scatter(sheet.x, y, s=size, c=colors, linewidth=0, zorder=2, label="_dots")


def _draw_spreads(
    ax: Axes,
    mean: np.ndarray,
    spread: np.ndarray,
    nodes: np.ndarray,
    x0: np.ndarray,
    y0: np.ndarray,
) -> None:
    """Draws bars from one standard deviation below the mean to one above, with a line at it."""
    columns = mean.shape[1]
    center, deviation = mean[0], np.where(spread[0] > 0, spread[0], 1)

    def height(values: np.ndarray) -> np.ndarray:
        shares = 0.5 + (values - center) / (4 * deviation)
        return y0[:, None] + CLASSES * np.clip(np.nan_to_num(shares, nan=0.5), 0, 1)

    mean, spread = mean[nodes], np.nan_to_num(spread[nodes])
    low, middle, high = (height(mean + k * spread) for k in (-1, 0, 1))
    room = WIDTH / columns
    left = x0[:, None] + room * (np.arange(columns) + 0.2)
    left = left + 0 * low  # a place for each node and column
    _add(ax, _rectangles(left, low, 0.6 * room, high - low), "#99BBDD", "_spreads")
    _add(ax, _rectangles(left, middle - 0.6, 0.6 * room, 1.2), "#222222", "_means")


def _histograms(counts: np.ndarray, x0: np.ndarray, y0: np.ndarray, height: float) -> np.ndarray:
    """The bars of histograms; a bar with all samples of its node is as high as the panel.

    Shapes:
        counts ``[m, k]``, x0 and y0 ``[m]`` -> ``[m * k, 4, 2]``.
    """
    heights = height * _parts(counts)
    step = WIDTH / counts.shape[1]
    left = x0[:, None] + step * np.arange(counts.shape[1])
    margin = 0.08 * step if step > 2 else 0
    return _rectangles(left + margin, y0[:, None] + 0 * left, step - 2 * margin, heights)


def _parts(counts: np.ndarray) -> np.ndarray:
    """Each count divided by the sum of its row; 0 if that is 0. ``[m, k] -> [m, k]``."""
    total = counts.sum(axis=1, keepdims=True)
    return counts / np.where(total > 0, total, 1)


def _rectangles(
    x: np.ndarray, y: np.ndarray, width: float | np.ndarray, height: float | np.ndarray
) -> np.ndarray:
    """Corners, anticlockwise from the lower left. ``[...] -> [rectangles, 4, 2]``."""
    right, top = x + width, y + height
    corners = [(x, y), (right, y), (right, top), (x, top)]
    return np.stack([np.stack(corner, axis=-1) for corner in corners], axis=-2).reshape(-1, 4, 2)


def _add(ax: Axes, corners: np.ndarray, color: str | np.ndarray, label: str) -> PolyCollection:
    from matplotlib.collections import PolyCollection

    # One array is drawn far sooner than a list of rectangles, but must not be empty.
    paths: Any = corners if len(corners) else []
    shapes = PolyCollection(paths, facecolors=color, linewidths=0, zorder=2, label=label)
    ax.add_collection(shapes, autolim=False)
    return shapes
