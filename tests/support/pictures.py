"""What the tests of pictures share: trees and samples to draw, and the numbers of what is drawn."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from structnet.neural_tree import NeuralTree, presets
from structnet.routing import Samples

COLUMNS = 5


def axes(width: float = 8, height: float = 6) -> Axes:
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure.add_axes((0, 0, 1, 1))


def grown(
    leaves: int, outputs: int = 3, likelihood=None, chain: bool = False, columns: int = COLUMNS
) -> NeuralTree:
    """A tree with random splits and routers that are sure of themselves."""
    generator = np.random.default_rng(leaves)
    with torch.random.fork_rng():
        torch.manual_seed(leaves)
        tree = NeuralTree(presets.mlp(outputs, width=4), (columns,), likelihood)
        while tree.num_leaves < leaves:
            last = tree.topology.leaves[-1]
            leaf = int(last if chain else generator.choice(tree.topology.leaves))
            tree.split(leaf)
            for parameter in tree.nodes[leaf].router.parameters():
                parameter.data *= 3
    return tree


def samples(number: int = 60, classes: int = 3, weights: bool = False) -> Samples:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(number, COLUMNS, generator=generator)
    counts = torch.rand(number, generator=generator) + 0.5 if weights else None
    return Samples(x, torch.arange(number) % classes, counts)


def shapes(ax: Axes, label: str) -> np.ndarray:
    """The corners of the rectangles with a label, ``[m, 4, 2]``."""
    collections = [c for c in ax.collections if c.get_label() == label]
    return np.concatenate(
        [[p.vertices[:4] for p in c.get_paths()] for c in collections if c.get_paths()]
    )


def heights(ax: Axes, label: str) -> np.ndarray:
    corners = shapes(ax, label)
    return corners[:, 2, 1] - corners[:, 0, 1]


def collection(ax: Axes, label: str):
    [one] = [c for c in ax.collections if c.get_label() == label]
    return one


def written(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def drawn_order(tree: NeuralTree) -> list[int]:
    """Nodes level by level, from left to right."""
    order = [0]
    for v in order:
        order += tree.topology.children_of(v)
    return order


def boxes(ax: Axes) -> list:
    """All that is written, and all panels, in pixels."""
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    legend = ax.get_legend()
    extents = [text.get_window_extent(renderer) for text in ax.texts if text.get_text()]
    extents += [] if legend is None else [legend.get_window_extent(renderer)]
    for corners in shapes(ax, "_panels"):
        low, high = ax.transData.transform(corners[[0, 2]])
        extents.append(Bbox([low, high]))
    return extents


def assert_within(extents: list, room: Bbox) -> None:
    for box in extents:
        assert box.x0 >= room.x0 - 1 and box.y0 >= room.y0 - 1, box
        assert box.x1 <= room.x1 + 1 and box.y1 <= room.y1 + 1, box


def assert_apart(extents: list, allowed: float = 0.0) -> None:
    for a, b in combinations(extents, 2):
        overlap = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(overlap) <= allowed, (a, b)


ODD = ["$10-$20", "_background", "$x^$ \\frac{"]  # as mathematics, the last cannot be read

CIFAR = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]

LONG = ["extraordinarily long name of a class", "an even longer name, which is cut off", "short"]


def boxes_of_texts(ax: Axes) -> list:
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts]
