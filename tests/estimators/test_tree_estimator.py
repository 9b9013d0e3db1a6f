"""What every estimator of model trees is asked: leaves, paths, explanations, samples."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from small_estimators import regressor

from structnet import to_networkx
from structnet.estimators.tree_estimator import TreeClassifierMixin, path_matrix
from structnet.neural_tree.estimator import NeuralTreeClassifier, NeuralTreeRegressor
from structnet.plot import plot_growth, plot_model_tree
from structnet.routing import export_text, summary
from structnet.routing.topology import Topology
from structnet.softmax_tree import SoftmaxTreeClassifier


def members(model: Any) -> list[Any]:
    """Estimators of one member each."""
    apart = [copy.copy(model) for _ in model.members_]
    for one, member in zip(apart, model.members_, strict=True):
        one.members_ = [member]
    return apart


# ---- leaves and paths


def test_leaves_and_paths(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, _ = blobs
    leaves, paths = fitted.apply(X), fitted.decision_path(X)
    topology = fitted.tree_.topology
    assert fitted.get_n_leaves() == len(topology.leaves) > 1
    assert fitted.get_depth() == topology.depth.max()
    assert paths.shape == (120, topology.num_nodes)
    for row, leaf in zip(paths, leaves, strict=True):
        assert row.indices.tolist() == topology.path(leaf)
        assert row.data.tolist() == [1] * len(row.indices)


# ---- samples


@pytest.mark.parametrize("weights", [None, np.arange(120) % 3 * 1.5])
def test_samples_as_the_tree_takes_them(
    weights: np.ndarray | None, fitted: NeuralTreeClassifier, blobs: tuple
) -> None:
    X, y = blobs
    kept = slice(None) if weights is None else weights > 0
    samples = fitted.samples(X, y, weights)
    assert samples.targets.tolist() == np.searchsorted(fitted.classes_, y[kept]).tolist()
    with torch.no_grad():
        found = fitted.tree_.output(samples.x).exp().numpy()
    np.testing.assert_allclose(found, fitted.predict_proba(X[kept]), atol=1e-4)
    if weights is None:
        assert samples.weights is None
    else:
        np.testing.assert_allclose(samples.weights, weights[kept] / weights[kept].mean())


def test_numbers_as_the_tree_takes_them(lines: tuple) -> None:
    X, y = lines
    model = regressor(max_depth=0).fit(X, y)
    samples = model.samples(X, y)
    standardized = (y - model.members_[0].targets.mean) / model.members_[0].targets.sd
    np.testing.assert_allclose(samples.targets, standardized, atol=1e-5)
    with pytest.raises(ValueError, match=r"targets of shape \[150, 1\]; expected \[150, 2\]"):
        model.samples(X, y[:, :1])


def test_a_drawing_of_the_tree_shows_where_samples_go(
    fitted: NeuralTreeClassifier, blobs: tuple
) -> None:
    samples, leaves = fitted.samples(*blobs), fitted.apply(blobs[0])
    ax = plot_model_tree(fitted.tree_, samples, ax=Figure().add_subplot(), greedy=True)
    labels = [text.get_text() for text in ax.texts]
    for leaf, count in zip(*np.unique(leaves, return_counts=True), strict=True):
        assert labels[labels.index(f"node {leaf}") + 1] == f"{count / 1.2:.0f} %"


# ---- explanations


@pytest.mark.parametrize("number", [0, 50, 119])
def test_an_explanation_of_a_class(number: int, fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, _ = blobs
    one = X[number : number + 1]
    found = fitted.explain(X[number])
    assert found.leaf == fitted.apply(one)[0]
    passed = [choice.node for choice in found.choices] + [found.leaf]
    assert passed == fitted.decision_path(one)[0].indices.tolist()
    assert found.class_names == ("a", "b", "c")
    np.testing.assert_allclose(found.mixture, fitted.predict_proba(one)[0])
    greedy = copy.copy(fitted).set_params(path="greedy")
    np.testing.assert_allclose(found.prediction, greedy.predict_proba(one)[0])
    assert f"of all leaves: class {fitted.predict(one)[0]}, " in str(found)
    for same in (one, X[number].tolist(), torch.tensor(X[number], requires_grad=True)):
        assert fitted.explain(same) == found


@pytest.mark.parametrize("columns", [(), (2,)])
@pytest.mark.parametrize("standardize", [True, False])
def test_an_explanation_of_numbers_is_in_their_units(
    standardize: bool, columns: tuple, lines: tuple
) -> None:
    X, y = lines
    y = y if columns else y[:, 0]
    model = regressor(standardize=standardize).fit(X, y)
    found = model.explain(X[3])
    assert found.class_names is None
    np.testing.assert_allclose(found.mixture, model.predict(X[3:4]).ravel())
    greedy = model.set_params(path="greedy").predict(X[3:4]).ravel()
    np.testing.assert_allclose(found.prediction, greedy)
    if standardize:
        assert 9e3 < found.mixture[0] < 11e3


def test_the_first_member_explains(pair: NeuralTreeClassifier, blobs: tuple) -> None:
    X, _ = blobs
    told = pair.explain(X[0])
    assert replace(told, whole=None, whole_of="") == members(pair)[0].explain(X[0])


@pytest.mark.parametrize("family", [NeuralTreeClassifier, SoftmaxTreeClassifier])
def test_an_explanation_ends_with_what_all_trees_predict(family: type) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(380, 4))
    y = (X[:, 0] * X[:, 1] > 0) * 1 + (X[:, 2] > 0.5)
    quick = {"epochs": 20, "refine_epochs": 2} if family is NeuralTreeClassifier else {}
    model = family(n_members=3, random_state=0, **quick).fit(X[:300], y[:300])
    predicted, contrary = model.predict(X[300:]), 0
    for row, k in zip(X[300:], predicted, strict=True):
        told = model.explain(row)
        np.testing.assert_allclose(told.whole, model.predict_proba([row])[0])
        assert f"\nof all 3 trees: class {k}, " in str(told)
        contrary += int(np.argmax(told.mixture)) != k
    assert contrary


def test_an_explanation_of_numbers_ends_with_those_of_all_trees() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.c_[np.sin(3 * X[:, 0]), X[:, 1]]
    model = NeuralTreeRegressor(n_members=2, epochs=5, refine_epochs=1, random_state=0).fit(X, y)
    for given in (X[3], X[3:4], X[3].tolist()):
        told = model.explain(given)
        assert told.whole == pytest.approx(model.predict(X[3:4])[0])
        assert told.whole_of == "all 2 trees"


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, 2.0], r"x must be one sample, \[3\] or \[1, 3\]\. Got shape \[2\]\."),
        (np.zeros((2, 3)), r"x must be one sample, .* Got shape \[2, 3\]\."),
        (7.0, r"x must be one sample, .* Got shape \[\]\."),
        ([1.0, np.nan, 2.0], "X contains NaN: 1 value, in row 0, column 1 "),
    ],
)
def test_what_cannot_be_explained(x: Any, message: str, fitted: NeuralTreeClassifier) -> None:
    with pytest.raises(ValueError, match=message):
        fitted.explain(x)
    with pytest.raises(NotFittedError):
        clone(fitted).explain(x)


def test_a_path_matrix_of_no_samples() -> None:
    topology = Topology([(1, 2), (), ()])
    assert path_matrix(topology, np.array([2]))[:0].shape == (0, 3)
    assert path_matrix(topology, np.array([0, 2, 0])).toarray().tolist() == [
        [1, 0, 0],
        [1, 0, 1],
        [1, 0, 0],
    ]


# ---- several trees


def test_members_differ_and_their_probabilities_are_averaged(
    pair: NeuralTreeClassifier, blobs: tuple
) -> None:
    X, _ = blobs
    parts = [member.predict_proba(X) for member in members(pair)]
    assert not np.allclose(*parts)
    assert not np.allclose(*(member.inputs.mean for member in pair.members_))  # other samples
    np.testing.assert_allclose(pair.predict_proba(X), np.mean(parts, axis=0))


def test_leaves_and_paths_of_members(pair: NeuralTreeClassifier, blobs: tuple) -> None:
    X, _ = blobs
    first, second = (member.tree.topology for member in pair.members_)
    assert first.num_nodes > 1 < second.num_nodes
    leaves, paths = pair.apply(X), pair.decision_path(X)
    assert leaves.shape == (120, 2)
    assert paths.shape == (120, first.num_nodes + second.num_nodes)
    expected = [
        path_matrix(t, ends).toarray() for t, ends in zip((first, second), leaves.T, strict=True)
    ]
    np.testing.assert_array_equal(paths.toarray(), np.concatenate(expected, axis=1))
    assert pair.get_n_leaves() == len(first.leaves) + len(second.leaves)


def test_means_of_members_are_averaged(lines: tuple) -> None:
    X, y = lines
    model = regressor(n_members=3, max_depth=0).fit(X, y)
    parts = [member.set_params(batch_size=9).predict(X) for member in members(model)]
    np.testing.assert_allclose(model.predict(X), np.mean(parts, axis=0))


# ---- in words and graphs


def test_text_says_where_samples_go(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    tree, samples = fitted.tree_, fitted.samples(*blobs)
    # The samples of `fit` are counted, of which the tree alone knows nothing.
    lines = zip(fitted.export_text().splitlines(), export_text(tree).splitlines(), strict=True)
    assert all(told.startswith(f"{bare}, ") for told, bare in lines)
    assert fitted.export_text(*blobs) == export_text(tree, samples, class_names=["a", "b", "c"])
    X, y = blobs
    ends = fitted.apply(X)
    assert len(np.unique(ends)) > 1
    for leaf in np.unique(ends):
        classes, counts = np.unique(y[ends == leaf], return_counts=True)
        share, most = 100 * counts.sum() / len(y), 100 * counts.max() / counts.sum()
        told = f"{share:.1f} % of samples, {most:.1f} % of them class {classes[counts.argmax()]}"
        assert told in fitted.export_text(X, y)


def test_text_has_numbers_in_their_units(lines: tuple) -> None:
    X, y = lines
    model = regressor(max_leaves=1).fit(X, y)
    root = model.export_text(X, y).splitlines()[0]
    assert root.endswith(", mean {:.5g}, {:.4g}".format(*y.mean(0)))


def test_a_summary_counts_visits(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    assert fitted.summary() == summary(fitted.tree_)
    assert repr(fitted.summary()) == str(fitted.summary())  # what a notebook shows
    visits = [row.visits for row in fitted.summary(blobs[0]).rows]
    assert visits == fitted.decision_path(blobs[0]).toarray().sum(0).tolist()


def test_a_graph_of_the_tree(fitted: NeuralTreeClassifier) -> None:
    digraph = fitted.to_networkx()
    assert nx.is_arborescence(digraph)
    leaves = [v for v, kind in digraph.nodes(data="kind") if kind == "solver"]
    assert leaves == fitted.tree_.topology.leaves.tolist()
    assert nx.utils.graphs_equal(to_networkx(fitted), digraph)
    with pytest.raises(NotFittedError):
        to_networkx(clone(fitted))


def test_an_estimator_s_growth_is_drawn(fitted: NeuralTreeClassifier) -> None:
    ours, theirs = (
        plot_growth(*given, ax=Figure().add_subplot())
        for given in ((fitted,), (fitted.history_, fitted.trained_.decisions))
    )
    assert len(ours) == len(theirs) == 2  # with an axis for the leaves
    for one, other in zip(ours, theirs, strict=True):
        assert len(one.lines) == len(other.lines)
        for line, same in zip(one.lines, other.lines, strict=True):
            np.testing.assert_array_equal(line.get_xydata(), same.get_xydata())
    with pytest.raises(TypeError, match="a fitted estimator with a history_; got int"):
        plot_growth(3)


class Rounded(TreeClassifierMixin):
    """A classifier that is a little more than certain, as rounding may leave it."""

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        return np.array([[[2e-16, -40.0]] * len(X)] * 2)


def test_no_probability_is_above_1() -> None:
    model, rows = Rounded(), np.zeros((3, 1))
    assert log_loss([0, 0, 0], model.predict_proba(rows), labels=[0, 1]) < 1e-15
    assert (model.predict_log_proba(rows)[:, 0] == 0).all()
