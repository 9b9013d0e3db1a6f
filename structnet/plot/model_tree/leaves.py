"""Draws what reaches the leaves of a model tree: classes, or mean images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from structnet.plot.model_tree.captions import commonest, share_text
from structnet.plot.model_tree.key import GREEDY, ONE_LEAF
from structnet.plot.names import short_names
from structnet.plot.page import INCH, room_of
from structnet.plot.style import GREY, as_written, cut_end, one_axes, percent_axis, write_cells
from structnet.routing.leaves import leaf_predictions, leaf_words
from structnet.routing.reading import read
from structnet.routing.samples import Samples, counted
from structnet.routing.visits import leaf_of, reach

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MAX_CELLS = 20  # most leaves or classes for which cells have numbers
MAX_TICKS, TICK = 40, 12.0  # most labels of an axis; points for each on given axes
CELL = 16.0, 9.0  # points: least width and height of a cell with a number
LEVEL, SLANT = 3, 0.055  # longest names that are not slanted; inches for a slanted letter
LONGEST, LEVEL_LETTER = 60, 0.085  # longest label of a leaf; inches for each of its letters
LABELS = 0.5  # largest width of these labels, relative to given axes
# Relative to a picture's width: gap between pictures, two lines above each, one line below all.
GAP, TITLE, NOTE = 0.12, 0.34, 0.1
SIDE, FONT = 1.2, 8.0  # inches: width of a picture on new axes; points: letters
MAX_NAME = 12  # characters of a class name above a picture


def plot_leaf_classes(
    tree: Any,
    X: Any,
    y: Any = None,
    *,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the mean probability of each leaf for the samples of each class, as a heat map.

    The leaves are in the order of :func:`plot_model_tree`, with its leftmost on top. Each column
    sums to 100 %; that of a class without samples is empty. Beside each leaf are its size, which is
    its mean probability over all samples, and its own predictions for the samples whose greedy path
    ends there; the class that it predicts most often has a frame.

    Args:
        tree: any model tree that predicts classes, or a fitted classifier.
        X: samples, or the user's inputs for a classifier.
        y: classes of a classifier's inputs.
        class_names: names of the classes; by default a classifier's own, or numbers.
        ax: axes to draw on; by default new ones.

    Raises:
        ValueError: the tree predicts numbers, there are no samples, they do not fit the tree, or
            there is not one name for each class.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(4,))
        >>> _ = tree.split(0)
        >>> samples = Samples(torch.rand(6, 4), torch.arange(6) % 2)
        >>> ax = plot_leaf_classes(
        ...     tree, samples, class_names=["cat", "dog"], ax=Figure().add_subplot())
        >>> [label.get_text() for label in ax.get_xticklabels() + ax.get_yticklabels()]
        ['cat', 'dog', 'leaf 1, ... %...', 'leaf 2, ... %...']
    """
    reading = read(tree, X, y, class_names)
    tree, samples, names = reading.tree, reading.samples, reading.class_names
    if names is None:
        raise ValueError("the tree predicts numbers; expected one that predicts classes")
    leaves, counts = tree.topology.from_left(), reach(tree, samples).classes
    assert counts is not None  # as the tree predicts classes
    with np.errstate(invalid="ignore"):  # 0 / 0 for a class without samples
        shares = counts[leaves] / counts[0]
    names = tuple(short_names(names))
    room = None if ax is None else room_of(ax)
    every = _every(len(leaves), None if room is None else room[1])
    predictions = leaf_predictions(
        tree, samples, leaves[:: every if len(leaves) > MAX_CELLS else 1]
    )
    words = leaf_words(reading._replace(class_names=names), predictions)
    sizes = counts[leaves].sum(axis=1) / counts[0].sum()
    wide = LONGEST if room is None else int(LABELS * room[0] / INCH / LEVEL_LETTER)
    labels = [
        cut_end(f"leaf {v}, {share_text(s)}: {words.get(v, 'ends no path')}", min(LONGEST, wide))
        for v, s in zip(leaves, sizes, strict=True)
    ]
    ax = one_axes(ax, *_size_of_heat_map(names, labels))
    image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="none")
    bar = ax.figure.colorbar(image, ax=ax, label="mean probability\nof the leaf")
    percent_axis(bar.ax)
    ax.set_xlabel("class")
    # The end of a slanted name is below its column.
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    across = _every(len(names), None if room is None else room[0])
    _label(ax.xaxis, names, across, **(slanted if _longest(names) > LEVEL else {}))
    _label(ax.yaxis, labels, every)
    ax.set_ylabel("leaf, its size:\nits own predictions")
    ax.spines[:].set_visible(False)
    if max(shares.shape) <= MAX_CELLS and (room_of(ax) / shares.shape[::-1] >= CELL).all():
        # Leave out numbers that are rounded to 0.
        percent = [[f"{100 * s:.0f}" if s >= 0.005 else "" for s in row] for row in shares]
        write_cells(ax, shares, percent)
        _frame(
            ax,
            {row: int(predictions[v].argmax()) for row, v in enumerate(leaves) if v in predictions},
        )
    if len(leaves) == 1:
        ax.set_title(ONE_LEAF, fontsize=FONT, color=GREY)
    return ax


