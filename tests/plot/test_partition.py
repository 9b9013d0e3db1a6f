"""How a tree divides the plane, as drawn: regions, boundaries, samples, numbers."""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex, to_rgb
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.text import Text
from pictures import (
    COLUMNS,
    LONG,
    assert_apart,
    assert_within,
    axes,
    boxes_of_texts,
    collection,
    grown,
)
from scipy.sparse import csr_matrix

from structnet import NeuralTreeRegressor, SoftmaxTreeClassifier
from structnet.neural_tree import NeuralTree, SquaredError, presets
from structnet.plot import plot_model_tree, plot_partition
from structnet.plot.model_tree.partition import BORDER, FULLEST, PALEST, _draw_borders, _groups
from structnet.plot.palette import class_colors, confidence, shaded
from structnet.routing import Samples


@pytest.fixture
def plane() -> tuple[NeuralTree, Samples]:
    x = torch.randn(40, 2, generator=torch.Generator().manual_seed(4))
    return grown(5, columns=2), Samples(x, torch.arange(40) % 3)


def number_of(text: Text) -> str:
    """The first words in a region."""
    return re.split("[:\n]", text.get_text())[0]


def mesh_of(ax: Axes) -> QuadMesh:
    [mesh] = [c for c in ax.collections if isinstance(c, QuadMesh)]
    return mesh


def boundaries(ax: Axes, color: str = "#000000") -> list[ContourSet]:
    """The lines of a color: black where the prediction changes."""
    contours = [c for c in ax.collections if isinstance(c, ContourSet)]
    return [c for c in contours if to_hex(c.get_edgecolor()[0]) == color]


def test_the_hue_is_the_class_and_the_shade_how_sure_it_is(plane: tuple) -> None:
    tree, data = plane
    ax = plot_partition(tree, data, ax=axes(), resolution=30)
    xs, ys = (np.linspace(*limits, 30) for limits in (ax.get_xlim(), ax.get_ylim()))
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    proba = np.exp(tree.predicted(grid))
    sure = confidence(proba.max(axis=1), 3)
    best = [class_colors(3)[k] for k in proba.argmax(axis=1)]
    strength = PALEST + (FULLEST - PALEST) * sure
    drawn = np.array(mesh_of(ax).get_array()).reshape(-1, 3)
    expected = [to_rgb(shaded(c, s)) for c, s in zip(best, strength, strict=True)]
    assert drawn == pytest.approx(np.array(expected), abs=0.01)
    [bar] = [each for each in ax.figure.axes if each is not ax]
    assert bar.get_ylabel() == "probability of the\npredicted class"
    assert bar.get_ylim() == pytest.approx((1 / 3, 1))


def test_leaves_say_what_they_predict_and_how_many_samples_end_there(plane: tuple) -> None:
    tree, data = plane
    names = ["ape", "bee", "cow"]
    ax = plot_partition(tree, data, ax=axes(), class_names=names, resolution=30)
    ends = tree.apply_path(data.x).numpy()
    whole = [text.get_text() for text in ax.texts if "samples" in text.get_text()]
    assert whole
    for text in whole:
        leaf = int(re.search(r"leaf (\d+)", text)[1])
        assert text.endswith(f"{100 * (ends == leaf).mean():.0f} % of samples")
        if (ends == leaf).any():
            said = tree.predicted_at(data.x[ends == leaf], leaf).argmax(axis=1)
            common = np.bincount(said, minlength=3)
            first = re.search(r": (\w+) \((\d+) %\)", text)
            assert common[names.index(first[1])] == common.max()
            assert int(first[2]) == round(100 * common.max() / common.sum())


def test_the_key_says_what_lines_are(plane: tuple) -> None:
    tree, data = plane
    legend = plot_partition(tree, data, ax=axes(), resolution=30).get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["0", "1", "2", "the prediction changes", "border of leaves"]


