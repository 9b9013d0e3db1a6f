"""What is drawn and told of an estimator: in the user's own units, with the user's own names."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pictures import axes, written
from small_estimators import classifier, regressor

from structnet import NeuralTreeClassifier
from structnet.neural_tree import NeuralTree, presets
from structnet.plot import plot_leaf_classes, plot_model_tree, plot_partition
from structnet.routing import Samples, read


def test_an_estimator_is_drawn_as_its_tree_is(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    ours, names = fitted.plot(*blobs, ax=axes()), ["a", "b", "c"]
    theirs = plot_model_tree(fitted.tree_, fitted.samples(*blobs), class_names=names, ax=axes())
    assert written(ours) == written(theirs) == written(plot_model_tree(fitted, *blobs, ax=axes()))
    assert len(written(fitted.plot(ax=axes()))) == fitted.tree_.topology.num_nodes
    leaves = plot_leaf_classes(fitted, *blobs, ax=axes())
    assert [label.get_text() for label in leaves.get_xticklabels()] == names


def test_numbers_are_told_in_their_units(lines: tuple) -> None:
    X, y = lines
    model = regressor(max_depth=0).fit(X, y[:, :1])
    found = read(model, X, y[:, :1])
    np.testing.assert_allclose(found.samples.targets, y[:, :1])
    np.testing.assert_allclose(found.units(found.samples.x.double().numpy()), X, rtol=1e-5)
    assert f"mean {y[:, 0].mean():.5g}" in model.export_text(X, y[:, :1])
    ax = plot_partition(model, X, y[:, :1], ax=axes(), resolution=10)
    points = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(points, X, rtol=1e-5)
    low, high = ax.get_xlim()
    assert low < X[:, 0].min() < X[:, 0].max() < high


def test_inputs_need_no_targets(lines: tuple) -> None:
    X, y = lines
    model = regressor(max_depth=0).fit(X, y[:, 0])
    ax = plot_partition(model, X, ax=axes(), resolution=10, feature_names=("long", "wide"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("long", "wide")


def test_a_reading_is_drawn_as_what_it_was_read_from(fitted: object, blobs: tuple) -> None:
    told = read(fitted, *blobs, feature_names=["x", "y", "z"])
    again = read(told)
    assert again.tree is told.tree and again.samples is told.samples
    assert again.class_names == told.class_names and again.feature_names == ["x", "y", "z"]
    fewer = told.samples[slice(3)]
    assert read(told, fewer).samples is fewer
    ours = plot_model_tree(told, ax=axes())
    assert written(ours) == written(fitted.plot(*blobs, ax=axes(), feature_names=["x", "y", "z"]))


def test_routers_of_the_inputs_say_what_goes_left(blobs: tuple) -> None:
    model = classifier().set_params(primitives="table").fit(*blobs)
    assert model.get_n_leaves() == 1  # three clusters are parted by lines
    model.tree_.split(0)
    model.tree_.nodes[0].router.weight.data = torch.tensor([[3.0, -2.0, 0.1]])
    assert "left: high feature 0, low feature 1" in model.export_text(*blobs)
    own = model.plot(*blobs, ax=axes(), feature_names=["x", "y", "z"])
    assert any(text.startswith("left: high x, low y\n") for text in written(own))
    model.feature_names_in_ = np.array(["width", "height", "depth"])  # as of a data frame
    assert "(left: high width, low height)" in model.export_text()


def test_a_router_behind_a_transformer_is_silent() -> None:
    tree = NeuralTree(presets.mlp(2), (3,))
    tree.split(0)
    assert tree.plane(0) is None
    samples = Samples(torch.rand(5, 3), torch.arange(5) % 2)
    assert not any("left: " in text for text in written(plot_model_tree(tree, samples, ax=axes())))


def test_one_leaf_says_so() -> None:
    tree, samples = NeuralTree(presets.mlp(2), (3,)), Samples(torch.rand(5, 3), torch.arange(5) % 2)
    ax = plot_model_tree(tree, samples, ax=axes())
    assert "one leaf: this tree asks nothing; panel: its classes" in written(ax)
    assert not any(text.startswith("shares: ") for text in written(ax))


def test_targets_of_a_tree_are_in_its_samples() -> None:
    tree = NeuralTree(presets.mlp(2), (3,))
    with pytest.raises(ValueError, match="expected y for an estimator alone"):
        plot_model_tree(tree, Samples(torch.rand(2, 3), torch.arange(2)), ["no", "yes"])


def test_columns_may_be_named_where_a_model_is_told(blobs: tuple) -> None:
    fitted = classifier().set_params(primitives="table").fit(*blobs)
    names, row = ["length", "width", "height"], blobs[0][0]
    text = fitted.export_text(feature_names=names), str(fitted.explain(row, feature_names=names))
    assert all("width" in said and "feature 1" not in said for said in text)
    for wrong in (names[:1], [*names, "weight"]):
        message = f"there are {len(wrong)} feature_names for 3 columns; expected one each"
        for tell in (
            lambda wrong=wrong: fitted.export_text(feature_names=wrong),
            lambda wrong=wrong: fitted.explain(row, feature_names=wrong),
            lambda wrong=wrong: fitted.plot(*blobs, feature_names=wrong),
            lambda wrong=wrong: fitted.tree_ and read(fitted.tree_, feature_names=wrong),
        ):
            with pytest.raises(ValueError, match=message):
                tell()
