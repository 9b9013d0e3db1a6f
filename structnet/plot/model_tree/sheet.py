"""Places the parts of a model tree's picture, in points, and scales them to its axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structnet.plot.model_tree.folding import Mark
from structnet.plot.page import INCH, room_of
from structnet.plot.tree_layout import Layout, layout
from structnet.routing.topology import Topology
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_SIDE = 24 * INCH  # largest side of new axes
MIN_SIDE = 4 * INCH  # least width of new axes, which the key needs
MIN_SCALE = 0.35  # scale below which nodes are drawn as dots
READABLE = 0.7  # scale at which letters can be read; below it, large trees lose their lower levels
MAX_SCALE = 1.5  # largest scale, for small trees on large axes
# In points: width of a panel, sizes of letters at nodes; and the scale below which there are none.
WIDTH, FONT, SMALL, MIN_TEXT = 60.0, 7.0, 6.0, 0.5
LINE = 8.0  # points: height of a line of text at a node
DOT, MAX_DOTS = 6.0, 5  # points for a transformer on an edge; more of them become a number


@dataclass(frozen=True)
class Form:
    """The sizes of a way to draw nodes, in points.

    Args:
        unit: width of a leaf with the gap beside it.
        caption: height of the line above a node.
        body: height of an inner node.
        leaf: height of a leaf.
        foot: height of the line below a node.
        stem: distance from there to the bar over the children.
        drop: distance from the bar to the children.
    """

    unit: float
    caption: float
    body: float
    leaf: float
    foot: float
    stem: float
    drop: float

    @property
    def level(self) -> float:
        """The height from one bar to the next."""
        return self.drop + self.caption + self.body + self.foot + self.stem


# Heights of the panels for classes, path probabilities and routing; the gaps between are 2 points.
CLASSES, COMING, ROUTER = 34.0, 14.0, 14.0
# A leaf's height includes a first line of text, so that there is room for two.
HISTOGRAMS = Form(unit=70, caption=9, body=66, leaf=50 + LINE, foot=13, stem=8, drop=8)
# Of a tree that decides surely there is only the panel for classes.
SURE = replace(HISTOGRAMS, body=CLASSES, leaf=CLASSES + LINE)
BOXES = Form(unit=36, caption=0, body=16, leaf=16, foot=0, stem=8, drop=8)
MARKED = WIDTH + 4  # least width of a leaf beside marks, for their words and for questions above
DOTS = Form(unit=9, caption=0, body=6, leaf=6, foot=0, stem=4, drop=6)
FLAT = 4  # largest ratio of width to height of a tree of dots, whose edges are lengthened


class Sheet(NamedTuple):
    """The places of all nodes in points; x points right, y up, with 0 at the upper edge.

    Attributes:
        form: sizes of nodes.
        nodes: number of each drawn node; -1 for a mark.
        marks: marks of folded branches, by place among the nodes.
        placed: layout of the drawn nodes, in the same order.
        x: middle of each node.
        bar: y of the bar over each node and its siblings.
        top, bottom: y of each node's upper and lower edge, without its caption and foot.
        size: width and height of the sheet.

    Shapes:
        nodes, x, bar, top, bottom ``[n]``.
    """

    form: Form
    nodes: np.ndarray
    marks: Mapping[int, Mark]
    placed: Layout
    x: np.ndarray
    bar: np.ndarray
    top: np.ndarray
    bottom: np.ndarray
    size: tuple[float, float]


def place(drawn: Tree, topology: Topology, form: Form, dots: int) -> Sheet:
    """Places the nodes of a tree.

    Args:
        drawn: nodes to draw, from :func:`.folded`.
        topology: shape of the whole tree.
        form: sizes of nodes.
        dots: largest number of transformers on an edge.
    """
    placed = layout(drawn)
    width, depth = form.unit * (placed.x.max() - placed.x.min() + 1), placed.depth.max()
    drop = form.drop + DOT * min(dots, MAX_DOTS)
    if form == DOTS:
        drop = max(drop, width / FLAT / (depth + 1) - form.level)
    form = replace(form, drop=drop)
    labels = [v.label for v in placed.nodes if isinstance(v, Tree)]  # all are: nothing collapses
    marks = {i: label for i, label in enumerate(labels) if isinstance(label, Mark)}
    nodes = np.array([-1 if isinstance(label, Mark) else label for label in labels])
    inner = (nodes >= 0) & topology.inner[nodes]
    bar = -form.level * placed.depth
    top = bar - form.drop - form.caption
    bottom = top - np.where(inner, form.body, form.leaf)
    x = form.unit * (placed.x - placed.x.min() + 0.5)
    return Sheet(form, nodes, marks, placed, x, bar, top, bottom, (width, form.foot - bottom.min()))


def deepest(sheet: Sheet) -> int:
    """The depth of the deepest nodes that are drawn, without marks."""
    return int(sheet.placed.depth[sheet.nodes >= 0].max())


def scale_to(points: np.ndarray, sheet: Sheet, key: float) -> float:
    """The scale at which a sheet and its key fit a size.

    Args:
        points: width and height to fit, in points, ``[2]``.
        sheet: sheet to fit.
        key: height of the key above it in points, which is not scaled.
    """
    across, down = (points - [0, key]) / np.array(sheet.size)
    return min(MAX_SCALE, max(min(across, down), 1e-3))


def fit_limits(ax: Axes, sheet: Sheet, scale: float, key: float) -> None:
    """Sets the limits of the axes so that the sheet and its key are in the middle."""
    width, height = room_of(ax) / scale
    middle = (key / scale - sheet.size[1]) / 2
    ax.set_xlim((sheet.size[0] - width) / 2, (sheet.size[0] + width) / 2)
    ax.set_ylim(middle - height / 2, middle + height / 2)
    ax.set_axis_off()
