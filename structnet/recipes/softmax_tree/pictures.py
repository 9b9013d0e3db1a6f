"""Pictures of softmax trees like the paper's: Fig. 1, Fig. 2, and error against FLOPs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot import plot_history
from structnet.plot.history import OBJECTIVE
from structnet.plot.model_tree.folding import Mark, folded
from structnet.plot.model_tree.key import ONE_LEAF
from structnet.plot.style import GREY, LEAF, labelled, look_of, one_axes
from structnet.plot.tree_layout import Layout, layout
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structnet.routing.topology import Topology
    from structnet.softmax_tree import GrowthSettings, SoftmaxTree
    from structnet.training.history import History

SIZE = 6.4, 4.8  # of a figure, in inches
MOST = 16  # leaves side by side, for the numbers in them


def draw_widths(
    tree: SoftmaxTree, growth: GrowthSettings | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draws a tree whose leaves have sizes in proportion to their classes (Fig. 1).

    Of a large tree, only the upper levels are drawn; marks count the leaves below.

    Args:
        tree: the tree.
        growth: settings of its growth, from which the largest number of classes that a leaf may
            have is shown at each depth; None if the tree did not grow.
        ax: axes to draw on; None for new ones.
    """
    ax, topology, sizes = one_axes(ax, *SIZE), tree.topology, tree.arrays.sizes()
    placed = _upper_levels(topology)
    labels = [node.label for node in placed.nodes if isinstance(node, Tree)]
    at, depth = placed.x, placed.depth
    nodes = np.array([-1 if isinstance(label, Mark) else label for label in labels])
    inner, parent = (nodes >= 0) & topology.inner[nodes], placed.parent[1:]
    leaves = np.flatnonzero((nodes >= 0) & ~inner)
    for edge in zip(at[parent], at[1:], depth[parent], depth[1:], strict=True):
        ax.plot(edge[:2], edge[2:], color="0.75", lw=0.8, zorder=1)
    ax.scatter(at[inner], depth[inner], s=12, color=GREY, zorder=2, label="_inner")
    here = sizes[nodes[leaves]]
    dots: dict[str, Any] = {"color": LEAF, "edgecolor": GREY, "linewidth": 0.6}
    area = np.maximum(400 * here / max(sizes.max(), 1), 4)
    ax.scatter(at[leaves], depth[leaves], s=area, zorder=2, label="_leaves", **dots)
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7}
    for leaf, size in zip(leaves, here, strict=True):
        ax.annotate(f"{size:,}", (at[leaf], depth[leaf]), color="black", **middle)
    for i, label in enumerate(labels):
        if isinstance(label, Mark):
            ax.annotate(label.words().replace(" leaves", "\nleaves"), (at[i], depth[i]), **middle)
    before, last = "", int(depth.max())
    levels = np.minimum(topology.depth[topology.leaves], last)  # the marks stand for all below
    for level in range(last + 1):
        these = sizes[topology.leaves][levels == level]
        words = _level_words(these, growth, tree.num_classes, level)
        if words != before:
            place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "fontsize": 8}
            ax.annotate(words, (1.01, level), va="center", **place)
        before = words or before
    depth = depth[nodes >= 0]
    ax.set(ylabel="depth: decisions on the way", xticks=[], yticks=range(int(depth.max()) + 1))
    title = f"How many of the {tree.num_classes:,} classes each leaf tells apart"
    ax.set_title(title + f"\n{ONE_LEAF}" * (len(topology.leaves) == 1), fontsize=11)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.margins(0.08, 0.08)
    ax.invert_yaxis()
    return ax


def _upper_levels(topology: Topology) -> Layout:
    """The places of as many levels as have room for the numbers of their leaves."""
    found = layout(folded(topology, max_depth=1))
    for depth in range(2, int(topology.depth.max()) + 1):
        deeper = layout(folded(topology, max_depth=depth))
        if np.ptp(deeper.x) >= MOST:
            break
        found = deeper
    return found


def _level_words(sizes: np.ndarray, growth: GrowthSettings | None, classes: int, level: int) -> str:
    """The largest leaf of a level, and the largest that it may have."""
    from structnet.softmax_tree.start import most_classes

    if not len(sizes):
        return ""
    words = f"largest leaf {sizes.max():,}"
    most = growth and most_classes(growth, classes, level)
    return words if most is None else f"{words}\nat most {most:,} allowed"


def draw_errors(history: History, *, ax: Axes | None = None) -> Axes:
    """Draws the errors over the iterations, with a line where the tree was expanded (Fig. 2)."""
    records = [{name: record[name] for name in record if name != OBJECTIVE} for record in history]
    [ax] = plot_history(records, ax=ax or one_axes(None, *SIZE))
    ax.set_title("Training of a softmax tree", fontsize=11)
    return ax


def draw_costs(
    found: Mapping[str, Sequence[tuple[float, float]]], *, ax: Axes | None = None
) -> Axes:
    """Draws error against FLOPs, one line per kind of tree.

    Args:
        found: kind -> FLOPs and error of each of its trees.
        ax: axes to draw on; None for new ones.
    """
    ax = one_axes(ax, *SIZE)
    for number, (name, pairs) in enumerate(found.items()):
        flops, errors = np.array(sorted(pairs)).T
        ax.plot(flops, errors, label=name, **look_of(number))
    ax.set_xscale("log")
    title = "What a prediction costs, and how often it is wrong"
    return labelled(ax, "FLOPs of one prediction", "test error", title)
