"""Pictures of softmax trees as the paper has them: Fig. 1, Fig. 2, and error against FLOPs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structnet.softmax_tree import SoftmaxTree
    from structnet.training.history import History


def draw_widths(tree: SoftmaxTree, alpha: float | None = None, ax: Axes | None = None) -> Axes:
    """A tree whose leaves are as large as they have classes (Fig. 1).

    Args:
        tree: the tree.
        alpha: contraction of the growth; with it, each depth says how many classes a leaf may have
            there at most, ``alpha^depth K``.
        ax: axes to draw on; by default new ones.
    """
    ax, topology, sizes = _axes(ax), tree.topology, tree.arrays.sizes()
    at = np.zeros(topology.num_nodes)
    at[topology.from_left()] = np.arange(len(topology.leaves))
    below = topology.sums_below((~topology.inner).astype(float))
    at = (
        topology.sums_below(np.where(topology.inner, 0, at)) / below
    )  # above the middle of its leaves
    depth = topology.depth
    parent, child, _ = topology.edges()
    ax.plot([at[parent], at[child]], [depth[parent], depth[child]], color="0.75", lw=0.8, zorder=1)
    leaves = topology.leaves
    area = 400 * sizes[leaves] / max(sizes.max(), 1)
    ax.scatter(at[leaves], depth[leaves], s=np.maximum(area, 4), zorder=2, label="_leaves")
    if len(leaves) <= 32:
        for leaf in leaves:
            ax.annotate(
                f"{sizes[leaf]:,}", (at[leaf], depth[leaf]), ha="center", va="center", fontsize=7
            )
    for level in range(int(depth.max()) + 1):
        here = sizes[leaves][depth[leaves] == level]
        most = "" if alpha is None else f"at most {int(tree.num_classes * alpha**level):,}"
        words = f"largest {here.max():,}" if len(here) else ""
        ax.annotate(
            ", ".join(filter(None, (words, most))),
            (1.01, level),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8,
        )
    ax.set(ylabel="depth", xticks=[], yticks=range(int(depth.max()) + 1))
    ax.set_title(f"classes left at the leaves, of {tree.num_classes:,}")
    ax.invert_yaxis()
    return ax


def draw_errors(history: History, ax: Axes | None = None) -> Axes:
    """The errors over the iterations, with an arrow where the tree was expanded (Fig. 2)."""
    ax, epochs = _axes(ax), np.array(history["epoch"])
    names = {"error": "training", "validation_error": "validation"}
    for name, label in names.items():
        if all(name in record for record in history):
            ax.plot(epochs, 100 * np.array(history[name]), ".-", label=label)
    rounds = np.array(history["round"])
    for place in np.flatnonzero(np.diff(rounds)):
        ax.annotate(
            "",
            (epochs[place + 1], 100 * history["error"][place + 1]),
            (epochs[place + 1], 100 * history["error"][place + 1] + 8),
            arrowprops={"arrowstyle": "->"},
        )
    ax.set(xlabel="iteration", ylabel="error, %", title="arrows: the tree was expanded")
    ax.legend()
    return ax


def draw_costs(found: Mapping[str, Sequence[tuple[float, float]]], ax: Axes | None = None) -> Axes:
    """Error against FLOPs, one line a kind of tree.

    Args:
        found: kind -> FLOPs and error of its trees.
        ax: axes to draw on; by default new ones.
    """
    ax = _axes(ax)
    for name, pairs in found.items():
        flops, errors = np.array(sorted(pairs)).T
        ax.plot(flops, 100 * errors, "o-", label=name)
    ax.set(xscale="log", xlabel="FLOPs a prediction", ylabel="test error, %")
    ax.legend()
    return ax


def _axes(ax: Axes | None) -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1] if ax is None else ax