def test_numbers_and_their_prediction_have_one_scale() -> None:
    tree = grown(3, outputs=1, likelihood=SquaredError(), columns=2)
    x = torch.randn(20, 2, generator=torch.Generator().manual_seed(4))
    ax = plot_partition(tree, Samples(x, 10 * x[:, :1]), ax=axes(), resolution=20)
    [dots] = [c for c in ax.collections if type(c).__name__ == "PathCollection"]
    expected = float(10 * x[:, 0].min()), float(10 * x[:, 0].max())
    assert mesh_of(ax).get_clim() == dots.get_clim() == pytest.approx(expected)


def test_partition_shows_greedy_leaves(plane: tuple[NeuralTree, Samples]) -> None:
    tree, data = plane
    ax = plot_partition(tree, data, ax=axes(), resolution=30)
    xs, ys = (np.linspace(*limits, 30) for limits in (ax.get_xlim(), ax.get_ylim()))
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    ends = tree.apply_path(torch.from_numpy(grid).float()).numpy()
    assert sorted(map(number_of, ax.texts)) == sorted(f"leaf {leaf}" for leaf in np.unique(ends))
    for text in ax.texts:
        point = torch.tensor([text.get_position()], dtype=torch.float32)
        assert f"leaf {int(tree.apply_path(point))}" == number_of(text)


def test_borders_are_half_way_between_neighbours_of_different_leaves(plane: tuple) -> None:
    tree, data = plane
    ax = plot_partition(tree, data, ax=axes(), resolution=30)
    xs, ys = (np.linspace(*limits, 30) for limits in (ax.get_xlim(), ax.get_ylim()))
    grid = torch.from_numpy(np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)).float()
    ends = tree.apply_path(grid).numpy().reshape(30, 30)
    y, x = np.nonzero(ends[:, 1:] != ends[:, :-1])
    expected = {*zip(2 * x + 1, 2 * y, strict=True)}  # in halves of a step of the grid
    y, x = np.nonzero(ends[1:] != ends[:-1])
    expected |= {*zip(2 * x, 2 * y + 1, strict=True)}
    drawn = np.concatenate([p.vertices for c in boundaries(ax, BORDER) for p in c.get_paths()])
    halves = 2 * (drawn - [xs[0], ys[0]]) / [xs[1] - xs[0], ys[1] - ys[0]]
    assert np.abs(halves - halves.round()).max() < 1e-3
    assert {*map(tuple, halves.round().astype(int))} == expected


def test_partition_shows_where_the_mixture_changes(plane: tuple[NeuralTree, Samples]) -> None:
    tree, data = plane
    ax = plot_partition(tree, data, ax=axes(), resolution=120)
    points = np.concatenate([path.vertices for c in boundaries(ax) for path in c.get_paths()])
    with torch.no_grad():
        output = tree.output(torch.from_numpy(points).float()).exp()
    best = output.topk(2).values
    assert len(points) > 20
    assert (best[:, 0] - best[:, 1]).max() < 0.02


def test_partition_shows_samples_of_classes(plane: tuple[NeuralTree, Samples]) -> None:
    tree, data = plane
    ax = plot_partition(
        tree, data, class_names=["a", "b", "c"], ax=axes(), feature_names=("age", "height")
    )
    for c, name in enumerate("abc"):
        points = collection(ax, name).get_offsets()
        assert np.array(points) == pytest.approx(data.x[data.targets == c].numpy())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "height")
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    low, high = data.x.min(0).values, data.x.max(0).values
    assert x0 < low[0] < high[0] < x1 and y0 < low[1] < high[1] < y1


def test_partition_of_numbers() -> None:
    tree = grown(3, outputs=1, likelihood=SquaredError(), columns=2)
    x = torch.randn(20, 2, generator=torch.Generator().manual_seed(4))
    ax = plot_partition(tree, Samples(x, x[:, :1]), ax=axes(), resolution=80)
    [lines] = boundaries(ax)
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        if len(path.vertices):
            with torch.no_grad():
                mean = tree.output(torch.from_numpy(path.vertices).float())
            assert mean.numpy() == pytest.approx(level, abs=0.05)


