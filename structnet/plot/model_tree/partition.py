"""How a model tree divides the plane of its two input features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from structnet.checks import check_integer
from structnet.plot.model_tree.sheet import room
from structnet.plot.palette import PALE, class_colors
from structnet.plot.style import GREY, MARKERS, add_legend, as_written, cut, new_axes
from structnet.routing.batches import answers
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import read
from structnet.routing.samples import Samples
from structnet.routing.visits import leaf_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 0.08  # of the samples' range, to each side
MAX_LEGEND = 12  # classes
FONT, LETTER, LINE = 8.0, 4.8, 14.0  # of a leaf's number, in points: its size, its room
DEEP = 0.3  # of that room: how far to each side its region must reach
LEVELS = 8  # of the mean, where numbers are predicted


def plot_partition(
    tree: Any,
    x: Any,
    y: Any = None,
    *,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    feature_names: Sequence[str] | None = None,
    resolution: int = 200,
) -> Axes:
    """Draws which leaf each point of the plane goes to, and what the tree predicts there.

    The regions of the leaves, by the greedy path, have pale colours and, if they have room for
    them, the leaves' numbers. A black line is where the likeliest class of all leaves together
    changes or, for numbers, a contour of the predicted mean. Samples are dots in the colours of
    their classes.

    Args:
        tree: any model tree whose samples have two features, or a fitted estimator of such.
        x: points, or samples; for an estimator the user's own inputs, in whose units it is drawn.
            They also say which part of the plane.
        y: targets of an estimator's inputs.
        class_names: the names of the classes; an estimator's own or their numbers by default.
        ax: the axes to draw on; new ones by default.
        feature_names: the labels of the axes; an estimator's own by default.
        resolution: points of the grid in each direction.

    Shapes:
        x ``[n, 2]``.

    Raises:
        ValueError: the samples have not two features, there are none, the tree predicts several
            numbers, or there is not one name a class.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(2,))
        >>> ax = plot_partition(tree, torch.rand(6, 2), ax=Figure().add_subplot(), resolution=20)
        >>> [text.get_text() for text in ax.texts]
        ['leaf 0']
    """
    told = read(tree, x, y, class_names, feature_names)
    tree, x, names = told.tree, told.samples, told.class_names
    samples, given_x = (x, x.x) if isinstance(x, Samples) else (None, x)
    _check(tree, given_x, resolution)
    places = given_x.detach().cpu().numpy() if isinstance(given_x, Tensor) else given_x  # [n, 2]
    sides, grid = _grid(places, resolution)
    points: Any = grid.reshape(-1, 2).astype(places.dtype)
    if isinstance(given_x, Tensor):
        points = torch.from_numpy(points)
    regions = leaf_of(tree, points).reshape(resolution, resolution)
    predicted = np.concatenate([each for _, each in answers(tree, points, tree.predicted)])
    if names is None and predicted.shape[1] != 1:
        raise ValueError("the tree predicts several numbers; expected classes or one number")
    predicted = predicted.astype(np.float64)
    if told.target_units is not None:
        predicted = told.target_units(predicted)
    predicted = predicted.reshape(resolution, resolution, -1)
    if told.units is not None:
        sides = list(told.units(np.stack(sides, axis=1)).T)
        places = told.units(np.asarray(places, np.float64))
    given, ax = ax is not None, ax if ax is not None else new_axes(1, width=5.5, height=4.5)[0]
    _draw_regions(ax, tree, sides, regions)
    if names is None:
        _draw_contours(ax, sides, predicted[..., 0])
    else:
        _draw_boundaries(ax, sides, predicted)
    _draw_samples(ax, places, samples, names)
    columns = ("feature 0", "feature 1") if told.feature_names is None else told.feature_names
    ax.set(xlabel=columns[0], ylabel=columns[1])
    as_written(ax.xaxis.label, ax.yaxis.label)
    ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
    if not given:
        figure: Any = ax.figure
        figure.draw_without_rendering()  # gives the axes their final size
    _write_numbers(ax, sides, regions)
    return ax


def _check(tree: RoutedTree, x: Tensor | np.ndarray, resolution: int) -> None:
    if tuple(tree.shape) != (2,) or tuple(x.shape[1:]) != (2,):
        raise ValueError(
            f"a partition is of samples with 2 features. Got {list(x.shape[1:])} for a tree of "
            f"{list(tree.shape)}."
        )
    check_integer("resolution", resolution, 2)
    if not len(x):
        raise ValueError("there are no samples to draw; expected at least 1")


def _grid(x: np.ndarray, resolution: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The coordinates of a grid around the samples, and its points ``[rows, columns, 2]``."""
    low, high = x.min(axis=0), x.max(axis=0)
    margin = np.where(high > low, MARGIN * (high - low), 0.5)
    sides = [
        np.linspace(start, end, resolution)
        for start, end in zip(low - margin, high + margin, strict=True)
    ]
    return sides, np.stack(np.meshgrid(*sides), axis=-1)


