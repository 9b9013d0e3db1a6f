"""What the leaves are for, as drawn: shares of the classes, and mean images."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.text import Text
from pictures import (
    CIFAR,
    LONG,
    assert_apart,
    assert_within,
    axes,
    boxes_of_texts,
    grown,
    samples,
    written,
)

from structnet.neural_tree import NeuralTree, NeuralTreeClassifier, SquaredError, presets
from structnet.plot import plot_leaf_classes, plot_leaf_means
from structnet.plot.model_tree.captions import share_text
from structnet.plot.model_tree.key import GREEDY, ONE_LEAF
from structnet.plot.style import write_cells
from structnet.routing import Samples


def test_leaf_classes_are_mean_probabilities() -> None:
    tree, data = grown(6), samples()
    ax = plot_leaf_classes(tree, data, ax=axes())
    drawn = np.array(ax.images[0].get_array())
    with torch.no_grad():
        probability = tree.leaf_log_prob(data.x).exp().numpy()
    place = {int(leaf): i for i, leaf in enumerate(tree.topology.leaves)}
    for row, leaf in enumerate(tree.topology.from_left()):
        for c in range(3):
            mean = probability[data.targets == c, place[leaf]].mean()
            assert drawn[row, c] == pytest.approx(mean, abs=1e-6)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    sizes = (probability.mean(axis=0)[place[leaf]] for leaf in tree.topology.from_left())
    names = [f"leaf {leaf}" for leaf in tree.topology.from_left()]
    starts = [f"{n}, {share_text(s)}: " for n, s in zip(names, sizes, strict=True)]
    assert all(map(str.startswith, labels, starts))
    cells = {text.get_position(): text.get_text() for text in ax.texts}
    row, column = np.unravel_index(drawn.argmax(), drawn.shape)
    assert cells[column, row] == f"{100 * drawn.max():.0f}"


def test_cells_are_white_where_it_is_dark_and_empty_where_nothing_is_said() -> None:
    ax = axes()
    write_cells(ax, np.array([[0.9, 0.1], [0.0, 0.5]]), [["90", "10"], ["", "50"]])
    found = {text.get_text(): (text.get_position(), text.get_color()) for text in ax.texts}
    assert found == {"90": ((0, 0), "white"), "10": ((1, 0), "black"), "50": ((1, 1), "black")}


@pytest.mark.parametrize(("share", "cell"), [(0.004, ""), (0.006, "1"), (0.3, "30")])
def test_a_cell_of_less_than_half_a_percent_is_empty(share: float, cell: str) -> None:
    tree = NeuralTree(presets.table(2), (1,))
    tree.split(0)
    with torch.no_grad():
        tree.nodes[0].router.weight.zero_()
        tree.nodes[0].router.bias.fill_(np.log(share / (1 - share)))
    ax = plot_leaf_classes(tree, Samples(torch.ones(4, 1), torch.arange(4) % 2), ax=axes())
    other = f"{100 * (1 - share):.0f}"
    assert sorted(text.get_text() for text in ax.texts) == sorted(
        2 * ([cell] * bool(cell) + [other])
    )


def test_leaf_classes_say_what_each_leaf_predicts_by_itself() -> None:
    tree, data, names = grown(6), samples(), ["ape", "bee", "cow"]
    ax = plot_leaf_classes(tree, data, class_names=names, ax=axes())
    ends, frames = tree.apply_path(data.x).numpy(), {}
    for patch in ax.patches:
        frames[round(patch.get_y() + patch.get_height() / 2)] = patch.get_x()
    for row, leaf in enumerate(tree.topology.from_left()):
        label = ax.get_yticklabels()[row].get_text().split(": ")[1]
        if not (ends == leaf).any():
            assert label == "ends no path" and row not in frames
            continue
        said = tree.predicted_at(data.x[ends == leaf], leaf).argmax(axis=1)
        part = np.bincount(said, minlength=3) / len(said)
        assert label.startswith(f"{names[part.argmax()]} ({100 * part.max():.0f} %)")
        assert round(frames[row] + 0.47) == part.argmax()


def test_a_class_without_samples_is_empty() -> None:
    ax = plot_leaf_classes(grown(3), samples(classes=2), ax=axes())
    drawn = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert drawn[:, :2].sum(axis=0) == pytest.approx([1, 1])
    assert np.isnan(drawn[:, 2]).all()


@pytest.mark.parametrize("leaves", [1, 2, 8])
@pytest.mark.parametrize("names", [["0", "1"], ["setosa", "versicolor", "virginica"], CIFAR, LONG])
def test_heat_maps_are_not_cut_off(leaves: int, names: list[str]) -> None:
    data = samples(classes=len(names))
    ax = plot_leaf_classes(grown(leaves, outputs=len(names)), data, class_names=names)
    ax.figure.canvas.draw()
    texts = [text for text in ax.figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert len(texts) > leaves + len(names)
    assert_within([text.get_window_extent() for text in texts], ax.figure.bbox)
    bar = ax.images[0].colorbar.ax
    label, room = bar.yaxis.label.get_window_extent(), bar.get_window_extent()
    assert room.y0 - 1 <= label.y0 and label.y1 <= room.y1 + 1


def test_slanted_names_end_below_their_columns() -> None:
    ax = plot_leaf_classes(grown(2, outputs=10), samples(classes=10), class_names=CIFAR)
    ax.figure.canvas.draw()
    step = np.diff(ax.transData.transform([(0, 0), (1, 0)])[:, 0])[0]
    for i, label in enumerate(ax.get_xticklabels()):
        assert (label.get_rotation(), label.get_rotation_mode()) == (45, "anchor")
        end = label.get_window_extent().x1 - ax.transData.transform((i, 0))[0]
        assert abs(end) < step / 3
    level = plot_leaf_classes(grown(2), samples()).get_xticklabels()
    assert [label.get_rotation() for label in level] == [0, 0, 0]


def test_cells_and_colours_are_both_in_percent() -> None:
    ax = plot_leaf_classes(grown(1), samples())
    ax.figure.canvas.draw()
    ticks = ax.images[0].colorbar.ax.get_yticklabels()
    assert [ticks[0].get_text(), ticks[-1].get_text()] == ["0 %", "100 %"]
    assert written(ax) == ["100"] * 3


def test_many_leaves_have_few_labels() -> None:
    ax = plot_leaf_classes(grown(90), samples())
    assert len(ax.get_yticks()) == 30 and not ax.texts


def test_leaf_classes_need_classes() -> None:
    tree = grown(2, outputs=1, likelihood=SquaredError())
    with pytest.raises(ValueError, match="expected one that predicts classes"):
        plot_leaf_classes(tree, samples(), ax=axes())


def images(channels: int = 1) -> tuple[NeuralTree, Samples]:
    """A tree that sends an image left if its first pixel is high, and eight images."""
    tree = NeuralTree(presets.mlp(2).without(transformers=True), (channels, 4, 6))
    tree.split(0)
    router = tree.nodes[0].router[1]
    torch.nn.init.zeros_(router.weight)
    router.weight.data[0, 0], router.bias.data[0] = 1.0, -0.5
    x = torch.rand(8, channels, 4, 6, generator=torch.Generator().manual_seed(3))
    x[:, 0, 0, 0] = torch.tensor([1, 1, 1, 0, 0, 0, 0, 0])
    weights = torch.tensor([2.0, 1, 1, 1, 1, 1, 0.5, 0.5])
    return tree, Samples(x, torch.tensor([1, 0, 0, 1, 1, 1, 0, 0]), weights)


def test_leaf_means() -> None:
    tree, data = images()
    ax = plot_leaf_means(tree, data, class_names=["ape", "bee"], ax=axes())
    left, right = (np.array(image.get_array()) for image in ax.images)
    x, weights = data.x[:, 0].double().numpy(), data.weights.double().numpy()
    assert left == pytest.approx(np.average(x[:3], axis=0, weights=weights[:3]))
    assert right == pytest.approx(np.average(x[3:], axis=0, weights=weights[3:]))
    assert written(ax) == ["leaf 1: 50 %\nape: 50 %", "leaf 2: 50 %\nbee: 75 %", GREEDY]
    assert ax.images[0].get_clim() == pytest.approx((x.min(), x.max()))
    (x0, x1, y1, y0), (z0, *_) = (image.get_extent() for image in ax.images)
    assert (y1 - y0) / (x1 - x0) == pytest.approx(4 / 6) and z0 > x1
    assert ax.get_xlim()[0] < x0 and ax.get_ylim()[0] > y1  # y runs down


def test_leaf_means_in_colour_and_without_targets() -> None:
    tree, data = images(channels=3)
    ax = plot_leaf_means(tree, data.x, ax=axes())
    low, high = float(data.x.min()), float(data.x.max())
    expected = (data.x[3:].mean(0).movedim(0, -1).numpy() - low) / (high - low)
    assert np.array(ax.images[1].get_array()) == pytest.approx(expected, abs=1e-6)
    assert written(ax) == ["leaf 1: 38 %\n", "leaf 2: 62 %\n", GREEDY]


def test_leaf_means_of_an_estimator_have_its_classes() -> None:
    x, y = np.random.default_rng(0).random((20, 1, 4, 4)), np.repeat(["ape", "bee"], [8, 12])
    model = NeuralTreeClassifier(presets.mlp, max_leaves=1, epochs=1, refine_epochs=0).fit(x, y)
    ax = plot_leaf_means(model, x, y, ax=axes())
    assert written(ax) == ["leaf 0: 100 %\nbee: 60 %", ONE_LEAF]
    assert written(plot_leaf_means(model, x, ax=axes())) == ["leaf 0: 100 %\n", ONE_LEAF]


def test_leaves_without_images() -> None:
    tree, data = images()
    ax = plot_leaf_means(tree, data.x[:3], ax=axes())
    assert len(ax.images) == 1
    assert written(ax) == ["leaf 1: 100 %\n", "leaf 2: 0 %\n", "no samples", GREEDY]


@pytest.mark.parametrize("leaves", [1, 2, 7])
def test_means_are_not_cut_off(leaves: int) -> None:
    tree = NeuralTree(presets.mlp(3).without(transformers=True), (1, 8, 8))
    while tree.num_leaves < leaves:
        tree.split(int(tree.topology.leaves[0]))
    x = torch.randn(60, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    ax = plot_leaf_means(tree, Samples(x, torch.arange(60) % 3), class_names=LONG)
    found = boxes_of_texts(ax)
    assert len(found) > leaves
    assert_within(found, ax.figure.bbox)
    assert_apart(found, 1)


def test_leaf_means_need_images() -> None:
    with pytest.raises(ValueError, match=r"must be images.*Got \[5\]"):
        plot_leaf_means(grown(2), samples().x, ax=axes())


def test_leaf_means_need_samples_that_count() -> None:
    tree, data = images()
    weightless = Samples(data.x, data.targets, torch.zeros(len(data)))
    with pytest.raises(ValueError, match="samples are 0; expected one above 0"):
        plot_leaf_means(tree, weightless, ax=axes())


@pytest.mark.parametrize(("leaves", "classes"), [(6, 3), (30, 20), (12, 20)])
def test_labels_have_room_in_a_column_of_a_page(leaves: int, classes: int) -> None:
    ax = Figure(figsize=(3.3, 2.5), layout="constrained").add_subplot()
    tree, data = grown(leaves, outputs=classes), samples(classes=classes)
    plot_leaf_classes(tree, data, ax=ax)
    ax.figure.draw_without_rendering()
    ticks = [text for text in ax.get_yticklabels() if text.get_text()]
    assert len(ticks) > 4 and all(text.get_text().startswith("leaf ") for text in ticks)
    found = [text.get_window_extent() for text in ticks]
    assert_within(found, ax.figure.bbox)
    assert_apart(found, 3.0)
    assert_apart([text.get_window_extent() for text in ax.texts])


def test_larger_letters_have_room_on_new_axes() -> None:
    with plt.rc_context({"font.size": 16}):
        ax = plot_leaf_classes(grown(5, outputs=2), samples(classes=2))
        ax.figure.draw_without_rendering()
        texts = [*ax.get_xticklabels(), *ax.get_yticklabels()]
        assert_within([text.get_window_extent() for text in texts], ax.figure.bbox)