def squares(side: int) -> NeuralTree:
    """A tree whose leaves are the cells of a grid over the unit square."""
    tree = NeuralTree(presets.mlp(3).without(transformers=True), (2,))
    tree_of_strips(tree, 0, 0, side)
    for strip in list(tree.topology.leaves):
        tree_of_strips(tree, int(strip), 1, side)
    return tree


def tree_of_strips(tree: NeuralTree, leaf: int, axis: int, number: int) -> None:
    """Cuts the first strip off a leaf, then the second, and so on."""
    for i in range(1, number):
        here, (_, leaf) = leaf, tree.split(leaf)
        router = next(m for m in tree.nodes[here].router.modules() if hasattr(m, "bias"))
        torch.nn.init.zeros_(router.weight)
        router.weight.data[0, axis], router.bias.data[0] = -1e3, 1e3 * i / number


@pytest.mark.parametrize(
    ("side", "given"), [(1, True), (2, False), (3, True), (6, False), (6, True), (12, False)]
)
def test_numbers_in_partitions_have_room(side: int, given: bool) -> None:
    x = torch.rand(30, 2, generator=torch.Generator().manual_seed(4))
    data, tree = Samples(x, torch.arange(30) % 3), squares(side)
    ax = plot_partition(tree, data, ax=Figure().add_subplot() if given else None)
    found = boxes_of_texts(ax)
    assert len({text.get_text() for text in ax.texts}) == len(ax.texts)
    assert len(found) == side**2 or (side == 12 and 10 < len(found) < 144)
    assert_within(found, ax.get_window_extent())
    assert_apart(found)
    for text in ax.texts:
        point = torch.tensor([text.get_position()], dtype=torch.float32)
        assert f"leaf {int(tree.apply_path(point))}" == number_of(text)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_in_random_partitions_have_room(seed: int) -> None:
    x = torch.randn(10, 2, generator=torch.Generator().manual_seed(seed))
    for leaves in (30, 31, 60):
        found = boxes_of_texts(ax := plot_partition(grown(leaves, columns=2), x, resolution=60))
        assert found
        assert_within(found, ax.get_window_extent())
        assert_apart(found)


@pytest.mark.parametrize(
    ("tree", "x", "options", "message"),
    [
        (grown(2), torch.zeros(3, COLUMNS), {}, r"2 features. Got \[5\] for a tree of \[5\]"),
        (grown(2, columns=2), torch.zeros(3, 4), {}, r"Got \[4\] for a tree of \[2\]"),
        (grown(2, columns=2), torch.zeros(0, 2), {}, "no samples to draw"),
        (grown(2, columns=2), torch.zeros(3, 2), {"resolution": 1}, r"range \[2, inf\). Got 1"),
        (grown(2, 2, SquaredError(), columns=2), torch.zeros(3, 2), {}, "several numbers"),
    ],
)
def test_partitions_that_cannot_be_drawn(
    tree: NeuralTree, x: torch.Tensor, options: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        plot_partition(tree, x, ax=axes(), **options)


def test_borders_surround_every_region() -> None:
    regions = np.random.default_rng(0).integers(3, 40, (9, 9)).repeat(4, axis=0).repeat(4, axis=1)
    ax, sides = axes(), [np.arange(36.0), np.arange(36.0)]
    _draw_borders(ax, sides, regions)
    grey = boundaries(ax, BORDER)
    assert len(grey) < len(np.unique(regions)) / 2  # each takes milliseconds
    drawn = {tuple(at) for c in grey for path in c.get_paths() for at in path.vertices.tolist()}
    y, x = np.nonzero(regions[:, 1:] != regions[:, :-1])
    assert {*zip((x + 0.5).tolist(), y.tolist(), strict=True)} <= drawn
    y, x = np.nonzero(regions[1:] != regions[:-1])
    assert {*zip(x.tolist(), (y + 0.5).tolist(), strict=True)} <= drawn
    assert all(x % 1 or y % 1 for x, y in drawn)  # none is inside a region


def test_regions_side_by_side_are_of_different_groups() -> None:
    number = np.random.default_rng(0).integers(0, 30, (9, 9)).repeat(3, axis=0).repeat(3, axis=1)
    groups = _groups(number, 30)[number]
    beside = ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1]))
    corners = ((np.s_[1:, 1:], np.s_[:-1, :-1]), (np.s_[1:, :-1], np.s_[:-1, 1:]))
    for a, b in (*beside, *corners):
        assert (groups[a] != groups[b])[number[a] != number[b]].all()


