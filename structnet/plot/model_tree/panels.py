"""The nodes of a model tree's picture: histograms, boxes or dots, what is written, and the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structnet.plot.fonts import fonts_for
from structnet.plot.labels import text_width
from structnet.plot.model_tree.sheet import Sheet
from structnet.plot.palette import class_colors
from structnet.plot.style import GREY, INNER, LEAF, LINES, add_legend, cut
from structnet.routing.protocol import RoutedTree
from structnet.routing.visits import Reach
from structnet.routing.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

# Points: a panel's width, the height of that of the classes and of the router's; the fonts.
WIDTH, CLASSES, ROUTER, FONT, SMALL, KEY = 60.0, 34.0, 16.0, 7.0, 6.0, 8.0
MIN_TEXT = 0.5  # below this scale, letters cannot be read
THIN, THICK = 0.8, 6.0  # points: an edge that nothing takes, and what all samples add to it
GROUND = "#F2F2F2"
ENTRY, LETTER, ROW, MAX_KEY = 22.0, 5.0, 13.0, 20  # of the key, in points; its most classes
MAX_NAME = 9  # characters of a class below a leaf
GREEDY, SOFT = "shares: greedy paths", "shares: mean probabilities"
NOTE, ABOVE = 16.0, 4.0  # points: the height of the line that says which; how far above the tree
SAID, LETTERS = 9.0, 3.7  # points: the height of a line about the panels; of each of its letters
UPPER = {True: "classes that arrive", False: "targets that arrive, mean ± deviation"}
LOWER = {True: "probability of left, 1 to 0", False: "how much goes on to each child"}


class Key(NamedTuple):
    """What is written above a tree."""

    note: str  # the meaning of the shares
    names: Sequence[str] | None  # of the classes; None if targets are numbers
    panels: str = ""  # what they show

    def lines(self, width: float) -> list[str]:
        """What is said of the panels, in lines that have room on so many points."""
        return wrap(self.panels, max(20, int(width / LETTERS)))


def panels_text(tree: RoutedTree) -> str:
    """What the panels of a tree's nodes show, in words."""
    arity = np.diff(tree.topology.offsets)
    upper = UPPER[tree.num_classes is not None]
    if not arity.any():
        return f"one leaf: this tree asks nothing; panel: {upper}"
    return f"upper panels: {upper}; lower ones: {LOWER[bool((arity[arity > 0] == 2).all())]}"


def draw_panels(ax: Axes, tree: RoutedTree, sheet: Sheet, found: Reach) -> None:
    """The histogram of the classes, or the targets' means and spreads, and where they go on."""
    drawn = np.flatnonzero(sheet.nodes >= 0)
    nodes, x0, y0 = sheet.nodes[drawn], sheet.x[drawn] - WIDTH / 2, sheet.top[drawn] - CLASSES
    router = tree.topology.inner[nodes]
    below = y0[router] - 2 - ROUTER  # a gap of 2 points
    _add(ax, _rectangles(x0, y0, WIDTH, CLASSES), GROUND, "_panels")
    _add(ax, _rectangles(x0[router], below, WIDTH, ROUTER), GROUND, "_panels")
    if found.classes is not None:
        colors = class_colors(found.classes.shape[1])
        bars = _histograms(found.classes[nodes], x0, y0, CLASSES)
        _add(ax, bars, np.tile(colors, len(nodes)), "_classes")
    elif found.mean is not None and found.spread is not None:
        _draw_spreads(ax, found.mean, found.spread, nodes, x0, y0)
    arity = np.diff(tree.topology.offsets)[nodes[router]]
    for number in np.unique(arity):
        same = arity == number
        counts = _going(tree, nodes[router][same], number, found)
        _add(ax, _histograms(counts, x0[router][same], below[same], ROUTER), LINES[0], "_routers")


def _going(tree: RoutedTree, nodes: np.ndarray, number: int, found: Reach) -> np.ndarray:
    # Of two branches, how probable the first one is; of others, how much goes on to each.
    first = tree.topology.offsets[nodes]
    if number == 2:
        return found.going[tree.topology.children[first], ::-1]  # what goes left stands at the left
    return found.share[tree.topology.children[first[:, None] + np.arange(number)]]


