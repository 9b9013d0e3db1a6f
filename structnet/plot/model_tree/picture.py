"""Draws a model tree: the samples at its nodes, their routing, and the transformers on its edges.

Reference:
    Tanno et al., "Adaptive Neural Trees", ICML 2019, Fig. 2 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from structnet.plot.model_tree import captions, panels
from structnet.plot.model_tree.folding import folded
from structnet.plot.model_tree.key import (
    GREEDY,
    ONE_LEAF,
    SIDES,
    SOFT,
    Key,
    draw_key,
    key_height,
    panel_texts,
    rule_texts,
)
from structnet.plot.model_tree.sheet import (
    BOXES,
    DOT,
    DOTS,
    FONT,
    HISTOGRAMS,
    LINE,
    MARKED,
    MAX_DOTS,
    MAX_SIDE,
    MIN_SCALE,
    MIN_SIDE,
    MIN_TEXT,
    READABLE,
    SURE,
    Sheet,
    deepest,
    fit_limits,
    place,
    scale_to,
)
from structnet.plot.names import short_names
from structnet.plot.page import INCH, room_of
from structnet.plot.style import GREY
from structnet.routing.asking import all_questions
from structnet.routing.leaves import leaf_accuracies, leaf_predictions, leaf_words
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import Reading, read
from structnet.routing.samples import Samples
from structnet.routing.visits import Reach, reach
from structnet.routing.words import decided_words, percent
from structnet.trees.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGE, TRANSFORMER = "#AAAAAA", "#222222"
TITLE = 24.0  # points
WIDEST = (12, 6)  # branches of a single node that are drawn, if all are too many to be read
LARGEST = np.array([MAX_SIDE, MAX_SIDE])


def plot_model_tree(
    tree: Any,
    X: Any = None,
    y: Any = None,
    *,
    class_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    greedy: bool = False,
    max_depth: int | None = None,
    min_share: float = 0.0,
) -> Axes:
    """Draws a model tree with its root on top, and its samples.

    Each node has up to three panels, with the same scale at all nodes:

    - the classes of the samples at the node, as shares; the background has the colour of the most
      frequent class, stronger if the node is purer. For numbers, the mean and the standard
      deviation of each column of targets; the panel reaches two standard deviations of all samples
      to each side of their mean;
    - the probabilities to reach the node, from 0 at the left to 1 at the right, of all samples;
    - for a node with two branches, the probabilities to go left, from 1 at the left to 0 at the
      right; for one with more, a bar for each branch, as high as the share that takes it.

    Above each node are its number and the share of the samples that reach it, which is also the
    width of its edge. The dots on an edge are transformers. A sample counts at every node by its
    probability to reach it, or with ``greedy`` at the nodes on its greedy path; the key above the
    tree says which, and how decided the routers are.

    Below a leaf are the most frequent class of its samples, and the accuracy of its own predictions
    for the samples whose greedy path ends there; or the mean and the deviation of the targets, and
    the mean of its predictions.

    Below an inner node is what it asks (:func:`structnet.routing.asking.questions`) or, if that is
    unknown, in which columns the samples of its branches differ; and, for more than two classes,
    which of them mostly take which branch.

    Above a tree of one leaf that is a sum over columns is what these add most.

    Without samples, nodes are boxes with their numbers: inner nodes blue, leaves yellow.

    Of a tree that is too large to be read, only the upper levels are drawn, as many as there is
    room for, and of a single node with too many leaves the twelve with most samples; marks say how
    many leaves and which share of the samples they stand for. If
    ``max_depth`` asks for more, or there is no room for two levels, nodes are dots, in the colour
    of the most frequent class, paler if others are frequent too.

    Args:
        tree: any model tree, :class:`structnet.routing.Reading`, or fitted estimator.
        X: samples to send through the tree, or the user's inputs for an estimator.
        y: targets of an estimator's inputs.
        class_names: names of the classes; by default an estimator's own, or numbers.
        feature_names: names of the columns of a table, likewise.
        ax: axes to draw on; by default new ones, large enough to read.
        greedy: True to count each sample only at the nodes on its greedy path.
        max_depth: depth of the deepest nodes that are drawn; deeper ones are replaced by marks with
            their numbers of leaves and shares of the samples. By default all that can be read.
        min_share: least share of a node that is drawn, with the same effect.

    Raises:
        ValueError: there are no samples, they do not fit the tree, there is not one name for each
            class, or a limit is out of range.

    Example:
        >>> import torch
        >>> from matplotlib.figure import Figure
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=3, width=8), shape=(4,))
        >>> _ = tree.split(0)
        >>> ax = plot_model_tree(tree, ax=Figure().add_subplot())
        >>> [text.get_text() for text in ax.texts]
        ['0', '1', '2']
    """
    drawn = _Drawn(read(tree, X, y, class_names, feature_names), greedy, max_depth, min_share)
    sheet = drawn.sheet(LARGEST if ax is None else room_of(ax))
    if ax is None:
        ax = _new_axes([sheet], drawn.key)[0]
    _draw(ax, drawn, sheet)
    return ax


def plot_refinement(
    before: Any,
    after: Any,
    X: Samples,
    class_names: Sequence[str] | None = None,
    accuracies: tuple[float, float] | None = None,
    *,
    ax: Sequence[Axes] | None = None,
    feature_names: Sequence[str] | None = None,
    greedy: bool = False,
    max_depth: int | None = None,
    min_share: float = 0.0,
) -> list[Axes]:
    """Draws a tree before and after refinement, as :func:`plot_model_tree` does.

    The titles say how decided the routers are: the mean probability of the likelier branch.

    Args:
        before, after: the two trees, or readings of them (:class:`structnet.routing.Reading`); a
            ``copy.deepcopy`` keeps the tree before refinement.
        X: samples to send through both trees.
        class_names: names of the classes; by default numbers.
        accuracies: accuracies of the two trees, in [0, 1], for the titles.
        ax: two axes; by default new ones, side by side, or one above the other for wide trees.
        feature_names, greedy, max_depth, min_share: arguments of :func:`plot_model_tree`.

    Raises:
        ValueError: there are not two axes, or an argument is wrong, as in
            :func:`plot_model_tree`.

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
    pair = [
        _Drawn(read(tree, X, None, class_names, feature_names), greedy, max_depth, min_share)
        for tree in (before, after)
    ]
    axes = ax
    if axes is None:
        axes = _new_axes([each.sheet(LARGEST) for each in pair], pair[1].key)
    titles = ["before refinement", "after refinement"]
    for i, (each, drawn) in enumerate(zip(axes, pair, strict=True)):
        assert drawn.reached is not None  # as there are samples
        accuracy = [] if accuracies is None else [f"accuracy {percent(accuracies[i], 1)}"]
        words = ", ".join(filter(None, [*accuracy, decided_words(drawn.reached.all_decided)]))
        each.set_title(": ".join(filter(None, (titles[i], words))))
        _draw(each, drawn, drawn.sheet(room_of(each)))
    return list(axes)


