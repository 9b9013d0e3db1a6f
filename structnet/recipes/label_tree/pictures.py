"""Pictures of a label tree's run: the reassignments, and the first levels of the tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from structnet.plot.fonts import fonts_for
from structnet.plot.names import short_names
from structnet.plot.style import GREY, LINES, labelled, one_axes, whole_numbers
from structnet.recipes.label_tree.runs import frequent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from structnet.label_tree import LabelTree

LEVELS = 2  # depth of the last level drawn
WIDEST = 24  # nodes drawn in a level, approximately
FEWEST = 3  # children drawn for each node, so that its content is visible
LONGEST = 16  # letters of a label
APART = " · "  # not a comma, which may be a label
TITLE = "The tree down to depth {}: each node's most frequent labels, and how many it has in all"


def plot_rebuilds(rebuilds: Sequence[Mapping[str, float]], ax: Axes | None = None) -> Axes:
    """Draws the quality of the nodes' decisions and the share of labels moved, by reassignment.

    Args:
        rebuilds: records of the reassignments, as in :class:`.Training`.
        ax: axes to draw on; None for new ones.
    """
    ax = one_axes(ax, 6, 4)
    names = {
        "objective": "how good decisions are: J / J*, mean over nodes",
        "moved": "labels that move to another child",
    }
    at = range(1, len(rebuilds) + 1)
    for (name, label), color in zip(names.items(), LINES, strict=False):
        ax.plot(at, [each[name] for each in rebuilds], label=label, color=color)
    ax.set_ylim(0, 1)
    whole_numbers(ax)
    shares, title = "share of the best, or of all labels", "Labels on the move while a tree learns"
    return labelled(ax, "reassignment of labels", shares, title)


def plot_label_tree(tree: LabelTree, labels: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draws the first levels of a tree, with the most frequent labels of each node (Fig. 3).

    Of many children only the most frequent are drawn.

    Args:
        tree: label tree.
        labels: names of its labels.
        ax: axes to draw on; None for new ones.
    """
    counts, topology = tree.softmax.counts.numpy(), tree.topology
    at_nodes = frequent(tree, LEVELS, shown=4)
    kept, last = {0}, [0]
    for _ in range(LEVELS):
        share, below = max(FEWEST, WIDEST // max(len(last), 1)), []
        for node in last:
            children = filter(at_nodes.__contains__, topology.children_of(node))
            below += sorted(children, key=lambda v: -counts[at_nodes[v][1]].sum())[:share]
        last = [v for v in below if topology.inner[v]]
        kept |= set(below)
    rows = _from_top(topology, kept, LEVELS)
    drawn = list(dict.fromkeys(k for row in rows for k in at_nodes[row.node][1]))
    names = dict(zip(drawn, short_names([labels[k] for k in drawn], LONGEST), strict=True))
    words = [_words(at_nodes, names, node) for node in rows]
    ax = one_axes(ax, 9, 0.25 * len(rows) + 0.9)
    place = {row.node: number for number, row in enumerate(rows) if not row.hidden}
    family = list(fonts_for(words).families)
    for number, (row, text) in enumerate(zip(rows, words, strict=True)):
        x = float(topology.depth[row.node]) + bool(row.hidden)
        above = row.node if row.hidden else int(topology.parent[row.node])
        if x:
            start = place[above] + 0.3
            ax.plot([x - 0.9, x - 0.9, x - 0.05], [start, number, number], "0.7", lw=1)
        color = GREY if row.hidden else "black"
        style: dict[str, Any] = {"fontsize": 8, "color": color, "family": family}
        ax.text(x, number, text, va="center", parse_math=False, **style)
    ax.set(xlim=(-0.1, LEVELS + 1.9), ylim=(len(rows) - 0.4, -0.6))
    ax.set_title(TITLE.format(LEVELS), fontsize=10)
    ax.set_axis_off()
    return ax


class _Row(NamedTuple):
    """A node; or the number of its children that are not drawn, if ``hidden`` is not 0."""

    node: int
    hidden: int = 0


def _words(at_nodes: Mapping[int, Any], names: Mapping[int, str], row: _Row) -> str:
    if row.hidden:
        return f"… {row.hidden} more node{'s' * (row.hidden > 1)}"
    number, most = at_nodes[row.node]
    return (
        APART.join(names[k] for k in most)
        + f"{APART}…  ({number:,})" * (number > len(most))
        + (f"  ({number})" if 1 < number <= len(most) else "")
    )


def _from_top(topology: Any, kept: set[int], levels: int) -> list[_Row]:
    """The rows of the picture in preorder, each node before its children."""
    shown_rows, stack = [], [_Row(0)]
    while stack:
        row = stack.pop()
        shown_rows.append(row)
        if row.hidden or topology.depth[row.node] == levels:
            continue
        children = topology.children_of(row.node)
        shown = [_Row(u) for u in children if u in kept]
        missing = len(children) - len(shown)
        stack += reversed([*shown, _Row(row.node, missing)] if missing else shown)
    return shown_rows