def draw_captions(
    ax: Axes,
    tree: RoutedTree,
    sheet: Sheet,
    found: Reach,
    names: Sequence[str] | None,
    scale: float,
) -> None:
    """Above a node its number and the share that reaches it; below a leaf the commonest class."""
    if scale < MIN_TEXT:
        return
    _draw_hidden(ax, sheet, scale)
    stems = edge_width(found.share)
    for v, x, top, bottom in zip(sheet.nodes, sheet.x, sheet.top, sheet.bottom, strict=True):
        left, right = x - WIDTH / 2, x + WIDTH / 2
        if v < 0:
            continue
        above, below = {"va": "bottom"}, {"va": "top"}
        # The stem, as thick as what passes, stands in the middle.
        beside = WIDTH / 2 - 1 - float(stems[v]) / 2
        name = _fitting([f"node {v}", str(v)], beside)
        _write(ax, left, top + 1, name, SMALL * scale, color=GREY, **above)
        _write(ax, right, top + 1, share_text(found.share[v]), FONT * scale, ha="right", **above)
        branches = tree.branch_names(v)
        if not branches:
            said = _says(found, int(v), names)
            _write(ax, x, bottom - 2, said, FONT * scale, ha="center", **below)
        else:
            small = {"color": GREY, **below}
            for name, at, side in ((branches[0], left, "left"), (branches[-1], right, "right")):
                if side == "left" or len(branches) > 1:
                    name = _fitting([name, *name.split()[-1:], cut(name, 6)], beside)
                    _write(ax, at, bottom - 1, name, SMALL * scale, ha=side, **small)


def edge_width(share: np.ndarray) -> np.ndarray:
    """The width of edges in points, by the share of the samples that take them. ``[n] -> [n]``."""
    return THIN + THICK * share


def _fitting(names: Sequence[str], width: float) -> str:
    """The first of these names that has room in small letters, or the last."""
    fonts = fonts_for(names)
    return next((n for n in names if SMALL / 10 * text_width(n, fonts) <= width), names[-1])


def draw_questions(ax: Axes, sheet: Sheet, asked: Mapping[int, str], scale: float) -> None:
    """What goes left at each router, below it and over the stem; as wide as its children stand."""
    if scale < MIN_TEXT:
        return
    parent = sheet.placed.parent
    for i, v in enumerate(sheet.nodes.tolist()):
        below = sheet.x[parent == i]
        if not len(below) or not asked.get(v):
            continue
        room = max(float(np.ptp(below)) + WIDTH, WIDTH)
        y = (sheet.bottom[i] - sheet.form.foot + sheet.bar[parent == i][0]) / 2
        said = _fitting([asked[v], *(cut(asked[v], n) for n in range(len(asked[v]), 5, -2))], room)
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6 * scale}
        _write(ax, sheet.x[i], y, said, SMALL * scale, ha="center", bbox=ground)


def draw_boxes(ax: Axes, tree: RoutedTree, sheet: Sheet, scale: float) -> None:
    """Each node's number in a box."""
    height = sheet.form.body
    shown = sheet.nodes >= 0
    nodes, x, top = sheet.nodes[shown], sheet.x[shown], sheet.top[shown]
    faces = np.where(tree.topology.inner[nodes], INNER, LEAF)
    boxes = _add(ax, _rectangles(x - 13, top - height, 26, height), faces, "_boxes")
    boxes.set(edgecolor=GREY, linewidth=0.6 * scale)
    if scale < MIN_TEXT:
        return
    _draw_hidden(ax, sheet, scale)
    for v, across, y in zip(nodes, x, top - height / 2, strict=True):
        _write(ax, across, y, str(v), FONT * scale, ha="center")


def draw_dots(ax: Axes, tree: RoutedTree, sheet: Sheet, found: Reach | None, scale: float) -> None:
    """Each node as a dot in the colour of its commonest class, or that of its kind."""
    colors = np.where(tree.topology.inner[sheet.nodes], "#7799CC", "#CCAA33")
    if found is not None and found.classes is not None:
        best = found.classes[sheet.nodes].argmax(axis=1)
        colors = np.array(class_colors(found.classes.shape[1]))[best]
    colors[sheet.nodes < 0] = GREY
    y = (sheet.top + sheet.bottom) / 2
    size = (sheet.form.body * scale) ** 2
    ax.scatter(sheet.x, y, s=size, c=colors, linewidth=0, zorder=2, label="_dots")