def plot_leaf_means(
    tree: Any,
    X: Any,
    y: Any = None,
    *,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the mean image of the samples whose greedy path ends in each leaf.

    Above each image are the number of the leaf, the share of the samples that end there and, if
    there are classes, the most frequent class. The shares are those of :func:`plot_model_tree`
    with ``greedy=True``, which by default counts each sample at all leaves by its probability to
    reach them. The leaves are in the same order.

    Args:
        tree: any model tree whose samples are images, or a fitted estimator of images.
        X: images or samples, which are weighted by their weights; for an estimator the user's
            inputs.
        y: targets of an estimator's inputs.
        class_names: names of the classes; by default an estimator's own, or numbers.
        ax: axes to draw on; by default new ones.

    Shapes:
        X ``[n, height, width]`` or ``[n, channels, height, width]``, 1 channel (dark is high) or 3.

    Returns:
        The axes, in whose data units each image has the width 1.

    Raises:
        ValueError: there are no samples or all weights are 0, the samples are not images, or there
            is not one name for each class.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.conv(num_outputs=2, width=2, kernel=3), shape=(1, 8, 8))
        >>> ax = plot_leaf_means(tree, torch.rand(6, 1, 8, 8), ax=Figure().add_subplot())
        >>> ax.images[0].get_array().shape, [text.get_text() for text in ax.texts]
        ((8, 8), ['leaf 0: 100 %\\n', 'one leaf: this tree asks nothing'])
    """
    reading = read(tree, X, y, class_names)
    tree, x = reading.tree, reading.samples
    names = reading.class_names and short_names(reading.class_names, MAX_NAME)
    _check_images(tree.shape)
    targets = x.targets.cpu().numpy() if isinstance(x, Samples) else None
    inputs, weights = counted(x)
    leaves, reached = tree.topology.from_left(), leaf_of(tree, inputs)
    images = _pictures(torch.as_tensor(inputs).detach().cpu().numpy())
    scale = float(images.min()), float(images.max())
    ratio = images.shape[1] / images.shape[2]
    columns, rows = _montage(len(leaves))
    step = np.array([1 + GAP, ratio + TITLE + GAP])
    size = step * (columns, rows) + (GAP, NOTE)
    ax = one_axes(ax, *(SIDE * size))
    ax.set(xlim=(-GAP, size[0] - GAP), ylim=(size[1] - TITLE, -TITLE), aspect="equal")
    ax.set_axis_off()
    font = min(FONT, *FONT * room_of(ax) / INCH / SIDE / size)
    for number, leaf in enumerate(leaves):
        left, top = step * (number % columns, number // columns)
        here = reached == leaf
        text = f"leaf {leaf}: {share_text(weights[here].sum() / weights.sum())}\n"
        if names is not None and targets is not None and weights[here].any():
            text += commonest(names, np.bincount(targets[here], weights[here]))
        title = ax.text(left + 0.5, top - 0.03, text, ha="center", va="bottom", fontsize=font)
        as_written(title)
        place = (left, left + 1, top + ratio, top)
        _draw_mean(ax, images[here], weights[here], scale, place, font)
    middle, low = size[0] / 2 - GAP, size[1] - TITLE
    note = GREEDY if len(leaves) > 1 else ONE_LEAF
    ax.text(middle, low, note, ha="center", va="bottom", color=GREY, fontsize=font)
    return ax


def _montage(number: int) -> tuple[int, int]:
    """The numbers of columns and rows for some pictures, with more columns than rows."""
    rows = -(-number // int(np.ceil(np.sqrt(1.5 * number))))
    return -(-number // rows), rows


def _draw_mean(
    ax: Axes,
    images: np.ndarray,
    weights: np.ndarray,
    scale: tuple[float, float],
    place: tuple[float, float, float, float],
    font: float,
) -> None:
    """Draws the weighted mean of images in a frame; the scale goes from white to black."""
    from matplotlib.patches import Rectangle

    left, right, bottom, top = place
    frame: dict[str, Any] = {"fill": False, "edgecolor": "#BBBBBB", "linewidth": 0.6}
    ax.add_patch(Rectangle((left, top), right - left, bottom - top, **frame))
    if not weights.sum():
        middle = (left + right) / 2, (top + bottom) / 2
        ax.text(*middle, "no samples", ha="center", va="center", color=GREY, fontsize=font)
        return
    mean = np.average(images.astype(np.float64), axis=0, weights=weights)
    low, high = scale
    if mean.ndim == 3:
        mean = np.clip((mean - low) / (high - low or 1), 0, 1)
    style: dict[str, Any] = {"cmap": "gray_r", "vmin": low, "vmax": high, "interpolation": "none"}
    # imshow would change the limits of the axes.
    limits = ax.get_xlim(), ax.get_ylim()
    ax.imshow(mean, extent=place, **style)
    ax.set(xlim=limits[0], ylim=limits[1])


def _size_of_heat_map(names: Sequence[str], labels: Sequence[str]) -> tuple[float, float]:
    """The width and the height in inches that cells with numbers and all labels need."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    larger = FontProperties(size=rcParams["ytick.labelsize"]).get_size_in_points() / 10
    slant, leaves = SLANT * _longest(names), LEVEL_LETTER * _longest(labels)
    width, height = 0.42 * min(len(names), 40), max(1.4, 0.3 * min(len(labels), 60))
    return width + larger * (1.9 + slant + leaves), larger * (1.1 + height + slant)


