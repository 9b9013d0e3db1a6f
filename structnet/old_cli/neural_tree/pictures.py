"""The pictures of a neural tree's run, and of the tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from structnet.cli.neural_tree.data import Data
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.pictures import save
from structnet.neural_tree import Decision
from structnet.plot import plot_growth, plot_leaf_classes, plot_leaf_means, plot_neural_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structnet.cli.neural_tree.tables import Row, Table

PAPER, OURS = "#BBBBBB", "#4477AA"
WIDE = 100  # figures further apart than this are drawn on a logarithmic scale


def pictures(run: TreeRun, data: Data) -> dict[str, Callable[[], Axes]]:
    """The names of the pictures that a run has come to so far, and what draws each.

    They are of a tree that grows, or that is done, with what the test samples do in it.
    """
    told = data.test_in_units, data.arrays.classes  # the trees are not asked for predictions
    decisions = [Decision(**each) for each in run.decisions]
    found = {
        "growth.png": lambda: plot_growth(run.history, decisions)[0],
        "tree_grown.png": lambda: plot_neural_tree(run.grown_tree(), *told),
    }
    if not run.has_tree:
        return found
    tree = run.tree()
    found["tree.png"] = lambda: plot_neural_tree(tree, *told)
    if len(tree.shape) == 3:
        found["leaves.png"] = lambda: plot_leaf_means(tree, *told)
    if data.arrays.classes is not None:
        found["classes.png"] = lambda: plot_leaf_classes(tree, *told)
    return found


def draw_table(table: Table, path: Path) -> Path:
    """The quantities of a table side by side, as bars, the paper's beside ours; seeds are dots."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    rows = list(table.rows)[::-1]  # the first one on top
    figure = Figure(figsize=(1.5 + 2.5 * len(table.quantities), 1.4 + 0.6 * len(rows)))
    axes = figure.subplots(1, len(table.quantities), sharey=True, squeeze=False)[0]
    for ax, quantity in zip(axes, table.quantities, strict=True):
        _draw_quantity(ax, quantity, rows)
    axes[0].set_yticks(range(len(rows)), [row.name for row in rows])
    figure.suptitle(table.title, fontsize=11)
    handles = [Patch(color=color) for color in (PAPER, OURS)]
    beside = {"loc": "upper left", "bbox_to_anchor": (1, 0.9)}  # with few bars, no corner is free
    figure.legend(handles, ["paper", "ours"], frameon=False, **beside)
    figure.tight_layout()
    return save(axes[0], path)


def _draw_quantity(ax: Axes, quantity: str, rows: Sequence[Row]) -> None:
    known = [row.paper.get(quantity) for row in rows]
    found = [row.ours.get(quantity, ()) for row in rows]
    for i, (paper, ours) in enumerate(zip(known, found, strict=True)):
        if paper is not None:
            ax.barh(i + 0.2, paper, 0.36, color=PAPER)
        if ours:
            ax.barh(i - 0.2, sum(ours) / len(ours), 0.36, color=OURS)
            ax.plot(ours, [i - 0.2] * len(ours), "k.", markersize=4)
    drawn = [value for value in (*known, *(v for each in found for v in each)) if value]
    if drawn and max(drawn) > WIDE * min(drawn):
        ax.set_xscale("log")
    ax.set_xlabel(quantity.replace(", ", ",\n"))
    ax.spines[["top", "right"]].set_visible(False)