def draw_key(ax: Axes, key: Key, x: float, scale: float, width: float) -> None:
    """The colours of the classes, in rows no wider than so many points, and the note below."""
    from matplotlib.patches import Patch

    said = "\n".join(key.lines(width))
    _write(ax, x, ABOVE, key.note, FONT, color=GREY, ha="center", va="bottom")
    if said:
        _write(ax, x, ABOVE + SAID / scale, said, FONT, color=GREY, ha="center", va="bottom")
    names = key.names
    if names is None or len(names) > MAX_KEY:
        return
    patches = [Patch(color=color) for color in class_colors(len(names))]
    add_legend(
        ax,
        patches,
        list(map(cut, names)),
        loc="upper center",
        bbox_to_anchor=(x, key_height(key, width) / scale),
        bbox_transform=ax.transData,
        ncols=_columns(names, width),
        fontsize=KEY,
        frameon=False,
        borderaxespad=0,
        borderpad=0,
        handlelength=0.8,
        handletextpad=0.4,
        columnspacing=1.2,
        labelspacing=0.3,
    )


def key_height(key: Key | None, width: float) -> float:
    """The height of the note and of the rows of the key in points."""
    if key is None:
        return 0.0
    note = NOTE + SAID * len(key.lines(width))
    if key.names is None or len(key.names) > MAX_KEY:
        return note
    return note + ROW * -(-len(key.names) // _columns(key.names, width)) + 4


def share_text(share: float) -> str:
    """A share in a few letters.

    Example:
        >>> [share_text(share) for share in (1, 0.126, 0.001, 0)]
        ['100 %', '13 %', '<1 %', '0 %']
    """
    return "<1 %" if 0 < share < 0.005 else percent(share)


def _says(found: Reach, leaf: int, names: Sequence[str] | None) -> str:
    """The commonest class at a leaf, or the mean and the spread of its targets."""
    if not found.share[leaf]:
        return "no samples"
    if names is not None and found.classes is not None:
        counts = found.classes[leaf]
        name = cut(names[counts.argmax()], MAX_NAME)
        return f"{name}: {share_text(counts.max() / counts.sum())}"
    if found.mean is None or found.spread is None or found.mean.shape[1] > 1:
        return ""
    return f"{_brief(found.mean[leaf, 0], 3)} ± {_brief(found.spread[leaf, 0], 2)}"


def _brief(value: float, digits: int) -> str:
    """A number in as few letters as it takes.

    Example:
        >>> [_brief(value, 3) for value in (1.5, 78712.0, -0.0000131)]
        ['1.5', '7.87e4', '-1.31e-5']
    """
    return f"{value:.{digits}g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def _draw_spreads(
    ax: Axes,
    mean: np.ndarray,
    spread: np.ndarray,
    nodes: np.ndarray,
    x0: np.ndarray,
    y0: np.ndarray,
) -> None:
    """A bar from one standard deviation below the mean to one above, and a line at the mean."""
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
    """The bars, each panel's highest as high as the panel. ``[m, k] -> [m * k, 4, 2]``."""
    top = counts.max(axis=1, keepdims=True, initial=0)
    heights = height * counts / np.where(top > 0, top, 1)
    step = WIDTH / counts.shape[1]
    left = x0[:, None] + step * np.arange(counts.shape[1])
    margin = 0.08 * step if step > 2 else 0
    return _rectangles(left + margin, y0[:, None] + 0 * left, step - 2 * margin, heights)


def _rectangles(
    x: np.ndarray, y: np.ndarray, width: float | np.ndarray, height: float | np.ndarray
) -> np.ndarray:
    """Corners, anticlockwise from the lower left. ``[...] -> [number of all, 4, 2]``."""
    right, top = x + width, y + height
    corners = [(x, y), (right, y), (right, top), (x, top)]
    return np.stack([np.stack(corner, axis=-1) for corner in corners], axis=-2).reshape(-1, 4, 2)


def _add(ax: Axes, corners: np.ndarray, color: str | np.ndarray, label: str) -> PolyCollection:
    from matplotlib.collections import PolyCollection

    shapes = PolyCollection([*corners], facecolors=color, linewidths=0, zorder=2, label=label)
    ax.add_collection(shapes, autolim=False)
    return shapes


def _write(ax: Axes, x: float, y: float, text: str, size: float, **style: Any) -> None:
    style = {"va": "center"} | style
    ax.text(x, y, text, fontsize=size, parse_math=False, clip_on=True, zorder=3, **style)


def _draw_hidden(ax: Axes, sheet: Sheet, scale: float) -> None:
    """How many nodes are left out, where they hung."""
    for i in np.flatnonzero(sheet.nodes < 0):
        text = f"… {sheet.placed.nodes[i].size:,}\nmore"
        _write(ax, sheet.x[i], sheet.top[i] - 1, text, FONT * scale, ha="center", va="top")


def _columns(names: Sequence[str], width: float) -> int:
    entry = ENTRY + LETTER * max(len(cut(name)) for name in names)
    rows = -(-len(names) // max(1, int(width / entry)))
    return -(-len(names) // rows)  # equally long rows
