"""Draws how a model tree divides the plane of its two input features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor

from structnet.checks import check_integer
from structnet.plot.model_tree.captions import brief
from structnet.plot.model_tree.key import ONE_LEAF
from structnet.plot.model_tree.region_words import FONT, around, write_leaves
from structnet.plot.names import short_names
from structnet.plot.palette import class_colors, confidence
from structnet.plot.style import (
    MARKERS,
    add_legend,
    as_written,
    fit_legend,
    one_axes,
    percent_axis,
)
from structnet.routing.batches import answers
from structnet.routing.on_demand import OnDemand
from structnet.routing.protocol import RoutedTree
from structnet.routing.reading import read
from structnet.routing.samples import Samples
from structnet.routing.visits import leaf_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

MARGIN = 0.08  # on each side, relative to the range of the samples
MAX_LEGEND = 12  # most classes in the legend
BORDER = "#666666"
PALEST, FULLEST = 0.08, 0.6  # strength of colours for equal classes, and for a certain class
SURE = "probability of the\npredicted class"
MESH: dict[str, Any] = {"shading": "nearest", "rasterized": True, "zorder": 0}
SAMPLE: dict[str, Any] = {"s": 16, "edgecolor": "#222222", "linewidth": 0.5, "zorder": 3}
LEVELS = 8  # contours of the predicted mean


def plot_partition(
    tree: Any,
    X: Any,
    y: Any = None,
    *,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    feature_names: Sequence[str] | None = None,
    resolution: int = 200,
) -> Axes:
    """Draws the leaf to which each point of the plane goes, and the prediction there.

    Grey lines are borders between the leaves' regions, by the greedy path. Where there is room, a
    region has the number of its leaf, its predictions for the samples that end there, and their
    share of all samples.

    The colour is that of the class that all leaves together predict, stronger if they are surer; on
    a black line, another class becomes the likeliest. Samples have the colours of their classes.
    For numbers, colours show the predicted mean, on the scale of the samples' targets, and black
    lines are its contours.

    Args:
        tree: any model tree or fitted estimator of samples with two features.
        X: points or samples, which also determine the part of the plane; for an estimator the
            user's inputs, in whose units the plane is drawn.
        y: targets of an estimator's inputs.
        class_names: names of the classes; by default an estimator's own, or numbers.
        ax: axes to draw on; by default new ones.
        feature_names: labels of the axes; by default an estimator's own.
        resolution: number of points of the grid in each direction.

    Shapes:
        X ``[n, 2]``.

    Raises:
        ValueError: there are no samples, they do not have two features, the tree predicts several
            numbers, or there is not one name for each class.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(2,))
        >>> ax = plot_partition(tree, torch.rand(6, 2), ax=Figure().add_subplot(), resolution=20)
        >>> [text.get_text() for text in ax.texts]
        ['leaf 0: ...\\n100 % of samples']
    """
    reading = read(tree, X, y, class_names, feature_names)
    tree, x, names = reading.tree, reading.samples, reading.class_names
    samples, given_x = (x, x.x) if isinstance(x, Samples) else (None, x)
    _check(tree, given_x, resolution)
    # Two columns are small.
    if isinstance(given_x, OnDemand):
        given_x = given_x[:]
    if issparse(given_x):
        given_x = given_x.toarray()
    places = (
        given_x.detach().cpu().numpy() if isinstance(given_x, Tensor) else np.asarray(given_x)
    )  # [n, 2]
    sides, grid = _grid(places, resolution)
    points: Any = grid.reshape(-1, 2).astype(places.dtype)
    if isinstance(given_x, Tensor):
        points = torch.from_numpy(points)
    regions = leaf_of(tree, points).reshape(resolution, resolution)
    predicted = np.concatenate([each for _, each in answers(tree, points, tree.predicted)])
    if names is None and predicted.shape[1] != 1:
        raise ValueError("the tree predicts several numbers; expected classes or one number")
    predicted = predicted.astype(np.float64)
    if reading.target_units is not None:
        predicted = reading.target_units(predicted)
    predicted = predicted.reshape(resolution, resolution, -1)
    # Where a value depends on the rest of its row, only the tree's own units make a plane.
    if reading.units is not None and not np.isnan(reading.units(grid[0, :1])).any():
        sides = list(reading.units(np.stack(sides, axis=1)).T)
        places = reading.units(np.asarray(places, np.float64))
    has_axes, ax = ax is not None, one_axes(ax, width=6.5, height=4.5)
    targets = None if samples is None else samples.targets.cpu().numpy()
    if names is None:
        scale = _scale_of_numbers(predicted, targets)
        bar = _draw_means(ax, sides, predicted[..., 0], scale)
        ax.figure.colorbar(bar, ax=ax, label="target, and its prediction")
        _draw_contours(ax, sides, predicted[..., 0])
        handles = _draw_numbers(ax, places, targets, scale) | _line("predicted mean", "black")
    else:
        bar = _draw_classes(ax, sides, np.exp(predicted))
        percent_axis(ax.figure.colorbar(bar, ax=ax, label=SURE, shrink=0.6).ax)
        _draw_boundaries(ax, sides, np.exp(predicted))
        handles = _draw_samples(ax, places, targets, names)
        handles |= _line("the prediction changes", "black")
    handles |= _draw_borders(ax, sides, regions)
    _add_legend(ax, handles, ONE_LEAF if len(tree.topology.leaves) == 1 else None)
    columns = ("feature 0", "feature 1") if reading.feature_names is None else reading.feature_names
    ax.set(xlabel=columns[0], ylabel=columns[1])
    as_written(ax.xaxis.label, ax.yaxis.label)
    ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
    if not has_axes:
        figure: Any = ax.figure
        figure.draw_without_rendering()  # gives the axes their final size
    write_leaves(ax, sides, regions, reading)
    return ax


def _check(tree: RoutedTree, x: Tensor | np.ndarray, resolution: int) -> None:
    if tuple(tree.shape) != (2,) or tuple(x.shape[1:]) != (2,):
        raise ValueError(
            f"a partition is of samples with 2 features. Got {list(x.shape[1:])} for a tree of "
            f"{list(tree.shape)}."
        )
    check_integer("resolution", resolution, 2)
    if not x.shape[0]:
        raise ValueError("there are no samples to draw; expected at least 1")


def _grid(x: np.ndarray, resolution: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The coordinates of a grid around the samples, and its points, ``[rows, columns, 2]``."""
    low, high = x.min(axis=0), x.max(axis=0)
    margin = np.where(high > low, MARGIN * (high - low), 0.5)
    sides = [
        np.linspace(start, end, resolution)
        for start, end in zip(low - margin, high + margin, strict=True)
    ]
    return sides, np.stack(np.meshgrid(*sides), axis=-1)