def _draw_regions(
    ax: Axes, tree: RoutedTree, sides: Sequence[np.ndarray], regions: np.ndarray
) -> None:
    """Pale colours and a thin line between them."""
    from matplotlib.colors import ListedColormap

    leaves = tree.topology.from_left()
    place = np.zeros(tree.topology.num_nodes, int)
    place[leaves] = np.arange(len(leaves))
    number = place[regions]
    colors = ListedColormap(_apart(number, len(leaves)))
    style: dict[str, Any] = {
        "vmin": -0.5,
        "vmax": len(leaves) - 0.5,
        "shading": "nearest",
        "rasterized": True,
    }
    ax.pcolormesh(*sides, number, cmap=colors, zorder=0, **style)
    for leaf in np.unique(regions):
        if not (regions == leaf).all():
            ax.contour(*sides, regions == leaf, [0.5], colors=GREY, linewidths=0.5, zorder=1)


def _apart(number: np.ndarray, leaves: int) -> list[str]:
    """A pale colour for each leaf, no two alike side by side as far as the colours go."""
    beside: dict[int, set[int]] = {i: set() for i in range(leaves)}
    for a, b in ((number[1:], number[:-1]), (number[:, 1:], number[:, :-1])):
        for one, other in np.unique(np.stack([a[a != b], b[a != b]], axis=1), axis=0).tolist():
            beside[one].add(other)
            beside[other].add(one)
    found: dict[int, int] = {}
    for i in range(leaves):
        taken = {found[j] for j in beside[i] if j in found}
        free = [c for c in range(len(PALE)) if c not in taken]
        # The least used of the free ones, so that all are seen.
        found[i] = min(free or range(len(PALE)), key=lambda c: (list(found.values()).count(c), c))
    return [PALE[found[i]] for i in range(leaves)]


def _write_numbers(ax: Axes, sides: Sequence[np.ndarray], regions: np.ndarray) -> None:
    """Each leaf's number deep inside its region, unless it has no room there; the largest first."""
    from scipy.ndimage import distance_transform_edt

    leaves, area = np.unique(regions, return_counts=True)
    box = np.array([LETTER * len(f"leaf {leaves.max()}"), LINE])
    # The grid in boxes, so that they are 1 wide and 1 high: [width, height] and [x], [y].
    size = room(ax) / box
    x, y = (np.linspace(0, length, len(regions)) for length in size)
    free = _inside(y, size[1])[:, None] & _inside(x, size[0])
    for leaf in leaves[np.argsort(-area, kind="stable")]:
        # The distance to the region's border.
        depth = distance_transform_edt(np.pad(regions == leaf, 1), sampling=(y[1], x[1]))
        depth = np.where(free, depth[1:-1, 1:-1], 0)
        if depth.max() < DEEP:
            continue
        deep = np.argwhere(depth >= 0.98 * depth.max())
        row, column = deep[len(deep) // 2]  # of a long region, the middle
        free &= (abs(y - y[row]) >= 1)[:, None] | (abs(x - x[column]) >= 1)
        ground: dict[str, Any] = {
            "boxstyle": "round,pad=0.15",
            "facecolor": "white",
            "alpha": 0.75,
            "linewidth": 0,
        }
        style: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "fontsize": FONT,
            "bbox": ground,
            "zorder": 4,
        }
        ax.text(sides[0][column], sides[1][row], f"leaf {leaf}", **style)


def _inside(places: np.ndarray, length: float) -> np.ndarray:
    """Where something that is 1 long has its middle when it ends within so much room."""
    return (places >= 0.5) & (places <= length - 0.5)


def _draw_boundaries(ax: Axes, sides: Sequence[np.ndarray], log_prob: np.ndarray) -> None:
    """Where a class becomes likelier than all others."""
    best = log_prob.argmax(axis=-1)
    for number in np.unique(best)[1:] if log_prob.shape[-1] == 2 else np.unique(best):
        if (best == number).all():
            continue
        others = np.delete(log_prob, number, axis=-1).max(axis=-1)
        lead = log_prob[..., number] - others
        ax.contour(*sides, lead, [0.0], colors="black", linewidths=1.5, zorder=2)


def _draw_contours(ax: Axes, sides: Sequence[np.ndarray], mean: np.ndarray) -> None:
    if np.ptp(mean) == 0:
        return
    lines = ax.contour(*sides, mean, LEVELS, colors="black", linewidths=1.0, zorder=2)
    ax.clabel(lines, fontsize=8)


def _draw_samples(
    ax: Axes, x: np.ndarray, samples: Samples | None, names: Sequence[str] | None
) -> None:
    style: dict[str, Any] = {"s": 16, "edgecolor": "#222222", "linewidth": 0.5, "zorder": 3}
    targets = None if samples is None else samples.targets.cpu().numpy()
    if targets is None:
        ax.scatter(*x.T, color="#777777", **style)
    elif names is None:
        first = targets.reshape(len(x), -1)[:, 0]
        points = ax.scatter(x[:, 0], x[:, 1], c=first, cmap="viridis", **style)
        ax.figure.colorbar(points, ax=ax, label="target")
    else:
        colors, drawn = class_colors(len(names)), []
        for number, name in enumerate(names):
            here, marker = x[targets == number], MARKERS[number % len(MARKERS)]
            style |= {"color": colors[number], "marker": marker, "label": name}
            drawn.append(ax.scatter(*here.T, **style))
        if len(names) <= MAX_LEGEND:
            place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
            add_legend(ax, drawn, list(map(cut, names)), frameon=False, handletextpad=0.2, **place)
