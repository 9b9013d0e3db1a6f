"""Every picture of a model tree, through the protocol alone: a tree that is no neural tree."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from pictures import assert_within, axes, boxes, collection, drawn_order, heights, shapes, written
from toy_tree import MANY, ToyTree, toy_chain, toy_tree

from structnet import Tree, TreeLSTMClassifier
from structnet.plot import (
    plot_leaf_classes,
    plot_leaf_means,
    plot_model_tree,
    plot_partition,
    plot_refinement,
)
from structnet.plot.model_tree.folding import small_share
from structnet.plot.model_tree.key import SOFT
from structnet.plot.model_tree.sheet import CLASSES, ROUTER
from structnet.routing import Samples, reach
from structnet.routing.visits import BINS


def draw(shape: tuple[int, ...] = (2,), number: int = 40) -> Samples:
    x = torch.randn(number, *shape, generator=torch.Generator().manual_seed(0))
    return Samples(x, torch.arange(number) % 3)


@pytest.fixture
def tree() -> ToyTree:
    return toy_tree(MANY, seed=3)


@pytest.mark.parametrize("greedy", [False, True])
def test_the_tree_with_samples(tree: ToyTree, greedy: bool) -> None:
    data, tree.blur = draw(), 0.3
    ax = plot_model_tree(tree, data, class_names=["ape", "bee", "cow"], greedy=greedy)
    found, order = reach(tree, data, "greedy" if greedy else "multi"), drawn_order(tree)
    bars = heights(ax, "_classes").reshape(len(order), 3) / CLASSES
    all_of_it = found.classes[order].sum(axis=1, keepdims=True)
    assert bars == pytest.approx(found.classes[order] / np.where(all_of_it > 0, all_of_it, 1))
    assert len(shapes(ax, "_panels")) == 7 + 7 + 3
    # An only child's bar, then a histogram of two branches, then three bars: by arity.
    bars = heights(ax, "_routers") / ROUTER
    assert len(bars) == 1 + BINS + 3
    assert bars[-3:] == pytest.approx(found.share[1:4])
    going = found.going[4, ::-1]
    assert bars[1:-3] == pytest.approx(going / going.sum())
    first, last = (tree.branch_names(0)[i] for i in (0, -1))
    assert {first, last, "all"} <= set(written(ax))
    assert_within(boxes(ax), ax.figure.bbox)


def test_a_tree_that_decides_surely_has_no_panels_of_probabilities(tree: ToyTree) -> None:
    """They would be two bars each: the shares above the nodes say all."""
    ax = plot_model_tree(tree, draw(), ax=axes())
    panels = shapes(ax, "_panels")
    assert len(panels) == 7 and {len(shapes(ax, each)) for each in ("_classes",)} == {7 * 3}
    labels = {each.get_label() for each in ax.collections}
    assert not labels & {"_coming", "_routers"}
    said = " ".join(written(ax)[::-1])
    assert "panels: classes that arrive" in said and "probability of" not in said
    assert_within(boxes(ax), ax.figure.bbox)
    tree.blur = 0.3
    soft = shapes(plot_model_tree(tree, draw(), ax=axes()), "_panels")
    assert np.ptp(panels[..., 1]) < np.ptp(soft[..., 1])  # there is less between the levels


def test_the_tree_alone_and_as_dots(tree: ToyTree) -> None:
    ax = plot_model_tree(tree, ax=axes())
    assert written(ax) == [str(v) for v in drawn_order(tree)]
    assert not len(collection(ax, "_transformers").get_offsets())
    dots = plot_model_tree(tree, draw(), ax=axes(1, 1))
    assert len(collection(dots, "_dots").get_offsets()) == 7
    cut = plot_model_tree(tree, draw(), ax=axes(), max_depth=1)
    assert [t for t in written(cut) if t.startswith("…")] == [
        f"… {leaves}\n{small_share(reach(tree, draw()).share[v])}"
        for v, leaves in ((2, "2 leaves"), (3, "1 leaf"))
    ]


def test_a_long_chain() -> None:
    tree = toy_chain(500)
    data = Samples(torch.ones(3, 2), torch.zeros(3, dtype=torch.int64))
    ax = plot_model_tree(tree, data, max_depth=500)
    assert len(collection(ax, "_dots").get_offsets()) == 1001
    deep = plot_model_tree(toy_chain(50_000), ax=axes(), max_depth=3)
    assert "… 49,998 leaves" in written(deep)


def test_numbers() -> None:
    tree = toy_tree(MANY, outputs=1, classes=False)
    data = draw()
    data = Samples(data.x, data.x[:, :1])
    ax = plot_model_tree(tree, data, ax=axes())
    assert len(shapes(ax, "_means")) == 7
    assert len(plot_partition(tree, data, ax=axes(), resolution=20).figure.axes) == 2  # a bar
    with pytest.raises(ValueError, match="expected one that predicts classes"):
        plot_leaf_classes(tree, data)
    with pytest.raises(ValueError, match="several numbers"):
        plot_partition(toy_tree(MANY, outputs=2, classes=False), data.x)


def test_side_by_side(tree: ToyTree) -> None:
    pair = plot_refinement(tree, toy_tree(MANY, seed=4), draw(), accuracies=(0.5, 0.75))
    assert [ax.get_title() for ax in pair] == [
        "before refinement: accuracy 50.0 %",
        "after refinement: accuracy 75.0 %",
    ]
    assert all(SOFT in written(ax) for ax in pair)


def test_leaf_classes(tree: ToyTree) -> None:
    data = draw()
    drawn = np.array(plot_leaf_classes(tree, data, ax=axes()).images[0].get_array())
    counts = reach(tree, data).classes[tree.topology.from_left()]
    assert drawn == pytest.approx(counts / np.bincount(data.targets))


@pytest.mark.parametrize("as_arrays", [False, True])
def test_leaf_means(as_arrays: bool) -> None:
    tree, data = toy_tree(MANY, shape=(3, 4)), draw((3, 4))
    ax = plot_leaf_means(tree, data.x.numpy() if as_arrays else data, ax=axes())
    share = reach(tree, data).share
    filled = [leaf for leaf in tree.topology.from_left() if share[leaf]]
    assert len(ax.images) == len(filled) > 1
    for leaf, image in zip(filled, ax.images, strict=True):
        visit = next(each for each in tree.visits(data.x) if each.node == leaf)
        mean = data.x.double().numpy()[visit.arriving > 0].mean(axis=0)
        assert np.array(image.get_array()) == pytest.approx(mean)


@pytest.mark.parametrize("as_arrays", [False, True])
def test_a_partition(tree: ToyTree, as_arrays: bool) -> None:
    data = draw()
    ax = plot_partition(tree, data.x.numpy() if as_arrays else data, ax=axes(), resolution=40)
    assert ax.texts
    for text in ax.texts:
        point = np.array([text.get_position()])
        leaf = next(v.node for v in tree.visits(point, "greedy") if v.branch is None)
        assert re.split("[:\n]", text.get_text())[0] == f"leaf {leaf}"


@pytest.mark.parametrize("draws", [plot_model_tree, plot_leaf_classes, plot_leaf_means])
def test_what_is_no_model_tree(draws: Any) -> None:
    for wrong in (TreeLSTMClassifier(), Tree("x"), None):
        with pytest.raises(TypeError, match=rf"got {type(wrong).__name__} \(plot_tree draws"):
            draws(wrong, draw())
