"""A tree as a picture: labelled boxes, the root on top."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from structnet.parse import networkx_tree
from structnet.plot.style import GREY, INNER, LEAF
from structnet.plot.tree_layout import Collapsed, Layout, layout
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    import networkx as nx
    from dgl import DGLGraph
    from matplotlib.axes import Axes

MAX_TREES = 8  # side by side
# In points: the font, the padding in a box and the gap between boxes, the least width of a node,
# and the height of a level with one line of text and of each further line.
FONT, PADDING, SPACE, UNIT, ROW, LINE = 10.0, 3.0, 6.0, 22.0, 40.0, 13.0
MAX_SIDE = 40.0  # inches of a figure; what needs more is drawn smaller


def plot_tree(
    tree: Tree | Forest | nx.DiGraph | DGLGraph | Sequence[Tree],
    ax: Axes | None = None,
    *,
    labels: Callable[[Tree], str] | None = None,
    colors: Callable[[Tree], str | None] | Mapping[object, str] | None = None,
    max_nodes: int = 200,
    max_depth: int = 30,
    max_label: int = 24,
) -> Axes:
    """Draws a tree, or a few side by side, with the root on top and the leaves in order.

    Without axes, a figure is made in which all labels can be read. On given axes, the labels are
    made smaller where that is needed for neighbours not to overlap.

    Args:
        tree: a tree, a forest or graph of at most 8 trees, or a list of trees.
        ax: the axes to draw on.
        labels: the function that gives what to write on a node, one line or several; by default its
            label and, on a line of its own, its token.
        colors: a node's colour, or None for the usual one; or a mapping from labels to colours.
        max_nodes, max_depth: the limits; what is beyond is collapsed into nodes such as "… 99,950
            more".
        max_label: lines of more characters are cut.

    Raises:
        TypeError: ``tree`` is none of these.
        ValueError: there are no trees or too many; or a limit is too small to draw the roots.
        NotATreeError: the graph is not one.

    Example:
        >>> from matplotlib.figure import Figure
        >>> tree = Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("7")])])
        >>> ax = plot_tree(tree, Figure().add_subplot(), labels=lambda node: f"<{node.label}>")
        >>> [text.get_text() for text in ax.texts]
        ['<MAX>', '<2>', '<MIN>', '<4>', '<7>']
    """
    trees = _trees(tree)
    write = _Writer(labels or _label, max_label)
    placed = layout(trees, max_nodes, max_depth, write.width)
    rows = ROW + LINE * (max(map(write.lines, placed.nodes)) - 1)
    first, last = (placed.x - placed.width / 2).min(), (placed.x + placed.width / 2).max()
    needed = UNIT * (last - first), rows * (placed.depth.max() + 1)  # points
    ax = ax if ax is not None else _figure_of(*needed)
    scale, level = _scale(ax, *needed)
    half = np.array([write.lines(node) * LINE / 2 + PADDING for node in placed.nodes])
    _draw_edges(ax, placed, half * scale / (level * rows), scale)
    for v, node in enumerate(placed.nodes):
        style = _style(node, colors)
        _draw_node(ax, placed.x[v], -placed.depth[v], write(node), style, scale)
    ax.set_xlim(first, last)
    ax.set_ylim(-placed.depth.max() - 0.5, 0.5)
    ax.set_axis_off()
    return ax


class _Writer:
    """The text of nodes, and the room it needs."""

    def __init__(self, labels: Callable[[Tree], str], max_label: int):
        self.labels, self.max_label = labels, max_label
        self.texts: dict[int, str] = {}  # by identity; a label may be a costly prediction

    def __call__(self, node: Tree | Collapsed) -> str:
        if isinstance(node, Collapsed):
            return f"… {node.size:,}\nmore"
        if id(node) not in self.texts:
            lines = str(self.labels(node)).split("\n")
            self.texts[id(node)] = "\n".join(map(self._cut, lines))
        return self.texts[id(node)]

    def _cut(self, line: str) -> str:
        return line if len(line) <= self.max_label else line[: max(self.max_label - 1, 0)] + "…"

    def width(self, node: Tree | Collapsed) -> float:
        text = max(map(_text_width, self(node).split("\n")))
        return max(1.0, (text + 2 * PADDING + SPACE) / UNIT)

    def lines(self, node: Tree | Collapsed) -> int:
        return self(node).count("\n") + 1


def _trees(tree: Tree | Forest | nx.DiGraph | DGLGraph | Sequence[Tree]) -> Sequence[Tree]:
    if isinstance(tree, Tree):
        return [tree]
    if hasattr(tree, "ndata"):
        tree = Forest.from_graph(tree)
    elif hasattr(tree, "adj"):
        return [networkx_tree(tree)]
    if not isinstance(tree, (Forest, list, tuple)):
        kind = type(tree).__name__
        raise TypeError(f"expected a Tree, a Forest, a graph or a list of trees; got {kind}")
    if not 1 <= len(tree) <= MAX_TREES:
        raise ValueError(f"a picture has room for 1 to {MAX_TREES} trees; got {len(tree)}")
    if isinstance(tree, Forest):
        return [tree.tree(i) for i in range(len(tree))]
    wrong = [type(item).__name__ for item in tree if not isinstance(item, Tree)]
    if wrong:
        raise TypeError(f"expected a list of trees; got one with a {wrong[0]}")
    return tree


def _label(node: Tree) -> str:
    parts = [node.label] if node.token is None else [node.label, node.token]
    return "\n".join(" ".join(str(part).split()) for part in parts)


@lru_cache(maxsize=4096)
def _text_width(line: str) -> float:
    """The width of a line in points."""
    from matplotlib.textpath import TextPath

    if not line.strip():
        return 0.0
    # Two dollars would be read as mathematics, which a label never is.
    return TextPath((0, 0), line.replace("$", "S"), size=FONT).get_extents().width


def _figure_of(width: float, height: float) -> Axes:
    """Axes that fill a new figure of this size in points, or of the same shape if too large."""
    import matplotlib.pyplot as plt

    inches = np.maximum(np.array([width, height]) / 72, 1.0)
    figure = plt.figure(figsize=inches * min(1.0, MAX_SIDE / inches.max()))
    return figure.add_axes((0, 0, 1, 1))


def _scale(ax: Axes, width: float, height: float) -> tuple[float, float]:
    """How much smaller than usual all must be drawn to fit, and how much levels are stretched."""
    extent = ax.get_window_extent()
    points = 72 / ax.figure.dpi
    across, down = extent.width * points / width, extent.height * points / height
    return min(1.0, across, down), down


def _draw_edges(ax: Axes, placed: Layout, half: np.ndarray, scale: float) -> None:
    """A stem below each parent, a bar over its children, and a line down to each of them."""
    # Slanted lines would run into one another, and into the boxes of siblings, in wide trees.
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


def _style(
    node: Tree | Collapsed, colors: Callable[[Tree], str | None] | Mapping[object, str] | None
) -> dict:
    if isinstance(node, Collapsed):
        return {"face": "white", "text": GREY, "line": "dashed"}
    chosen = None
    if colors is not None:
        chosen = colors(node) if callable(colors) else colors.get(node.label)
    face = chosen or (INNER if node.children else LEAF)
    return {"face": face, "text": _readable_on(face), "line": "solid"}


def _readable_on(color: str) -> str:
    from matplotlib.colors import to_rgb

    luminance = np.dot(to_rgb(color), (0.299, 0.587, 0.114))
    return "black" if luminance > 0.5 else "white"


def _draw_node(ax: Axes, x: float, y: float, text: str, style: dict, scale: float) -> None:
    box = {
        "boxstyle": f"round,pad={PADDING / FONT}",
        "facecolor": style["face"],
        "edgecolor": GREY,
        "linewidth": 0.6 * scale,
        "linestyle": style["line"],
    }
    ax.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=FONT * scale,
        linespacing=LINE / FONT,
        color=style["text"],
        bbox=box,
        parse_math=False,
        zorder=2,
    )
