"""Pictures of softmax trees like the paper's: Fig. 1, Fig. 2, and error against FLOPs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.model_tree.key import ONE_LEAF
from structnet.plot.style import GREY, LEAF, LINES, MARKERS, labelled, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structnet.softmax_tree import GrowthSettings, SoftmaxTree
    from structnet.training.history import History

SIZE = 6.4, 4.8  # of a figure, in inches


def draw_widths(
    tree: SoftmaxTree, growth: GrowthSettings | None = None, ax: Axes | None = None
) -> Axes:
    """Draws a tree whose leaves have sizes in proportion to their classes (Fig. 1).

    Args:
        tree: the tree.
        growth: settings of its growth, from which the largest number of classes that a leaf may
            have is shown at each depth; None if the tree did not grow.
        ax: axes to draw on; None for new ones.
    """
    from structnet.softmax_tree.start import most_classes

    ax, topology, sizes = one_axes(ax, *SIZE), tree.topology, tree.arrays.sizes()
    at = np.zeros(topology.num_nodes)
    at[topology.from_left()] = np.arange(len(topology.leaves))
    below = topology.sums_below((~topology.inner).astype(float))
    at = (
        topology.sums_below(np.where(topology.inner, 0, at)) / below
    )  # the middle of the leaves below each node
    depth = topology.depth
    parent, child, _ = topology.edges()
    ax.plot([at[parent], at[child]], [depth[parent], depth[child]], color="0.75", lw=0.8, zorder=1)
    leaves = topology.leaves
    inner = np.flatnonzero(topology.inner)
    ax.scatter(at[inner], depth[inner], s=12, color=GREY, zorder=2, label="_inner")
    area = 400 * sizes[leaves] / max(sizes.max(), 1)
    dots: dict[str, Any] = {"color": LEAF, "edgecolor": GREY, "linewidth": 0.6}
    ax.scatter(at[leaves], depth[leaves], s=np.maximum(area, 4), zorder=2, label="_leaves", **dots)
    if len(leaves) <= 32:
        for leaf in leaves:
            ax.annotate(
                f"{sizes[leaf]:,}", (at[leaf], depth[leaf]), ha="center", va="center", fontsize=7
            )
    for level in range(int(depth.max()) + 1):
        here = sizes[leaves][depth[leaves] == level]
        words = f"largest leaf {here.max():,}" if len(here) else ""
        most = ""
        if growth and len(here):
            most = f"at most {most_classes(growth, tree.num_classes, level):,} allowed"
        ax.annotate(
            "\n".join(filter(None, (words, most))),
            (1.01, level),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8,
        )
    ax.set(ylabel="depth: decisions on the way", xticks=[], yticks=range(int(depth.max()) + 1))
    title = f"How many of the {tree.num_classes:,} classes each leaf tells apart"
    ax.set_title(title + f"\n{ONE_LEAF}" * (len(leaves) == 1), fontsize=11)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.margins(0.08, 0.08)
    ax.invert_yaxis()
    return ax


def draw_errors(history: History, ax: Axes | None = None) -> Axes:
    """Draws the errors over the iterations, with a line where the tree was expanded (Fig. 2)."""
    ax = one_axes(ax, *SIZE)
    names = {"error": "training", "validation_error": "validation"}
    for (name, label), color in zip(names.items(), LINES, strict=False):
        told = [(record["epoch"], record[name]) for record in history if name in record]
        if told:  # the last iterations have no validation error if they learn from these examples
            ax.plot(*zip(*told, strict=True), ".-", label=label, color=color, clip_on=False)
    rounds = np.array(history["round"])
    for number, place in enumerate(np.flatnonzero(np.diff(rounds) > 0)):
        label = "_expanded" if number else "the tree is expanded"
        ax.axvline(history.records[place + 1]["epoch"], color=GREY, linestyle=":", label=label)
    ax.locator_params("x", integer=True)
    ax.set_ylim(bottom=0)
    return labelled(ax, "iteration", "error", "Training of a softmax tree")


def draw_costs(found: Mapping[str, Sequence[tuple[float, float]]], ax: Axes | None = None) -> Axes:
    """Draws error against FLOPs, one line per kind of tree.

    Args:
        found: kind -> FLOPs and error of each of its trees.
        ax: axes to draw on; None for new ones.
    """
    ax = one_axes(ax, *SIZE)
    for number, (name, pairs) in enumerate(found.items()):
        flops, errors = np.array(sorted(pairs)).T
        style: dict[str, Any] = {
            "color": LINES[number % len(LINES)],
            "marker": MARKERS[number % len(MARKERS)],
        }
        ax.plot(flops, errors, label=name, **style)
    ax.set_xscale("log")
    title = "What a prediction costs, and how often it is wrong"
    return labelled(ax, "FLOPs of one prediction", "test error", title)
