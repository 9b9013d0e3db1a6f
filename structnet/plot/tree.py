"""Draws a tree as labelled boxes, in levels or, if it is large, as an outline of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from structnet.checks import check_one_of
from structnet.parse import networkx_tree
from structnet.plot.boxes import Colors, Styles
from structnet.plot.labels import Labels
from structnet.plot.levels import draw_levels, size_of, width_of
from structnet.plot.outline import Outline, Row
from structnet.plot.page import (
    A4,
    INCH,
    SMALLEST,
    draw_outline,
    fit_axes,
    fit_page,
    outline_of,
    room_of,
)
from structnet.plot.tree_layout import layout
from structnet.trees.forest import Forest
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    import networkx as nx
    from dgl import DGLGraph
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_LABEL = 24  # letters on a line
MAX_TREES = 8  # trees side by side
MAX_SIDE = 40.0  # inches: largest side of a figure; larger drawings are scaled down
FORMS = ("auto", "levels", "outline")
LEVELS_NODES, LEVELS_DEPTH, OUTLINE_NODES = 200, 30, 1000  # default limits
SHARP = 160  # dots per inch, so that the letters of a page can be read on a screen


def plot_tree(
    tree: Tree | Forest | nx.DiGraph | DGLGraph | Sequence[Tree],
    *,
    ax: Axes | None = None,
    labels: Callable[[Tree], str] | None = None,
    colors: Callable[[Tree], str | None] | Mapping[object, str] | None = None,
    form: str = "auto",
    max_nodes: int | None = None,
    max_depth: int | None = None,
    max_label: int = MAX_LABEL,
    marked: Iterable[Tree] = (),
) -> Axes:
    """Draws a tree, or a few, so that every label can be read.

    A small tree has its root on top and its leaves in order. A large one is an outline, like
    folders in a file browser: a row for each node, indented below its parent, in newspaper columns.
    In an outline, a chain of nodes with one child each shares a row, the path to a column is above
    it, and a subtree that would be indented too far is replaced by the number of the part in which
    it continues. Of several trees, each begins a column, with its number above it.

    Without axes, the figure can be printed on a page of A4 or letter paper in letters of at least 6
    points, which has room for about 500 nodes; for more, the page is larger. On given axes, letters
    are made smaller if neighbours would overlap.

    Letters that matplotlib's font lacks are drawn with an installed font that has them.

    Args:
        tree: tree, list of trees, or forest or graph; at most 8 trees.
        ax: axes to draw on; by default new ones.
        labels: function that returns the text of a node, of one line or several; by default the
            label and, on another line, the token.
        colors: function that returns the colour of a node, or None for the default one; or a
            mapping from labels to colours.
        form: "levels" for the root on top, "outline" for rows, "auto" for levels if all labels can
            be read.
        max_nodes: largest number of nodes; the others are collapsed into nodes such as "… 99,950
            more". By default 200 in levels and 1,000 in an outline.
        max_depth: largest number of edges from the root, with the same effect; by default 30 in
            levels.
        max_label: largest number of characters on a line; longer lines are cut.
        marked: nodes of the tree, the very objects, whose boxes get a thick black edge.

    Raises:
        TypeError: ``tree`` has another type.
        ValueError: there are no trees or too many, a limit is too small to draw the roots, or the
            form is unknown.
        NotATreeError: the graph is not a tree.

    Warns:
        UserWarning: no installed font has some letters; they are drawn as boxes.

    Example:
        >>> from matplotlib.figure import Figure
        >>> tree = Tree("MAX", [Tree("2"), Tree("MIN", [Tree("4"), Tree("7")])])
        >>> ax = plot_tree(tree, ax=Figure().add_subplot(), labels=lambda node: f"<{node.label}>")
        >>> [text.get_text() for text in ax.texts]
        ['<MAX>', '<2>', '<MIN>', '<4>', '<7>']
    """
    import matplotlib.pyplot as plt

    limits = max_nodes, max_depth, max_label
    picture = Picture(_trees(tree), labels, colors, form, limits, marked)
    return picture.draw(ax) if ax is not None else picture.draw_new(plt.figure)


class Picture:
    """Trees to draw on given axes, or on a figure of the size that they need.

    Args:
        trees: trees to draw.
        labels, colors, form: arguments of :func:`plot_tree`.
        limits: largest numbers of nodes and of edges from the root, None for the default ones, and
            of characters on a line.
        marked: nodes with a thick edge.
    """

    def __init__(
        self,
        trees: Sequence[Tree],
        labels: Callable[[Tree], str] | None,
        colors: Colors,
        form: str,
        limits: tuple[int | None, int | None, int],
        marked: Iterable[Tree] = (),
    ):
        check_one_of("form", form, FORMS)
        max_nodes, max_depth, max_label = limits
        large = sum(each.size for each in trees) > LEVELS_NODES and max_nodes is None
        deep = max(each.height for each in trees) > LEVELS_DEPTH and max_depth is None
        self.form = "outline" if form == "auto" and (large or deep) else form
        if self.form == "levels" and max_depth is None:
            max_depth = LEVELS_DEPTH
        if max_nodes is None:
            most = LEVELS_NODES if self.form == "levels" else OUTLINE_NODES
            max_nodes = max(most, len(trees))
        self.styles = Styles(colors, set(map(id, marked)))
        self.rough = layout(trees, max_nodes, max_depth)  # with boxes of equal width
        self.labels = Labels(self.rough.nodes, labels, max_label)
        if self.form != "outline":
            width = partial(width_of, labels=self.labels)
            self.levels = layout(trees, max_nodes, max_depth, width)
            self.needed = size_of(self.levels, self.labels)  # points

    def draw(self, ax: Axes) -> Axes:
        """Draws on given axes; with "auto", as an outline if its letters are larger."""
        room = room_of(ax)
        ax.set_axis_off()
        if self.form != "outline":
            stretch = room[1] / self.needed[1]
            scale = min(1.0, *(room / self.needed))
        if self.form == "auto" and scale < SMALLEST:
            outline, larger = fit_axes(self._rows(), room)
            if larger > scale:
                return self._draw_outline(ax, outline, larger, room)
        if self.form == "outline":
            return self._draw_outline(ax, *fit_axes(self._rows(), room), room)
        draw_levels(ax, self.levels, self.labels, self.styles, scale, stretch)
        return ax

    def draw_new(self, figure: Callable[..., Figure]) -> Axes:
        """Draws on a new figure, made by a function of ``figsize`` and ``dpi``."""
        if self.form == "auto" and self._has_room_on_a_page():
            self.form = "levels"
        if self.form == "levels":
            inches = np.maximum(self.needed / INCH, 1.0)
            inches = inches * min(1.0, MAX_SIDE / inches.max())
            return self.draw(figure(figsize=inches).add_axes((0, 0, 1, 1)))
        outline, scale, points = fit_page(self._rows())
        ax = figure(figsize=points / INCH, dpi=SHARP).add_axes((0, 0, 1, 1))
        ax.set_axis_off()
        return self._draw_outline(ax, outline, scale, points)

    def _has_room_on_a_page(self) -> bool:
        """True if levels fit on A4, portrait or landscape, in letters that can be read."""
        return any((SMALLEST * self.needed <= page).all() for page in (A4, A4[::-1]))

    def _rows(self) -> list[Row]:
        return outline_of(self.rough.nodes, self.rough.parent, self.labels)

    def _draw_outline(self, ax: Axes, outline: Outline, scale: float, room: np.ndarray) -> Axes:
        draw_outline(ax, outline, self.rough.nodes, self.labels, self.styles, scale, room)
        return ax


def _trees(tree: Tree | Forest | nx.DiGraph | DGLGraph | Sequence[Tree]) -> Sequence[Tree]:
    if isinstance(tree, Tree):
        return [tree]
    if hasattr(tree, "ndata"):
        tree = Forest.from_graph(tree)
    elif hasattr(tree, "adj"):
        return [networkx_tree(tree)]
    if not isinstance(tree, (Forest, list, tuple)):
        kind = type(tree).__name__
        how = "its method plot" if hasattr(tree, "plot") else "plot_model_tree"
        hint = f", which {how} draws" if hasattr(tree, "plot") or hasattr(tree, "visits") else ""
        raise TypeError(f"expected a Tree, a Forest, a graph or a list of trees; got {kind}{hint}")
    if not 1 <= len(tree) <= MAX_TREES:
        raise ValueError(f"a picture has room for 1 to {MAX_TREES} trees; got {len(tree)}")
    if isinstance(tree, Forest):
        return [tree.tree(i) for i in range(len(tree))]
    wrong = [type(item).__name__ for item in tree if not isinstance(item, Tree)]
    if wrong:
        raise TypeError(f"expected a list of trees; got one with a {wrong[0]}")
    return tree
