"""The pictures of a neural tree's run, and of the tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from structnet.cli.neural_tree.data import Data
from structnet.cli.neural_tree.run import TreeRun
from structnet.cli.pictures import save
from structnet.neural_tree import Decision
from structnet.plot import plot_growth, plot_leaf_classes, plot_leaf_means, plot_neural_tree

if TYPE_CHECKING:
    from structnet.cli.neural_tree.tables import Table

PAPER, OURS = "#BBBBBB", "#4477AA"


def draw_all(run: TreeRun, data: Data, folder: Path) -> list[Path]:
    """All pictures that the run has come to so far: of a tree that grows, or that is done.

    The trees are drawn with what the test samples do in them.
    """
    names = data.arrays.classes
    growth = plot_growth(run.history, [Decision(**each) for each in run.decisions])[0]
    paths = [save(growth, folder / "growth.png")]
    grown = plot_neural_tree(run.grown_tree(), data.test, names)
    paths.append(save(grown, folder / "tree_grown.png"))
    if not run.has_tree:
        return paths
    tree = run.tree()
    paths.append(save(plot_neural_tree(tree, data.test, names), folder / "tree.png"))
    if len(tree.shape) == 3:
        paths.append(save(plot_leaf_means(tree, data.test, names), folder / "leaves.png"))
    if names is not None:
        paths.append(save(plot_leaf_classes(tree, data.test, names), folder / "classes.png"))
    return paths


def draw_table(table: Table, path: Path) -> Path:
    """The first quantity of a table as bars, the paper's beside ours."""
    from matplotlib.figure import Figure

    quantity, rows = table.quantities[0], list(table.rows)[::-1]  # the first one on top
    figure = Figure(figsize=(7, 0.9 + 0.6 * len(rows)))
    ax = figure.add_subplot()
    for i, row in enumerate(rows):
        ours, known = row.ours.get(quantity, ()), row.paper.get(quantity)
        if known is not None:
            ax.barh(i + 0.2, known, 0.36, color=PAPER, label="paper")
        ax.barh(i - 0.2, sum(ours) / len(ours), 0.36, color=OURS, label="ours")
        ax.plot(ours, [i - 0.2] * len(ours), "k.", markersize=4)  # each seed
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    ax.set_xlabel(quantity)
    ax.set_title(table.title, fontsize=11)
    handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    # Beside the bars: with few of them, no corner is free.
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
    ax.legend(handles.values(), handles.keys(), frameon=False, **beside)
    ax.spines[["top", "right"]].set_visible(False)
    return save(ax, path)
