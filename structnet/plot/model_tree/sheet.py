"""Where the parts of a model tree's picture go, in points, and how they are scaled to its axes."""

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

MAX_SIDE = 24 * INCH  # of new axes
MIN_SIDE = 4 * INCH  # of new axes across: the key needs it, however small the tree
MIN_SCALE = 0.35  # what would be drawn smaller is drawn as dots
MAX_SCALE = 1.5  # a small tree does not fill large axes
# Points: a panel's width, and the letters at nodes; below this scale, they cannot be read.
WIDTH, FONT, SMALL, MIN_TEXT = 60.0, 7.0, 6.0, 0.5
LINE = 8.0  # points: the height of a line at a node
DOT, MAX_DOTS = 6.0, 5  # room of a transformer on an edge; more of them are written as a number


@dataclass(frozen=True)
class Form:
    """How nodes are drawn, and what room that takes in points.

    Args:
        unit: the width of a leaf and the gap beside it.
        caption: the height of the line above a node.
        body: the height of an inner node.
        leaf: the height of a leaf.
        foot: the height of the line below a node.
        stem: the way from there to the bar over the children.
        drop: the way from the bar to the children.
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


# The panels of the classes, of the path probabilities and of the router, and gaps of 2 points.
CLASSES, COMING, ROUTER = 34.0, 14.0, 14.0
# A leaf's first line belongs to it, so that it has room for two.
HISTOGRAMS = Form(unit=70, caption=9, body=66, leaf=50 + LINE, foot=13, stem=8, drop=8)
BOXES = Form(unit=36, caption=0, body=16, leaf=16, foot=0, stem=8, drop=8)
DOTS = Form(unit=9, caption=0, body=6, leaf=6, foot=0, stem=4, drop=6)
FLAT = 4  # dots are drawn no wider than so many times their height, by longer edges


class Sheet(NamedTuple):
    """The places of all nodes, x to the right and y up from 0 at the upper edge.

    Attributes:
        form: the way nodes are drawn.
        nodes: the number of each drawn node; -1 for a mark.
        marks: marks of folded branches, by their place among the nodes.
        placed: the nodes that are drawn, in the same order.
        x: the middles of the nodes.
        bar: the height of the bar over a node and its sibling.
        top, bottom: the heights where the node itself begins and ends, between its caption and its
            foot.
        size: the width and the height of all.

    Shapes:
        the arrays ``[n]``.
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
        drawn: nodes to draw, as :func:`.folded` gives them.
        topology: the whole tree.
        form: the way nodes are drawn.
        dots: the most transformers to draw on an edge.
    """
    placed = layout(drawn)
    width, depth = form.unit * (placed.x.max() - placed.x.min() + 1), placed.depth.max()
    drop = form.drop + DOT * min(dots, MAX_DOTS)
    if form == DOTS:
        drop = max(drop, width / FLAT / (depth + 1) - form.level)
    form = replace(form, drop=drop)
    labels = [v.label for v in placed.nodes if isinstance(v, Tree)]  # all are, without limits
    marks = {i: label for i, label in enumerate(labels) if isinstance(label, Mark)}
    nodes = np.array([-1 if isinstance(label, Mark) else label for label in labels])
    inner = (nodes >= 0) & topology.inner[nodes]
    bar = -form.level * placed.depth
    top = bar - form.drop - form.caption
    bottom = top - np.where(inner, form.body, form.leaf)
    x = form.unit * (placed.x - placed.x.min() + 0.5)
    return Sheet(form, nodes, marks, placed, x, bar, top, bottom, (width, form.foot - bottom.min()))


def scale_to(points: np.ndarray, sheet: Sheet, key: float) -> float:
    """How large a point of the sheet comes out, in points, where there is so much room.

    Args:
        points: the width and the height of the room, ``[2]``.
        sheet: the sheet to fit in.
        key: the height that the key takes above it, on any scale.
    """
    across, down = (points - [0, key]) / np.array(sheet.size)
    return min(MAX_SCALE, max(min(across, down), 1e-3))


def fit_limits(ax: Axes, sheet: Sheet, scale: float, key: float) -> None:
    """Sets the limits of the axes so that sheet and key stand in their middle."""
    width, height = room_of(ax) / scale
    middle = (key / scale - sheet.size[1]) / 2
    ax.set_xlim((sheet.size[0] - width) / 2, (sheet.size[0] + width) / 2)
    ax.set_ylim(middle - height / 2, middle + height / 2)
    ax.set_axis_off()