@pytest.mark.parametrize(("unit", "offset"), [(1e9, 0.0), (1e-9, 0.0), (0.01, 1e6)])
def test_the_numbers_on_contours_are_whole(unit: float, offset: float) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    y = offset + unit * x[:, 0]
    model = NeuralTreeRegressor(max_leaves=1, random_state=0).fit(x, y)
    ax = plot_partition(model, x, y, ax=axes(), resolution=40)
    [lines] = boundaries(ax)
    said = np.array([float(text.get_text()) for text in lines.labelTexts])
    assert len(said) > 3
    nearest = np.abs(said[:, None] - lines.levels).min(axis=1)
    assert (nearest < 0.01 * unit).all() and np.ptp(said) > unit


def test_a_partition_of_sparse_rows() -> None:
    x = np.random.default_rng(0).integers(-1, 2, size=(90, 2)).astype(float)
    y = (x[:, 0] > 0).astype(int)
    model = SoftmaxTreeClassifier(depth=1, k=1, random_state=0).fit(csr_matrix(x), y)
    ax = plot_partition(model, csr_matrix(x), y, ax=axes(), resolution=30)
    assert collection(ax, "1").get_offsets().tolist() == x[y == 1].tolist()
    drawn = np.array(mesh_of(ax).get_array()).reshape(30, 30, 3)
    sure = model.predict_proba(csr_matrix([[-1.0, 0.0], [1.0, 0.0]])).max(axis=1)
    assert (sure > 0.98).all()
    strength = PALEST + (FULLEST - PALEST) * (2 * sure - 1)
    ends = [shaded(*each) for each in zip(class_colors(2), strength, strict=True)]
    assert [to_hex(drawn[0, column]).upper() for column in (0, -1)] == ends


def test_a_partition_of_counts_is_in_the_units_of_the_tree() -> None:
    """Rows of one length lie on an arc, so their counts are no plane."""
    rng = np.random.default_rng(0)
    counts = (rng.random((300, 2)) < 0.5) * rng.geometric(0.7, (300, 2))
    y = (counts[:, 0] > 1).astype(int)
    model = SoftmaxTreeClassifier(depth=1, random_state=0).fit(csr_matrix(counts), y)
    ax = plot_partition(model, csr_matrix(counts), y, ax=axes(), resolution=10)
    lengths = np.hypot(*np.array(collection(ax, "1").get_offsets()).T)
    np.testing.assert_allclose(lengths, model.input_scale_.length, rtol=1e-5)


def test_legends_are_as_wide_as_the_axes(plane: tuple) -> None:
    tree, data = plane
    ax = plot_partition(tree, data, ax=axes(3.3, 2.5), class_names=LONG, resolution=30)
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().width <= ax.figure.bbox.width


def test_words_can_be_read_on_any_ground(plane: tuple) -> None:
    tree, data = plane
    with plt.style.context("dark_background"):
        regions = plot_partition(tree, data, ax=axes(), resolution=30)
        nodes = plot_model_tree(tree, ax=axes())
    for ax in (regions, nodes):
        assert ax.texts and {to_hex(text.get_color()) for text in ax.texts} == {"#000000"}


def test_a_legend_of_many_classes_is_not_higher_than_the_picture(plane: tuple) -> None:
    _, data = plane
    ax = Figure(figsize=(3.3, 2.5), layout="constrained").add_subplot()
    many = Samples(data.x, torch.arange(40) % 11)
    plot_partition(grown(5, outputs=11, columns=2), many, ax=ax, resolution=30)
    ax.figure.draw_without_rendering()
    legend, room = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.y1 <= ax.figure.bbox.y1 and legend.width <= ax.figure.bbox.width
    assert min(room.width, room.height) > 70