class _Drawn:
    """The parts of a tree's picture: nodes, samples at them, their questions, and the key."""

    def __init__(self, reading: Reading, greedy: bool, max_depth: int | None, min_share: float):
        self.reading, self.tree = reading, reading.tree
        samples, topology = reading.samples, reading.tree.topology
        self.reached: Reach | None = None
        self.key: Key | None = None
        if samples is not None:
            self.reached = reach(reading.tree, samples, "greedy" if greedy else "multi")
            note = "" if len(topology.leaves) == 1 else GREEDY if greedy else SOFT
            texts = panel_texts(reading.tree, self.reached, reading.target_names)
            if reading.class_names is not None:
                reading = reading._replace(class_names=short_names(reading.class_names))
            if reading.feature_names is not None:
                reading = reading._replace(feature_names=short_names(reading.feature_names))
            self.key = Key(note, reading.class_names, texts)
        share = None if self.reached is None else self.reached.share
        self.fold = partial(folded, topology, share, min_share)
        self.nodes: Tree = self.fold(max_depth)
        self.may_fold = max_depth is None
        self.questions = all_questions(reading, self.reached)
        if self.key is not None and any(" | " in text for text in self.questions.values()):
            self.key = self.key._replace(texts=[*self.key.texts, (SIDES, GREY)])
        if self.key is not None:
            self.key = self.key._replace(texts=[*self.key.texts, *rule_texts(reading)])

    def answers(self, sheet: Sheet) -> dict[int, str]:
        """The accuracies of drawn leaves, or their predictions of one number, as text by leaf."""
        shown = [v for v in sheet.nodes.tolist() if v >= 0 and not self.tree.topology.inner[v]]
        if self.reading.class_names is not None:
            correct = leaf_accuracies(self.tree, self.reading.samples, shown)
            return {leaf: f"correct: {percent(share)}" for leaf, share in correct.items()}
        words = leaf_words(self.reading, leaf_predictions(self.tree, self.reading.samples, shown))
        return {leaf: f"says {word}" for leaf, word in words.items() if ", " not in word}

    def sheet(self, points: np.ndarray) -> Sheet:
        """The nodes in their full form, of which all or as many levels as can be read in a size in
        points, or as dots if there is no room."""
        full = self._full(self.nodes)
        scale = scale_to(points, full, 0)
        if scale < READABLE and self.may_fold:
            fitting = self._narrowed(points) or (self._levels(points) if scale < MIN_TEXT else None)
            if fitting is not None:
                return fitting
        return full if scale >= MIN_SCALE else place(self.nodes, self.tree.topology, DOTS, 0)

    def _levels(self, points: np.ndarray) -> Sheet | None:
        """The upper levels, as many as can be read; None if it is fewer than two."""
        best, above = None, key_height(self.key, points[0])
        for depth in range(2, int(self.tree.topology.depth.max())):
            sheet = self._full(self.fold(depth))
            if scale_to(points, sheet, above) < READABLE:
                break
            best = sheet
        return best

    def _narrowed(self, points: np.ndarray) -> Sheet | None:
        """The most frequent branches of a single wide node, as many as can be read; or None."""
        topology, above = self.tree.topology, key_height(self.key, points[0])
        if int(topology.depth.max()) != 1:
            return None
        for widest in (each for each in WIDEST if each < len(topology.leaves)):
            sheet = self._full(self.fold(1, widest))
            if scale_to(points, sheet, above) >= READABLE:
                return sheet
        return None

    def _full(self, nodes: Tree) -> Sheet:
        form = BOXES if self.reached is None else SURE if self.reached.sure else HISTOGRAMS
        form = replace(form, stem=form.stem + LINE * captions.question_lines(self.questions))
        if self.reached is None and len(self.tree.topology.leaves) == 1:
            form = replace(form, foot=1.5 * FONT)  # room for the words that say so
        labels = [v.label for v in nodes.preorder()]
        numbers = [label for label in labels if isinstance(label, int)]
        if len(numbers) < len(labels):
            form = replace(form, unit=max(form.unit, MARKED))
        dots = max(self.tree.facts(v).transformers for v in numbers)
        return place(nodes, self.tree.topology, form, dots)