def _groups(number: np.ndarray, regions: int) -> np.ndarray:
    """Groups of regions on a grid, of which no two touch each other, not even at a corner."""
    graph = nx.Graph()
    graph.add_nodes_from(range(regions))
    up, down, right, left = number[1:], number[:-1], number[:, 1:], number[:, :-1]
    corners = (up[:, 1:], down[:, :-1]), (up[:, :-1], down[:, 1:])
    for a, b in ((up, down), (right, left), *corners):
        graph.add_edges_from(np.unique(np.stack([a[a != b], b[a != b]], axis=1), axis=0).tolist())
    groups = nx.greedy_color(graph, lambda graph, _: graph)  # in the order of their numbers
    return np.array([groups[region] for region in range(regions)])


def _draw_borders(ax: Axes, sides: Sequence[np.ndarray], regions: np.ndarray) -> dict[str, Any]:
    """Draws grey lines between the regions of leaves; returns legend handles by name."""
    leaves, number = np.unique(regions, return_inverse=True)
    if len(leaves) == 1:
        return {}
    # A contour takes milliseconds: one surrounds many regions, of which no two touch each other.
    number = number.reshape(regions.shape)
    groups = _groups(number, len(leaves))[number]
    for group in np.unique(groups):
        style: dict[str, Any] = {"colors": BORDER, "linewidths": 1.0, "zorder": 2}
        ax.contour(*sides, groups == group, [0.5], **style)
    return _line("border of leaves", BORDER)


def _line(name: str, color: str) -> dict[str, Any]:
    """A line's legend handle by its name."""
    from matplotlib.lines import Line2D

    return {name: Line2D([], [], color=color, linewidth=1.2)}