def _longest(names: Sequence[str]) -> int:
    return max(map(len, names))


def _label(axis: Axis, names: Sequence[str], every: int, **style: Any) -> None:
    axis.set_ticks(range(0, len(names), every), names[::every], **style)
    for tick in axis.get_major_ticks():
        as_written(tick.label1, tick.label2)


def _every(number: int, room: float | None) -> int:
    """The step between labels, of which at most 40 are written, or as many as have room in
    points."""
    most = MAX_TICKS if room is None else min(MAX_TICKS, max(1, int(room / TICK)))
    return -(-number // most)


def _frame(ax: Axes, column_of: Mapping[int, int]) -> None:
    """Draws a frame around one cell in each given row."""
    from matplotlib.patches import Rectangle

    for row, column in column_of.items():
        style: dict[str, Any] = {"fill": False, "edgecolor": "black", "linewidth": 1.5}
        ax.add_patch(Rectangle((column - 0.47, row - 0.47), 0.94, 0.94, **style))


def _check_images(shape: tuple[int, ...]) -> None:
    if len(shape) == 2 or (len(shape) == 3 and shape[0] in (1, 3)):
        return
    raise ValueError(
        f"samples must be images, [height, width] or [1 or 3, height, width]. Got {list(shape)}."
    )


def _pictures(x: np.ndarray) -> np.ndarray:
    """Images as matplotlib takes them, ``[n, height, width]`` or ``[n, height, width, 3]``."""
    if x.ndim == 3:
        return x
    return x.squeeze(1) if x.shape[1] == 1 else np.moveaxis(x, 1, -1)