def _new_axes(sheets: Sequence[Sheet], key: Key | None) -> list[Axes]:
    """New axes for sheets, side by side unless they would be too wide together."""
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


def _draw(ax: Axes, drawn: _Drawn, sheet: Sheet) -> None:
    tree, reached, key = drawn.tree, drawn.reached, drawn.key
    whole = int(tree.topology.depth.max())
    if key is not None and drawn.may_fold and deepest(sheet) < whole:
        key = key._replace(note=f"{key.note}; drawn to depth {deepest(sheet)} of {whole}")
    room = room_of(ax)
    scale = scale_to(room, sheet, key_height(key, room[0]))
    if key is not None and (sheet.form.unit == DOTS.unit or scale < MIN_TEXT):
        key = key._replace(texts=())  # as dots have no panels, or to leave room for the tree
    above = key_height(key, room[0])
    scale = scale_to(room, sheet, above)
    fit_limits(ax, sheet, scale, above)
    _draw_edges(ax, sheet, reached, scale)
    if sheet.form.unit == DOTS.unit:
        panels.draw_dots(ax, tree, sheet, reached, scale)
    else:
        _draw_transformers(ax, tree, sheet, scale)
        if reached is None:
            panels.draw_boxes(ax, tree, sheet, scale)
        else:
            panels.draw_panels(ax, tree, sheet, reached)
            answers = drawn.answers(sheet) if scale >= MIN_TEXT else {}
            captions.draw_captions(
                ax, tree, sheet, reached, drawn.reading.class_names, answers, scale
            )
        captions.draw_questions(ax, sheet, drawn.questions, scale)
    if key is not None:
        draw_key(ax, key, sheet.size[0] / 2, scale, room_of(ax)[0])
    elif len(tree.topology.leaves) == 1:
        x, y = sheet.size[0] / 2, -sheet.size[1] + sheet.form.foot / 2
        captions.write(ax, x, y, ONE_LEAF, FONT * scale, color=GREY, ha="center")


def _draw_edges(ax: Axes, sheet: Sheet, reached: Reach | None, scale: float) -> None:
    """Draws a stem below each parent, and lines along the bar and down to each child."""
    from matplotlib.collections import LineCollection

    parent, x, bar = sheet.placed.parent, sheet.x, sheet.bar
    middle = (sheet.top + sheet.bottom) / 2 if sheet.form.caption == 0 else sheet.bottom
    share = _shares(sheet, reached)
    widths = scale * captions.edge_width(share)
    over = np.where(parent < 0, x, x[parent])  # where the line along the bar begins
    edges = [np.stack([over, bar], 1), np.stack([x, bar], 1), np.stack([x, sheet.top], 1)]
    inner, child = np.unique(parent[1:], return_index=True)
    stems = [np.stack([x[inner], middle[inner]], 1), np.stack([x[inner], bar[1:][child]], 1)]
    # A stem ends at the bar; a line along it begins half its width before the stem's middle.
    for label, lines, width, cap in (
        ("_edges", edges, widths, "projecting"),
        ("_stems", stems, widths[inner], "butt"),
    ):
        drawn = LineCollection([*np.stack(lines, 1)], linewidths=width, colors=EDGE, zorder=1)
        drawn.set(label=label, capstyle=cap)
        ax.add_collection(drawn, autolim=False)


def _shares(sheet: Sheet, reached: Reach | None) -> np.ndarray:
    """The share of the samples that reaches each drawn node; 0 without samples."""
    if reached is None:
        return np.zeros(len(sheet.nodes))
    share = reached.share[sheet.nodes]
    share[list(sheet.marks)] = [mark.share for mark in sheet.marks.values()]
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
