"""Pictures of a label tree's run: losses, reassignments, and the tree as far as one looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from structnet.recipes.recipe import Place
from structnet.recipes.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structnet.label_tree import LabelTree

WIDEST = 24  # nodes of a level that are drawn


def pictures_of(run: Run) -> Mapping[str, Callable[[], Axes]]:
    """File name -> what draws it, as far as the run has come."""
    from structnet.plot import plot_history
    from structnet.recipes.label_tree_runs import opened

    found: dict[str, Callable[[], Axes]] = {}
    if len(run.history):
        found["history.png"] = lambda: plot_history(run.history)[0]
    if not (run.folder / "model.safetensors").exists():
        return found
    model = opened(run, Place())
    rebuilds = _rebuilds(run)
    if rebuilds:
        found["learning.png"] = lambda: plot_rebuilds(rebuilds)
    found["tree.png"] = lambda: plot_label_tree(model.tree, model.labels)
    return found


def _rebuilds(run: Run) -> list[dict[str, float]]:
    from structnet.recipes.label_tree_runs import STATE
    from structnet.training.checkpoint import load_model

    file = run.folder / STATE
    return load_model(file)[1]["state"]["rebuilds"] if file.exists() else []


def plot_rebuilds(rebuilds: Sequence[Mapping[str, float]], ax: Axes | None = None) -> Axes:
    """Draws how good the nodes' decisions are, and how many labels move, over the reassignments.

    Args:
        rebuilds: records, as :class:`.Training` keeps them.
        ax: axes; new ones by default.
    """
    from structnet.plot.style import legend_above, new_axes, tidy

    ax = ax or new_axes(1, 6, 4)[0]
    at = range(1, len(rebuilds) + 1)
    ax.plot(at, [each["objective"] for each in rebuilds], label="mean J / J*")
    ax.plot(at, [each["moved"] for each in rebuilds], label="share of labels that move")
    ax.set(xlabel="reassignment", ylim=(0, 1))
    tidy(ax)
    legend_above(ax, ax.get_lines(), 2)
    return ax


def plot_label_tree(
    tree: LabelTree, labels: Sequence[str], levels: int = 2, ax: Axes | None = None
) -> Axes:
    """Draws the first levels of a tree, at each node its most frequent labels (Fig. 3).

    Args:
        tree: label tree.
        labels: names of its labels.
        levels: depth of the last nodes that are drawn; of a wide level the most frequent.
        ax: axes; new ones by default.
    """
    import matplotlib.pyplot as plt

    from structnet.recipes.label_tree_runs import frequent

    counts, topology = tree.softmax.counts.numpy(), tree.topology
    at_nodes = frequent(tree, levels, shown=4)
    kept = {0}
    for level in range(1, levels + 1):
        here = [v for v in at_nodes if topology.depth[v] == level and topology.parent[v] in kept]
        here.sort(key=lambda v: -counts[at_nodes[v][1]].sum())
        kept |= set(here[:WIDEST])
    rows = _from_top(topology, kept)
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 0.28 * len(rows) + 0.6))
    place = {v: row for row, v in enumerate(rows)}
    for v, row in place.items():
        number, most = at_nodes[v]
        names = ", ".join(labels[k] for k in most) + (" ..." if number > len(most) else "")
        x = float(topology.depth[v])
        if v:
            above = int(topology.parent[v])
            ax.plot([x - 0.9, x - 0.9, x - 0.05], [place[above] + 0.3, row, row], "0.7", lw=1)
        ax.text(x, row, f"{names}  ({number:,})" if number > 1 else names, va="center", fontsize=8)
    ax.set(xlim=(-0.1, levels + 1.6), ylim=(len(rows) - 0.4, -0.6))
    ax.set_axis_off()
    return ax


def _from_top(topology: Any, kept: set[int]) -> list[int]:
    """The nodes as one writes them, each before what is below it."""
    found, stack = [], [0]
    while stack:
        v = stack.pop()
        found.append(v)
        stack += [u for u in reversed(topology.children_of(v)) if u in kept]
    return found
