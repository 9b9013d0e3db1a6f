"""The key above a model tree: the colours of classes, and what panels and shares mean."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structnet.plot.model_tree.captions import brief, write
from structnet.plot.model_tree.sheet import FONT, SMALL
from structnet.plot.names import short_names
from structnet.plot.palette import class_colors
from structnet.plot.style import GREY, LINES, add_legend
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import Reading
from structnet.routing.rules import rule_lines
from structnet.routing.visits import Reach
from structnet.routing.words import decided_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COMING_COLOR, ROUTER_COLOR = LINES[5], LINES[0]
LETTERS_SIZE = 8.0  # points: letters of the names of classes
# In points: width of an entry besides its name, of a letter, height of a row; and most classes.
ENTRY, LETTER, ROW, MAX_KEY = 22.0, 5.0, 13.0, 20
GREEDY, SOFT = "shares: greedy paths", "shares: mean probabilities"
NOTE, ABOVE = 16.0, 4.0  # points: height of the line about shares, and its distance to the tree
RULES = 3  # most rules that are told of a single leaf
SAID, LETTERS = 7.5, 3.6  # points: height of a line about the panels, and width of its letters
APART = 4.0  # points between the line about shares, which has larger letters, and those above it
ONE_LEAF = "one leaf: this tree asks nothing"
LEAF_SAID = {
    True: "below a leaf: its commonest class; how often its answer is correct",
    False: "below a leaf: mean ± deviation of what arrives; its own mean answer",
}
SIDES = "below a router: classes that mostly go to its first branch | the next"
UPPER = "classes that arrive, 0 to 100 %; darker ground: purer"
LEFT = "probability of going {}, 1 to 0, among the samples here"
ON = "share of the samples here that goes on to each child, 0 to 100 %"


class Key(NamedTuple):
    """The texts above a tree.

    Attributes:
        note: meaning of the shares; empty for a single leaf.
        names: short names of the classes; None if targets are numbers.
        texts: descriptions of the panels, each with its colour.
    """

    note: str
    names: Sequence[str] | None
    texts: Sequence[tuple[str, str]] = ()

    def lines(self, width: float) -> list[tuple[str, str]]:
        """The descriptions in lines that fit a width in points, each with its colour."""
        most = max(20, int(width / LETTERS))
        return [(line, color) for text, color in self.texts for line in wrap(text, most)]


def panel_texts(
    tree: RoutedTree, reached: Reach, targets: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """Descriptions of the panels of a tree's nodes, each with the colour of its panel.

    Args:
        tree: model tree.
        reached: counts of the samples at each node.
        targets: names of the predicted numbers; None if unknown.
    """
    classes = tree.num_classes is not None
    upper = UPPER if classes else _targets(reached, targets)
    arity = np.diff(tree.topology.offsets)
    # If several numbers are predicted, there is no text below a leaf.
    several = reached.mean is not None and reached.mean.shape[1] > 1
    leaf = [(LEAF_SAID[classes], GREY)] * (not several)
    if not arity.any() and classes:  # whose answer explains itself
        return [(f"{ONE_LEAF}; panel: its classes", GREY)]
    if reached.sure:
        panel = f"panels: {upper}" if arity.any() else f"{ONE_LEAF}; panel: {upper}"
        return [(panel, GREY), *leaf]
    two = (arity[arity > 0] == 2).all()
    lower = LEFT.format(tree.branch_names(0)[0]) if two else ON
    texts = [
        (f"upper panels: {upper}", GREY),
        ("middle: probability of coming here, 0 to 1, of all samples", COMING_COLOR),
        (f"lower: {lower}", ROUTER_COLOR),
        *leaf,
    ]
    if decided := decided_words(reached.all_decided):
        texts.append((f"{decided}: mean probability of the likelier branch", GREY))
    return texts


def rule_texts(reading: Reading) -> list[tuple[str, str]]:
    """What columns and their steps add most to a single leaf that is a sum of these, with its
    colour; of several leaves nothing, as there is more room for it in the tree as text.

    Args:
        reading: tree with its names and units.
    """
    if len(reading.tree.topology.leaves) > 1:
        return []
    names = reading.feature_names, reading.units, reading.class_names, reading.target_units
    lines = rule_lines(reading.tree, 0, *names)
    more = ["…"] * (len(lines) > RULES)
    return [(f"node 0 adds up {'; '.join([*lines[:RULES], *more])}", GREY)] if lines else []


def _targets(reached: Reach, names: Sequence[str] | None) -> str:
    """The description of the panels of targets, with their common scale."""
    assert reached.mean is not None and reached.spread is not None  # as for all numeric targets
    text = "targets that arrive, mean ± deviation"
    if reached.mean.shape[1] > 1:
        bars = ", ".join(short_names(names or ())) if names and len(names) <= MAX_KEY else ""
        bars = f"; a bar each, from the left: {bars}" if bars else "; a bar for each column"
        return f"{text}, within 2 deviations of all samples{bars}"
    middle, reach = float(reached.mean[0, 0]), 2 * float(reached.spread[0, 0])
    ends = brief(middle - reach, 3), brief(middle + reach, 3)
    return f"{text}; panel: {ends[0]} to {ends[1]}"


def draw_key(ax: Axes, key: Key, x: float, scale: float, width: float) -> None:
    """Draws the colours of the classes in rows that fit a width in points, and the texts below."""
    from matplotlib.patches import Patch

    style = {"ha": "center", "va": "bottom"}
    write(ax, x, ABOVE, key.note, FONT, color=GREY, **style)
    apart = APART if key.note else 0
    for number, (line, color) in enumerate(reversed(key.lines(width)), start=1):
        write(ax, x, ABOVE + (SAID * number + apart) / scale, line, SMALL, color=color, **style)
    names = key.names
    if names is None or len(names) > MAX_KEY:
        return
    patches = [Patch(color=color) for color in class_colors(len(names))]
    add_legend(
        ax,
        patches,
        names,
        loc="upper center",
        bbox_to_anchor=(x, key_height(key, width) / scale),
        bbox_transform=ax.transData,
        ncols=_columns(names, width),
        fontsize=LETTERS_SIZE,
        frameon=False,
        borderaxespad=0,
        borderpad=0,
        handlelength=0.8,
        handletextpad=0.4,
        columnspacing=1.2,
        labelspacing=0.3,
    )


def key_height(key: Key | None, width: float) -> float:
    """The height of the key in points; 0 without a key."""
    if key is None:
        return 0.0
    note = NOTE + SAID * len(key.lines(width))
    if key.names is None or len(key.names) > MAX_KEY:
        return note
    return note + ROW * -(-len(key.names) // _columns(key.names, width)) + 4


def _columns(names: Sequence[str], width: float) -> int:
    entry = ENTRY + LETTER * max(map(len, names))
    rows = -(-len(names) // max(1, int(width / entry)))
    return -(-len(names) // rows)  # in rows of equal length