def _draw_classes(ax: Axes, sides: Sequence[np.ndarray], proba: np.ndarray) -> Any:
    """Draws the colour of the likeliest class, by strength; returns the scale of strengths."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb

    number = proba.shape[-1]
    best, sure = proba.argmax(axis=-1), confidence(proba.max(axis=-1), number)
    hues = np.array([to_rgb(color) for color in class_colors(number)])[best]
    strength = PALEST + (FULLEST - PALEST) * sure[..., None]
    ax.pcolormesh(*sides, 1 - strength * (1 - hues), **MESH)
    ends = [str(1 - strength * 0.7) for strength in (PALEST, FULLEST)]
    shades = LinearSegmentedColormap.from_list("shades", ends)
    return ScalarMappable(Normalize(1 / number, 1), shades)


def _scale_of_numbers(predicted: np.ndarray, targets: np.ndarray | None) -> Any:
    """The common colour scale of targets and predictions."""
    from matplotlib.colors import Normalize

    values = predicted.ravel() if targets is None else targets.reshape(len(targets), -1)[:, 0]
    return Normalize(values.min(), values.max())


def _draw_means(ax: Axes, sides: Sequence[np.ndarray], mean: np.ndarray, scale: Any) -> Any:
    from matplotlib.cm import ScalarMappable

    ax.pcolormesh(*sides, mean, cmap="viridis", norm=scale, alpha=0.6, **MESH)
    return ScalarMappable(scale, "viridis")


def _draw_boundaries(ax: Axes, sides: Sequence[np.ndarray], proba: np.ndarray) -> None:
    """Draws lines on which another class becomes the likeliest."""
    best = proba.argmax(axis=-1)
    for number in np.unique(best)[1:] if proba.shape[-1] == 2 else np.unique(best):
        if (best == number).all():
            continue
        at = around(best == number, beyond=1)  # the line is nowhere else
        others = np.delete(proba[at], number, axis=-1).max(axis=-1)
        lead, (y, x) = proba[at][..., number] - others, at
        places = sides[0][x], sides[1][y]
        ax.contour(*places, lead, [0.0], colors="black", linewidths=1.5, zorder=2)


def _draw_contours(ax: Axes, sides: Sequence[np.ndarray], mean: np.ndarray) -> None:
    if np.ptp(mean) == 0:
        return
    lines = ax.contour(*sides, mean, LEVELS, colors="black", linewidths=1.0, zorder=2)
    step = np.ptp(mean) / LEVELS
    digits = 3 + int(np.log10(max(np.abs(mean).max() / step, 1)))
    ax.clabel(lines, fontsize=8, fmt=lambda at: brief(at if abs(at) > step / 1e3 else 0.0, digits))


def _draw_numbers(
    ax: Axes, x: np.ndarray, targets: np.ndarray | None, scale: Any
) -> dict[str, Any]:
    if targets is None:
        return _draw_samples(ax, x, None, ())
    first = targets.reshape(len(x), -1)[:, 0]
    ax.scatter(x[:, 0], x[:, 1], c=first, cmap="viridis", norm=scale, **SAMPLE)
    return {}


def _draw_samples(
    ax: Axes, x: np.ndarray, targets: np.ndarray | None, names: Sequence[str]
) -> dict[str, Any]:
    """Draws samples as dots; returns legend handles by name."""
    if targets is None:
        ax.scatter(*x.T, color="#777777", **SAMPLE)
        return {}
    colors, drawn = class_colors(len(names)), {}
    for number, name in enumerate(names):
        style = SAMPLE | {"color": colors[number], "marker": MARKERS[number % len(MARKERS)]}
        drawn[name] = ax.scatter(*x[targets == number].T, label=name, **style)
    return drawn if len(names) <= MAX_LEGEND else {}


def _add_legend(ax: Axes, handles: Mapping[str, Any], title: str | None) -> None:
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    style: dict[str, Any] = {"frameon": False, "handletextpad": 0.4, "columnspacing": 1.2}
    style |= {"fontsize": FONT, "title_fontsize": FONT, "title": title}
    names = short_names(handles)

    def made(columns: int) -> Legend:
        return add_legend(ax, list(handles.values()), names, ncols=columns, **place, **style)

    fit_legend(ax, 4, made)
