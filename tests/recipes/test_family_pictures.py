"""Pictures of label trees, softmax trees and routed networks: what they say, and in whose words."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from structnet.label_tree import LabelTree
from structnet.recipes.label_tree import pictures
from structnet.recipes.label_tree.pictures import plot_label_tree, plot_rebuilds
from structnet.recipes.naru.pictures import (
    plot_load,
    plot_route_changes,
    plot_traffic,
    plot_utilisation,
)
from structnet.recipes.softmax_tree.pictures import draw_costs, draw_errors, draw_widths
from structnet.recipes.tree_file.pictures import draw_confusion
from structnet.softmax_tree import GrowthSettings, SoftmaxTreeSettings, train
from structnet.training.history import History


@pytest.fixture
def ax() -> Axes:
    return Figure(figsize=(9, 6), layout="constrained").add_subplot()


def test_a_label_tree_in_words(ax: Axes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "WIDEST", 3)
    monkeypatch.setattr(pictures, "FEWEST", 2)
    labels = ["$a$", ",", "x" * 40, *(str(i) for i in range(24))]
    plot_label_tree(LabelTree(4, 27, arity=3), labels, ax=ax)
    texts = [text.get_text() for text in ax.texts]
    assert texts[0] == f"$a$ · , · {'x' * 8}…{'x' * 7} · 0 · …  (27)"
    assert [text for text in texts if "more node" in text] == ["… 1 more node"] * 3  # of 3 each
    hidden = sum(int(text.split()[1]) for text in texts if text.startswith("… "))
    assert len([text for text in texts if not text.startswith("… ")]) + hidden == 1 + 3 + 9
    assert not any(text.get_parse_math() for text in ax.texts)
    assert "depth 2" in ax.get_title()
    ax.figure.draw_without_rendering()
    right = max(text.get_window_extent().x1 for text in ax.texts)
    assert right <= ax.figure.bbox.x1


def test_long_labels_of_a_label_tree_stay_different(ax: Axes) -> None:
    labels = [f"category {i:02d} of all very elaborate descriptions" for i in range(27)]
    plot_label_tree(LabelTree(4, 27, arity=3), labels, ax=ax)
    words = {word for text in ax.texts for word in text.get_text().split("  (")[0].split(" · ")}
    assert len(words - {"…"}) == 27 and max(map(len, words)) <= 16


def test_what_is_drawn_is_said(ax: Axes) -> None:
    plot_rebuilds([{"objective": 0.5, "moved": 0.1}, {"objective": 0.7, "moved": 0.0}], ax)
    assert_told(ax, {"reassignment of labels", "share of the best, or of all labels"}, legend=2)
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.5, 0.7], [0.1, 0]]


def test_errors_of_a_tree_that_grows(ax: Axes) -> None:
    rows = [(0, 0, 0.9), (1, 0, 0.5), (2, 1, 0.4), (3, 1, 0.3)]
    history = History([{"epoch": e, "round": r, "error": error} for e, r, error in rows])
    draw_errors(history, ax=ax)
    assert_told(ax, {"iteration", "error"}, legend=2)
    curve, expanded = ax.lines
    assert list(curve.get_ydata()) == [0.9, 0.5, 0.4, 0.3]
    assert list(expanded.get_xdata()) == [2, 2]


def test_a_tree_that_does_not_grow_says_nothing_of_it(ax: Axes) -> None:
    draw_errors(History([{"epoch": e, "round": 0, "error": 0.5} for e in range(3)]), ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["training"]


def test_leaves_are_as_large_as_they_have_classes(ax: Axes) -> None:
    x = [[float(i)] for i in range(8)] * 4
    tree = train(x, list(range(8)) * 4, SoftmaxTreeSettings(depth=2, k=3)).tree
    draw_widths(tree, GrowthSettings(alpha=0.5, start_depth=1, start_k=4), ax=ax)
    sizes = tree.arrays.sizes()[tree.topology.leaves]
    [leaves] = [each for each in ax.collections if each.get_label() == "_leaves"]
    assert (leaves.get_sizes() / 400 * sizes.max()).tolist() == pytest.approx(sizes.tolist())
    assert {text.get_text() for text in ax.texts} >= {str(size) for size in sizes}
    told = [text.get_text() for text in ax.texts if "largest" in text.get_text()]
    assert told == [f"largest leaf {sizes.max()}\nat most 2 allowed"]  # growth begins with 4
    assert "8 classes" in ax.get_title() and "one leaf" not in ax.get_title()


def test_of_a_large_softmax_tree_the_upper_levels_are_drawn(ax: Axes) -> None:
    x = [[float(i)] for i in range(64)] * 2
    tree = train(x, list(range(64)) * 2, SoftmaxTreeSettings(depth=6, k=1)).tree
    assert len(tree.topology.leaves) > 40
    draw_widths(tree, None, ax=ax)
    marks = [text.get_text() for text in ax.texts if "\nleaves" in text.get_text()]
    hidden = sum(int(mark.split()[1]) for mark in marks)
    drawn = sum(text.get_text() == "1" for text in ax.texts)
    assert any("largest leaf 1" in text.get_text() for text in ax.texts)
    assert 0 < len(marks) + drawn <= 17 and hidden + drawn == len(tree.topology.leaves)


def test_a_softmax_tree_of_one_leaf_says_so(ax: Axes) -> None:
    tree = train([[0.0], [1.0]] * 4, [0, 1] * 4, SoftmaxTreeSettings(depth=0, k=2)).tree
    assert "one leaf: this tree asks nothing" in draw_widths(tree, ax=ax).get_title()


def test_costs(ax: Axes) -> None:
    draw_costs({"tree": [(200.0, 0.1), (100.0, 0.3)]}, ax=ax)
    assert_told(ax, {"FLOPs of one prediction", "test error"}, legend=1)
    assert list(ax.lines[0].get_ydata()) == [0.3, 0.1]


def test_a_routed_network(ax: Axes) -> None:
    plot_traffic([[[3, 1]], [[2], [2]]], [[4], [3, 0], [4]], ax)
    assert "red ring" in ax.get_title()
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        f"capsule {i}" for i in range(3)
    ]


def test_figures_of_a_routed_network() -> None:
    axes = list(Figure().subplots(1, 3))
    plot_utilisation({"untrained": [0.0, 0.2], "trained": [0.0, 0.4]}, axes[0])
    plot_route_changes([(2, 0.3), (3, 0.1)], axes[1])
    plot_load({"trained": [[1.0], [0.75, 0.25]]}, axes[2])
    assert_told(axes[0], {"bundles visited so far"}, legend=2)
    assert_told(axes[1], {"epoch", "elections that changed"}, legend=0)
    assert_told(axes[2], {"visits; 1 is an even share"}, legend=2)
    assert [bar.get_height() for bar in axes[2].patches] == [1, 1.5, 0.5]


def assert_told(ax: Axes, names: set[str], legend: int) -> None:
    """The picture has a title, names for both axes, and a legend of so many entries."""
    assert ax.get_title() and ax.get_xlabel() and ax.get_ylabel()
    assert names <= {ax.get_xlabel(), ax.get_ylabel()}
    assert len(ax.get_legend().get_texts() if legend else []) == legend


def test_long_names_of_confused_classes_stay_different(ax: Axes) -> None:
    names = [f"org.example.library.{name}.documents" for name in ("first", "other", "third")]
    draw_confusion({"classes": names, "counts": [[1, 0, 0]] * 3}, ax)
    assert len({label.get_text() for label in ax.get_yticklabels()}) == 3
