"""A model tree as a picture: what reaches its nodes, how it is routed, and how far it is changed.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Fig. 2 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.model_tree import panels
from structnet.plot.model_tree.panels import Key, key_height
from structnet.plot.model_tree.sheet import (
    BOXES,
    DOT,
    DOTS,
    HISTOGRAMS,
    INCH,
    MAX_DOTS,
    MAX_SIDE,
    MIN_SCALE,
    MIN_SIDE,
    Form,
    Sheet,
    fit_limits,
    place,
    room,
    scale_to,
)
from structnet.routing.asking import questions
from structnet.routing.explanation import names_of
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import read
from structnet.routing.samples import Samples
from structnet.routing.visits import Reach, reach
from structnet.routing.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGE, TRANSFORMER = "#AAAAAA", "#222222"
TITLE = 24.0  # points
LARGEST = np.array([MAX_SIDE, MAX_SIDE])
ASKED = replace(HISTOGRAMS, stem=HISTOGRAMS.stem + 9)  # with room for what routers ask


def plot_neural_tree(
    tree: Any,
    samples: Any = None,
    y: Any = None,
    *,
    class_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    greedy: bool = False,
    max_depth: int | None = None,
) -> Axes:
    """Draws a model tree with its root on top, and what samples do in it.

    Each node has a histogram of the classes that reach it, on a scale of its own, or the mean and
    the standard deviation of each column of targets: the panel's height is two standard deviations
    of all samples to both sides of their mean. Below, each node of two branches has a histogram of
    its probabilities of going left, from 1 at the left to 0 at the right; one of more branches has
    a bar for each, as high as what goes on there. Above stand the node's number and the share of
    the samples that reach it, which is also the width of its edge. The dots on an edge are its
    transformers.

    All of these count a sample at every node, by its probability of getting there, or with
    ``greedy`` at the nodes on its greedy path alone; above the tree stands which.

    Without samples, the nodes are boxes with their numbers: inner ones blue, leaves yellow. What
    has no room for histograms is drawn as dots, in the colour of the commonest class.

    A router of the inputs themselves says below its panel what goes left, where the tree can tell.

    Args:
        tree: any model tree, or a fitted estimator.
        samples: samples to send through it; for an estimator the user's own inputs.
        y: targets of an estimator's inputs.
        class_names: the names of the classes; an estimator's own or their numbers by default.
        feature_names: the names of the columns of a table, likewise.
        ax: the axes to draw on; by default new ones, large enough for all to be read.
        greedy: True counts each sample at the nodes on its greedy path alone, instead of at all
            nodes by the probability of getting there.
        max_depth: the most nodes above a node that is drawn; others are written as "… 12 more".

    Raises:
        ValueError: there are no samples, they do not fit the tree, or there is not one name a
            class.

    Example:
        >>> import torch
        >>> from matplotlib.figure import Figure
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> _ = tree.split(0)
        >>> ax = plot_neural_tree(tree, ax=Figure().add_subplot())
        >>> [text.get_text() for text in ax.texts]
        ['0', '1', '2']
    """
    told = read(tree, samples, y, class_names, feature_names)
    tree, samples, names = told.tree, told.samples, told.class_names
    found = None if samples is None else reach(tree, samples, "greedy" if greedy else "multi")
    key = None if found is None else Key(panels.GREEDY if greedy else panels.SOFT, names)
    sheet = _sheet(tree, found is not None, max_depth, room(ax) if ax is not None else LARGEST)
    if sheet.form.unit == HISTOGRAMS.unit and any(questions(tree, told.feature_names).values()):
        sheet = _sheet(tree, True, max_depth, room(ax) if ax is not None else LARGEST, ASKED)
    if key is not None and sheet.form.unit != DOTS.unit:
        key = key._replace(panels=panels.panels_text(tree))
    ax = ax if ax is not None else _new_axes([sheet], key)[0]
    _draw(ax, tree, sheet, found, key)
    if sheet.form.stem == ASKED.stem:
        panels.draw_questions(
            ax, sheet, questions(tree, told.feature_names), _scale(ax, sheet, key)
        )
    return ax


def plot_refinement(
    before: RoutedTree,
    after: RoutedTree,
    samples: Samples,
    class_names: Sequence[str] | None = None,
    accuracies: tuple[float, float] | None = None,
    ax: Sequence[Axes] | None = None,
    *,
    greedy: bool = False,
    max_depth: int | None = None,
) -> list[Axes]:
    """Draws a tree before and after refinement, as :func:`plot_neural_tree` does.

    Args:
        before, after: the two trees; a ``copy.deepcopy`` keeps the first.
        samples: the samples to send through both.
        class_names: the names of the classes; their numbers by default.
        accuracies: the accuracies of the two, in [0, 1], for the titles.
        ax: two axes; by default new ones, side by side, or one above the other for wide trees.
        greedy, max_depth: see :func:`plot_neural_tree`.

    Raises:
        ValueError: there are not two axes; or as for :func:`plot_neural_tree`.

    Example:
        >>> import torch
        >>> from matplotlib.figure import Figure
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(4,))
        >>> samples, pair = Samples(torch.rand(6, 4), torch.arange(6) % 2), Figure().subplots(1, 2)
        >>> axes = plot_refinement(tree, tree, samples, accuracies=(0.5, 0.75), ax=pair)
        >>> [each.get_title() for each in axes]
        ['before refinement: accuracy 50.0 %', 'after refinement: accuracy 75.0 %']
    """
    if ax is not None and len(ax) != 2:
        raise ValueError(f"before and after need two axes; got {len(ax)}")
    trees, axes = (before, after), ax
    if axes is None:
        sheets = [_sheet(tree, True, max_depth, LARGEST) for tree in trees]
        said = panels.panels_text(after)
        axes = _new_axes(sheets, Key(panels.SOFT, names_of(before, class_names), said))
    titles = ["before refinement", "after refinement"]
    for i, accuracy in enumerate(accuracies or ()):
        titles[i] += f": accuracy {percent(accuracy, 1)}"
    for each, tree, title in zip(axes, trees, titles, strict=True):
        each.set_title(title)
        shown: dict[str, Any] = {"greedy": greedy, "max_depth": max_depth}
        plot_neural_tree(tree, samples, class_names=class_names, ax=each, **shown)
    return list(axes)


def _sheet(
    tree: RoutedTree,
    histograms: bool,
    max_depth: int | None,
    points: np.ndarray,
    form: Form = HISTOGRAMS,
) -> Sheet:
    """Places the tree in its full form, or as dots if that has no room on so many points."""
    depth = tree.topology.depth
    shown = np.flatnonzero(depth <= (depth.max() if max_depth is None else max_depth))
    dots = max((tree.facts(v).transformers for v in shown.tolist()), default=0)
    full = place(tree.topology, form if histograms else BOXES, dots, max_depth)
    if scale_to(points, full, 0) >= MIN_SCALE:
        return full
    return place(tree.topology, DOTS, 0, max_depth)


def _new_axes(sheets: Sequence[Sheet], key: Key | None) -> list[Axes]:
    """New axes of the sheets' sizes, in a row if they are together not too wide for that."""
    import matplotlib.pyplot as plt

    width, height = np.max([(max(s.size[0], MIN_SIDE), s.size[1]) for s in sheets], axis=0)
    height += key_height(key, width) + TITLE * (len(sheets) > 1)
    rows = len(sheets) if len(sheets) * width > MAX_SIDE else 1
    columns = len(sheets) // rows
    size = np.array([columns * width, rows * height]) + 2 * DOT
    figure = plt.figure(figsize=size * min(1, MAX_SIDE / size.max()) / INCH, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes:
        ax.set_axis_off()
        ax.set_title(" " if len(sheets) > 1 else "")
    figure.draw_without_rendering()  # gives the axes their final sizes
    return list(axes)


def _draw(ax: Axes, tree: RoutedTree, sheet: Sheet, found: Reach | None, key: Key | None) -> None:
    above, scale = key_height(key, room(ax)[0]), _scale(ax, sheet, key)
    fit_limits(ax, sheet, scale, above)
    _draw_edges(ax, sheet, found, scale)
    if sheet.form.unit == DOTS.unit:
        panels.draw_dots(ax, tree, sheet, found, scale)
    else:
        _draw_transformers(ax, tree, sheet, scale)
        if found is None:
            panels.draw_boxes(ax, tree, sheet, scale)
        else:
            panels.draw_panels(ax, tree, sheet, found)
            panels.draw_captions(ax, tree, sheet, found, key and key.names, scale)
    if key is not None:
        panels.draw_key(ax, key, sheet.size[0] / 2, scale, room(ax)[0])


def _scale(ax: Axes, sheet: Sheet, key: Key | None) -> float:
    return scale_to(room(ax), sheet, key_height(key, room(ax)[0]))


def _draw_edges(ax: Axes, sheet: Sheet, found: Reach | None, scale: float) -> None:
    """A stem below each parent, and a way along the bar and down to each child."""
    from matplotlib.collections import LineCollection

    parent, x, bar = sheet.placed.parent, sheet.x, sheet.bar
    middle = (sheet.top + sheet.bottom) / 2 if sheet.form.caption == 0 else sheet.bottom
    share = _shares(sheet, found)
    widths = scale * panels.edge_width(share)
    over = np.where(parent < 0, x, x[parent])  # where the way begins
    edges = [np.stack([over, bar], 1), np.stack([x, bar], 1), np.stack([x, sheet.top], 1)]
    inner, child = np.unique(parent[1:], return_index=True)
    stems = [np.stack([x[inner], middle[inner]], 1), np.stack([x[inner], bar[1:][child]], 1)]
    # A stem ends at the bar, a way along the bar begins half its width before the stem's middle.
    for label, lines, width, cap in (
        ("_edges", edges, widths, "projecting"),
        ("_stems", stems, widths[inner], "butt"),
    ):
        drawn = LineCollection([*np.stack(lines, 1)], linewidths=width, colors=EDGE, zorder=1)
        drawn.set(label=label, capstyle=cap)
        ax.add_collection(drawn, autolim=False)


def _shares(sheet: Sheet, found: Reach | None) -> np.ndarray:
    """The share of the samples that come to each drawn node."""
    if found is None:
        return np.zeros(len(sheet.nodes))
    share = found.share[sheet.nodes]
    hidden = sheet.nodes < 0  # it stands for all that its parent has below it
    share[hidden] = share[sheet.placed.parent[hidden]]
    return share


def _draw_transformers(ax: Axes, tree: RoutedTree, sheet: Sheet, scale: float) -> None:
    points = []
    for i, v in enumerate(sheet.nodes.tolist()):
        count = tree.facts(v).transformers if v >= 0 else 0
        shown = count if count <= MAX_DOTS else 1
        y = sheet.bar[i] - sheet.form.drop / 2 + DOT * (np.arange(shown) - (shown - 1) / 2)
        points += [(sheet.x[i], each) for each in y]
        if count > shown:
            style: dict[str, Any] = {"fontsize": 7 * scale, "va": "center", "clip_on": True}
            ax.text(sheet.x[i] + DOT, y[0], f"×{count}", **style)
    x, y = np.array(points).reshape(-1, 2).T
    ax.scatter(
        x,
        y,
        s=(0.8 * DOT * scale) ** 2,
        color=TRANSFORMER,
        edgecolor="white",
        linewidth=0.7 * scale,
        zorder=2,
        label="_transformers",
    )
