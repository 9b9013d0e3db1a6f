"""Neural trees as scikit-learn estimators, and what structnet.estimators.checked does for them."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from structnet.estimators.checked import Standardizer, mean_one, path_matrix, seed_from, split
from structnet.neural_tree import Growth, Limits, Primitives, presets, refine
from structnet.neural_tree.estimator import NeuralTreeClassifier, NeuralTreeRegressor
from structnet.plot import plot_neural_tree
from structnet.routing.topology import Topology
from structnet.training.checkpoint import CheckpointError
from structnet.training.history import History
from structnet.training.loop import Loop

SMALL = {
    "epochs": 5,
    "refine_epochs": 2,
    "max_leaves": 3,
    "max_transformers": 1,
    "warm_start_solvers": True,
    "batch_size": 32,
    "learning_rate": 0.05,
    "random_state": 0,
}
NARROW = partial(presets.mlp, width=6)
classifier = partial(NeuralTreeClassifier, NARROW, **SMALL)
regressor = partial(NeuralTreeRegressor, NARROW, **SMALL)


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Three clusters of points with three columns, and their names."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 40)
    return rng.normal(size=(120, 3)) + 6 * np.eye(3)[codes], np.array(["b", "a", "c"])[codes]


@pytest.fixture(scope="module")
def lines() -> tuple[np.ndarray, np.ndarray]:
    """Two columns, and two numbers that depend on them, of other sizes."""
    X = np.random.default_rng(0).normal(size=(150, 2))
    return X, np.stack([1e4 + 300 * X[:, 0], 0.01 * np.abs(X[:, 1] + 0.8)], axis=1)


@pytest.fixture(scope="module")
def fitted(blobs: tuple) -> NeuralTreeClassifier:
    return classifier().fit(*blobs)


@pytest.fixture(scope="module")
def pair(blobs: tuple) -> NeuralTreeClassifier:
    return classifier(n_members=2).fit(*blobs)


def weights_of(estimator: Any) -> torch.Tensor:
    trees = [member.tree for member in estimator.members_]
    return torch.cat([p.detach().flatten() for tree in trees for p in tree.parameters()])


# ---- prediction


def test_labels_come_back_as_they_were(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, y = blobs
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    assert fitted.score(X, y) > 0.95
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(proba.sum(1), 1)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), proba)
    np.testing.assert_array_equal(fitted.classes_[proba.argmax(1)], fitted.predict(X))


@pytest.mark.parametrize("columns", [(), (1,), (2,)])
@pytest.mark.parametrize("loss", ["squared_error", "gaussian"])
def test_predictions_have_the_shape_and_the_units_of_the_targets(
    columns: tuple, loss: str, lines: tuple
) -> None:
    X, y = lines
    y = y[:, : columns[0]] if columns else y[:, 0]
    model = regressor(loss=loss).set_params(epochs=40).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert model.score(X, y) > 0.7
    assert model.tree_.num_outputs == y.reshape(150, -1).shape[1] * (1 + (loss == "gaussian"))


def test_the_unit_of_the_targets_does_not_matter(lines: tuple) -> None:
    X, y = lines
    first, second = (regressor().fit(X, y[:, 0] * unit).predict(X) for unit in (1, 1024))
    np.testing.assert_array_equal(first * 1024, second)


def test_targets_that_are_not_standardized_stay_as_they_are(lines: tuple) -> None:
    X, y = lines
    model = regressor(standardize=False).fit(X, y[:, 1])
    (member,) = model.members_
    assert member.inputs is member.targets is None
    with torch.no_grad():
        own = model.tree_.double().output(torch.from_numpy(X))
    np.testing.assert_allclose(model.predict(X), own[:, 0].numpy())


@pytest.mark.parametrize("path", ["greedy", "stochastic", "most_likely", "least_likely"])
def test_another_path(path: str, fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, _ = blobs
    model = copy.copy(fitted).set_params(path=path)
    again = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), again)
    tree = copy.deepcopy(model.tree_).double()
    x = torch.from_numpy(model.members_[0].inputs(X))
    with torch.no_grad():
        if path == "stochastic":  # each sample's prediction is that of one of the leaves
            of_leaves = tree(x).outputs.softmax(-1).numpy()
            assert np.abs(of_leaves - again[:, None]).max(2).min(1).max() < 1e-9
        else:
            np.testing.assert_allclose(again, tree.output(x, path).exp().numpy())


def test_single_precision_is_close(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, _ = blobs
    single, double = (fitted.predict_proba(X.astype(dtype)) for dtype in ("f4", "f8"))
    np.testing.assert_allclose(single, double, atol=1e-4)


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
    standardized = (y - model.members_[0].targets.mean) / model.members_[0].targets.scale
    np.testing.assert_allclose(samples.targets, standardized, atol=1e-5)
    with pytest.raises(ValueError, match=r"targets of shape \[150, 1\]; expected \[150, 2\]"):
        model.samples(X, y[:, :1])


def test_a_drawing_of_the_tree_shows_where_samples_go(
    fitted: NeuralTreeClassifier, blobs: tuple
) -> None:
    samples, leaves = fitted.samples(*blobs), fitted.apply(blobs[0])
    ax = plot_neural_tree(fitted.tree_, samples, ax=Figure().add_subplot(), greedy=True)
    labels = [text.get_text() for text in ax.texts]
    for leaf, count in zip(*np.unique(leaves, return_counts=True), strict=True):
        assert labels[labels.index(f"node {leaf}") + 1] == f"{count / 1.2:.0f} %"


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
    first = copy.copy(pair)
    first.members_ = pair.members_[:1]
    assert pair.explain(X[0]) == first.explain(X[0])


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


# ---- ensembles


def test_members_differ_and_their_probabilities_are_averaged(
    pair: NeuralTreeClassifier, blobs: tuple
) -> None:
    X, _ = blobs
    parts = []
    for member in pair.members_:
        one = copy.copy(pair)
        one.members_ = [member]
        parts.append(one.predict_proba(X))
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
    parts = [
        member.output(X, "multi", None, batch_size=9, device="cpu") for member in model.members_
    ]
    np.testing.assert_allclose(model.predict(X), np.mean(parts, axis=0))


# ---- seeds, weights, the split


def test_the_same_seed_gives_the_same_model_and_leaves_global_generators_alone(
    blobs: tuple, fitted: NeuralTreeClassifier
) -> None:
    state, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()
    again = clone(fitted).fit(*blobs)
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(np.random.get_state()[1], numbers)
    assert torch.equal(weights_of(again), weights_of(fitted))
    other = clone(fitted).set_params(random_state=1).fit(*blobs)
    assert not torch.equal(weights_of(other)[:50], weights_of(fitted)[:50])


def test_random_states() -> None:
    assert seed_from(5) == seed_from(np.random.RandomState(5)) != seed_from(6)
    assert seed_from(None) != seed_from(None)


def test_a_weight_of_0_leaves_a_sample_out(blobs: tuple) -> None:
    X, y = blobs
    kept = np.arange(120) % 3 > 0
    weighted = classifier().fit(X, y, sample_weight=kept)
    without = classifier().fit(X[kept], y[kept], sample_weight=np.full(80, 2.5))
    assert torch.equal(weights_of(weighted), weights_of(without))


@pytest.mark.parametrize("model", [classifier, regressor])
def test_weights_say_who_is_right(model: partial) -> None:
    X, y = np.zeros((200, 1)), np.arange(200) % 2
    heavy = model(max_depth=0, transformers=False, standardize=False).set_params(epochs=60)
    heavy.fit(X, y, sample_weight=np.where(y == 1, 9, 1))
    found = heavy.predict_proba(X[:1])[0, 1] if model is classifier else heavy.predict(X[:1])[0]
    assert found == pytest.approx(0.9, abs=0.03)


def test_standardization_sees_the_samples_to_learn_from_alone(lines: tuple) -> None:
    X, y = lines
    model = regressor(max_depth=0).fit(X, y, validation=(X[:9] + 1e3, y[:9] - 1e3))
    np.testing.assert_allclose(model.members_[0].inputs.mean, X.mean(0))
    np.testing.assert_allclose(model.members_[0].targets.scale, y.std(0))
    own = regressor(max_depth=0, validation_fraction=0.5).fit(X, y)
    assert not np.allclose(own.members_[0].inputs.mean, X.mean(0))


def test_the_users_validation_set_decides(blobs: tuple) -> None:
    X, y = blobs
    swapped = np.array(["b", "c", "a"])[np.searchsorted(["a", "b", "c"], y)]
    honest, misled = (
        classifier(max_depth=0).fit(X, y, validation=(X, labels, np.ones(120)))
        for labels in (y, swapped)
    )
    losses = [model.growth_.decisions[0].loss for model in (honest, misled)]
    assert losses[0] < 0.5 < losses[1]
    root = [r["validation_loss"] for r in misled.history_ if r["phase"] == "root"]
    assert min(root) > losses[1]  # it gets worse by learning


def test_weights_count_in_standardizing() -> None:
    values = np.array([[0.0], [4.0]])
    scale = Standardizer.fitted(values, weights=np.array([3.0, 1.0]))
    np.testing.assert_allclose([scale.mean, scale.scale], [[1], [np.sqrt(3)]])


def test_images_are_standardized_by_channel() -> None:
    images = np.random.default_rng(0).normal([[[2.0]], [[-7.0]]], [[[1.0]], [[5.0]]], (50, 2, 6, 6))
    found = Standardizer.fitted(images)(images)
    np.testing.assert_allclose(found.mean((0, 2, 3)), 0, atol=1e-12)
    np.testing.assert_allclose(found.std((0, 2, 3)), 1)
    np.testing.assert_allclose(Standardizer.fitted(images).inverse(found), images)


def test_a_constant_column_becomes_0() -> None:
    values = np.array([[0.1, 0.0, 1e9]] * 7, dtype=np.float32)
    np.testing.assert_array_equal(Standardizer.fitted(values)(values), np.zeros((7, 3)))
    values = np.array([[0.1, -1e300, 5e-324]] * 7)
    np.testing.assert_array_equal(Standardizer.fitted(values)(values), np.zeros((7, 3)))


@pytest.mark.parametrize("unit", [2.0**1000, 2.0**-900])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 3.0, 2.0, 5.0])])
def test_numbers_of_any_size_are_standardized(unit: float, weights: np.ndarray | None) -> None:
    values = np.random.default_rng(0).normal(3, 2, (4, 2, 5, 5))
    plain = Standardizer.fitted(values, weights)
    found = Standardizer.fitted(values * unit, None if weights is None else weights * unit)
    np.testing.assert_array_equal(found.mean / unit, plain.mean)
    np.testing.assert_array_equal(found.scale / unit, plain.scale)
    np.testing.assert_array_equal(found(values * unit), plain(values))


def test_targets_too_large_for_the_precision_of_the_inputs(lines: tuple) -> None:
    X, y = lines
    model = regressor(max_depth=0).set_params(epochs=40).fit(X, y[:, 0] * 1e200)
    double, single = (model.predict(X.astype(dtype)) for dtype in ("f8", "f4"))
    assert np.corrcoef(double / 1e200, y[:, 0])[0, 1] > 0.9
    np.testing.assert_allclose(single, double, rtol=1e-4)


def test_huge_weights_have_a_mean_of_1() -> None:
    found = mean_one(np.array([1e308, 1e308, 1e307]))
    np.testing.assert_allclose(found, mean_one(np.array([10.0, 10.0, 1.0])))


@given(st.lists(st.integers(1, 30), min_size=2, max_size=6), st.floats(0.05, 0.6), st.integers(0))
def test_a_split_keeps_the_shares(sizes: list[int], fraction: float, seed: int) -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    count = min(max(round(fraction * len(labels)), 1), len(labels) - 1)
    if len(labels) - count < len(sizes):
        with pytest.raises(ValueError, match="expected at least one of each class"):
            split(len(labels), fraction, seed, labels)
        return
    train, validation = split(len(labels), fraction, seed, labels)
    np.testing.assert_array_equal(np.sort([*train, *validation]), np.arange(len(labels)))
    assert len(validation) == count
    assert set(labels[train]) == set(labels)
    if min(sizes) * (1 - fraction) > 2:
        taken = np.bincount(labels[validation], minlength=len(sizes))
        assert np.abs(taken - np.array(sizes) * count / len(labels)).max() <= 1.5


def test_splits_by_seed() -> None:
    (_, first), (_, same), (_, other) = (split(50, 0.2, seed) for seed in (0, 0, 1))
    assert first.tolist() == same.tolist() != other.tolist()
    labels = np.arange(50) % 2
    (_, first), (_, other) = (split(50, 0.2, seed, labels) for seed in (0, 1))
    assert first.tolist() != other.tolist()


# ---- what it is made of


@pytest.mark.parametrize(
    "chosen", ["sarcos", presets.mlp, presets.mlp(3, width=4)], ids=["name", "function", "object"]
)
def test_ways_to_say_what_a_tree_is_made_of(chosen: Any, blobs: tuple) -> None:
    model = NeuralTreeClassifier(chosen, **SMALL, max_depth=0).fit(*blobs)
    width = 4 if isinstance(chosen, Primitives) else 128
    assert model.tree_.nodes[0].transformers[0][0].out_features == width
    assert model.get_params()["primitives"] is chosen


def test_trees_without_routers_or_transformers(blobs: tuple) -> None:
    chain = classifier(routers=False).fit(*blobs)
    assert chain.get_n_leaves() == 1
    plain = classifier(transformers=False).fit(*blobs)
    assert plain.get_n_leaves() > 1
    assert not any(len(node.transformers) for node in plain.tree_.nodes)


def test_images_get_convolutions() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 1, 8, 8)).astype(np.float32)
    X[y == 1, :, 2:5, 2:5] += 2
    model = NeuralTreeClassifier(**SMALL, max_depth=1).fit(X, y)
    assert any(isinstance(module, nn.Conv2d) for module in model.tree_.modules())
    assert model.score(X, y) > 0.9
    assert (model.n_features_in_, model.sample_shape_) == (1, (1, 8, 8))
    for wrong in (X[:, :, :7], X.reshape(60, 64), X.reshape(60, 8, 8), np.repeat(X, 2, axis=1)):
        shape = str(list(wrong.shape[1:]))
        with pytest.raises(ValueError) as raised:
            model.predict(wrong)
        assert shape in str(raised.value) and "[1, 8, 8]" in str(raised.value)
    np.testing.assert_array_equal(model.predict(X.tolist()), model.predict(X))
    assert model.explain(X[5]) == model.explain(X[5:6])
    assert model.explain(X[5]).leaf == model.apply(X[5:6])[0]
    X[7, 0, 3, 4] = np.inf
    with pytest.raises(ValueError, match="infinity: 1 value, in sample 7, channel 0, row 3, colu"):
        model.predict(X)


def test_pruning_leaves_no_branch_with_few_samples(blobs: tuple) -> None:
    X, y = blobs
    whole, pruned = (classifier(prune=share, path="greedy").fit(X, y) for share in (None, 0.9))
    assert pruned.get_n_leaves() == 1 < whole.get_n_leaves()


def test_records_of_the_training(fitted: NeuralTreeClassifier) -> None:
    phases = list(dict.fromkeys(fitted.history_["phase"]))
    assert phases == ["root", "split", "deepen", "refine"] or phases == ["root", "split", "refine"]
    assert fitted.history_["phase"].count("refine") == 2
    growth = fitted.growth_
    assert len(growth.history) == len(fitted.history_) - 2
    assert growth.decisions[0].action == "root"
    assert growth.decisions[-1].leaves == fitted.get_n_leaves()


def test_every_parameter_reaches_the_training(
    blobs: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown, refined = {}, {}

    class Spy(Growth):
        def __init__(self, *samples: Any, **options: Any):
            grown.update(options)
            super().__init__(*samples, **options)

    def spy(*samples: Any, **options: Any) -> History:
        refined.update(options)
        return refine(*samples, **options)

    monkeypatch.setattr("structnet.neural_tree.training.Growth", Spy)
    monkeypatch.setattr("structnet.neural_tree.training.refine", spy)
    limits = {
        "max_depth": 1,
        "max_leaves": 2,
        "max_parameters": 3000,
        "max_transformers": 4,
        "min_gain": 0.5,
    }
    model = NeuralTreeClassifier(NARROW, **limits, epochs=6, patience=7, refine_epochs=8)
    model.set_params(batch_size=9, learning_rate=0.01, warm_start_solvers=True).fit(*blobs)
    assert grown["limits"] == Limits(**limits)
    assert (grown["epochs"], grown["patience"], grown["warm_start"]) == (6, 7, True)
    assert refined["epochs"] == 8
    for options in (grown, refined):
        assert (options["batch_size"], options["optimizer"].keywords) == (9, {"lr": 0.01})
        assert (options["device"], options["progress"]) == ("cpu", False)


@pytest.mark.parametrize("weights", [None, np.arange(120) % 3 + 1.0])
def test_a_classifier_keeps_its_most_accurate_epoch(
    weights: np.ndarray | None, blobs: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs
    y = np.where(np.arange(120) % 4, y, "a")  # not to be learnt by heart
    model = classifier(max_depth=0, transformers=False).set_params(epochs=1, learning_rate=0.5)
    model.set_params(refine_epochs=9).fit(X, y, weights, validation=(X, y, weights))
    records = [record for record in model.history_ if record["phase"] == "refine"]
    scores = [record["validation_accuracy"] for record in records]
    losses = [record["validation_loss"] for record in records]
    assert np.argmax(scores) != np.argmin(losses)
    assert model.score(X, y, weights) == pytest.approx(max(scores))


def test_a_regressor_keeps_the_epoch_of_its_lowest_loss(lines: tuple) -> None:
    model = regressor(max_depth=0).fit(*lines)
    assert "validation_accuracy" not in model.history_[-1]


def test_no_refinement(blobs: tuple) -> None:
    model = classifier(max_depth=0).set_params(refine_epochs=0).fit(*blobs)
    assert set(model.history_["phase"]) <= {"root", "deepen"}


# ---- among scikit-learn's own


def test_copies_predict_the_same(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, _ = blobs
    expected = fitted.predict_proba(X)
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.predict_proba(X), expected)
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)
    assert not hasattr(clone(fitted), "tree_")


def test_the_data_are_forgotten() -> None:
    X = np.random.default_rng(0).normal(size=(2000, 60))
    model = classifier(max_depth=0).set_params(epochs=1).fit(X, X[:, 0] > 0)
    assert len(pickle.dumps(model)) < X.size / 4  # not even one byte a number


def test_both_have_the_same_parameters_and_defaults() -> None:
    one, other = NeuralTreeClassifier().get_params(), NeuralTreeRegressor().get_params()
    assert other == one | {"loss": "squared_error"}
    changed = {name: object() for name in other}
    assert NeuralTreeRegressor(**changed).get_params(deep=False) == changed


def test_in_pipelines_and_searches(blobs: tuple) -> None:
    X, y = blobs
    model = classifier(max_depth=0).set_params(refine_epochs=0)
    steps = make_pipeline(StandardScaler(), model)
    assert cross_val_score(steps, X, y, cv=2).mean() > 0.9
    search = GridSearchCV(steps, {"neuraltreeclassifier__learning_rate": [1e-9, 0.1]}, cv=2)
    assert search.fit(X, y).best_params_ == {"neuraltreeclassifier__learning_rate": 0.1}


# ---- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epochs": 0}, r"'epochs' .* int in the range \[1, inf\)\. Got 0"),
        ({"max_leaves": 2.5}, r"'max_leaves' .* \[1, inf\) or None\. Got 2.5"),
        ({"n_members": True}, r"'n_members' .* Got True"),
        ({"learning_rate": -1}, r"'learning_rate' .* \(0, inf\)\. Got -1"),
        ({"validation_fraction": 0}, r"'validation_fraction' .* \(0, 1\)\. Got 0"),
        ({"prune": 2}, r"'prune' .* \[0, 1\] or None\. Got 2"),
        ({"min_gain": float("nan")}, r"'min_gain' .* Got nan"),
        ({"path": "up"}, r"'path' .* one of \['multi', .* Got 'up'"),
        ({"primitives": "vgg"}, r"'primitives' .* one of \['mlp', .* Got 'vgg'"),
        ({"primitives": presets.mlp(4)}, "gives 4 outputs; expected 3"),
        ({"device": "abacus"}, r"'device' .* Got 'abacus'"),
        ({"routers": "no"}, r"'routers' .* True or False\. Got 'no'"),
        ({"standardize": 1}, r"'standardize' .* True or False\. Got 1 "),
        ({"routers": False, "transformers": False}, "together leave nothing to grow"),
        ({"folder": "runs", "random_state": None}, r"'random_state' .* an int .* Got None"),
    ],
)
def test_bad_parameters(parameters: dict, message: str, blobs: tuple) -> None:
    with pytest.raises(ValueError, match=message):
        classifier().set_params(**parameters).fit(*blobs)


def test_a_device_that_is_not_here(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    model = copy.copy(fitted).set_params(device="abacus")
    for ask in (model.predict, model.apply):
        with pytest.raises(ValueError, match=r"^The 'device' parameter .* Got 'abacus' \(.*\)\.$"):
            ask(blobs[0])


def test_bad_primitives_and_losses(blobs: tuple, lines: tuple) -> None:
    for wrong in (3, lambda outputs: nn.Linear(1, outputs)):
        with pytest.raises(TypeError, match=r"'primitives' .* Got (int|Linear)"):
            classifier().set_params(primitives=wrong).fit(*blobs)
    with pytest.raises(ValueError, match=r"'loss' .* \['squared_error', 'gaussian'\]. Got 'l1'"):
        regressor(loss="l1").fit(*lines)


X4 = np.arange(12.0).reshape(6, 2)
Y4 = np.array([0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.where(X4 == 3, np.nan, X4), Y4), "contains NaN"),
        ((X4.reshape(6, 2, 1), Y4), r"images .* Got an array of shape \[6, 2, 1\]"),
        ((X4, Y4[:5]), "inconsistent numbers of samples"),
        ((X4, np.zeros(6)), "one class alone, 0.0"),
        ((X4[:1], Y4[:1]), "1 sample"),
        ((X4, Y4, Y4), "one class alone, 1"),
        ((X4, Y4, np.zeros(6)), "weight zero; expected at least 2"),
        ((X4, Y4, -Y4), "sample_weight must be at least 0. Got -1 for sample 1"),
        ((X4, Y4, [1, 2]), r"sample_weight .* \[6\]\. Got shape \[2\]"),
        ((X4, [0, 1, 2, 3, 4, 5]), "5 of 6 samples are left to learn from, for 6 classes"),
        ((X4, Y4, None, (X4[:0], Y4[:0])), "the validation set has 0 samples"),
        ((X4, Y4, None, (X4, Y4 + 1)), "got the class 2, which is not in the y to learn from"),
        ((X4, Y4, None, (X4[:, :1], Y4)), "X has 1 features"),
        ((X4, Y4, None, [X4, Y4]), r"must be \(X, y\) or .* Got list"),
        ((X4, Y4, None, (X4,)), r"must be \(X, y\) or .* Got tuple of 1"),
    ],
)
def test_bad_data(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier().fit(*arguments)


def test_samples_with_an_axis_more(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    with pytest.raises(ValueError, match=r"of shape \[3, 1\]; .* fitted on samples of shape \[3\]"):
        fitted.predict(blobs[0][:, :, None])


def test_numbers_that_are_not_finite_have_a_place(
    fitted: NeuralTreeClassifier, blobs: tuple
) -> None:
    X = blobs[0].copy()
    X[4, 2], X[5, 0], X[9] = np.nan, np.nan, [np.inf, np.nan, -np.inf]
    for rows, message in [
        (9, "NaN: 2 values, the first in row 4, column 2 (counted from 0)"),
        (10, "NaN and infinity: 5 values, the first in row 4, column 2 (counted from 0)"),
    ]:
        for ask in (fitted.predict, lambda x: clone(fitted).fit(x, blobs[1][: len(x)])):
            with pytest.raises(ValueError) as raised:
                ask(X[:rows])
            assert str(raised.value) == f"Input X contains {message}; expected finite numbers"


def test_targets_that_are_missing(lines: tuple) -> None:
    X, y = lines
    for nothing in (None, np.nan):
        numbers = y[:, 0].astype(object)
        numbers[7] = nothing
        with pytest.raises(ValueError, match=r"^Input y contains NaN\.$"):
            regressor().fit(X, numbers)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", 1], "Got 'a' for sample 0 and 1 for sample 1."),
        ([2, "a"], "Got 2 for sample 0 and 'a' for sample 1."),
        ([True, 2], "Got True for sample 0 and 2 for sample 1."),
        (["a", "b", None], "Got 'a' for sample 0 and None for sample 2."),
        (["a", "b", np.nan], "Got 'a' for sample 0 and nan for sample 2."),
        ([None, "a"], "Got None for sample 0."),
        ([3, np.nan], "Got 3 for sample 0 and nan for sample 1."),
        ([b"a", b"b"], "Got b'a' for sample 0."),
    ],
)
def test_labels_of_no_one_kind(labels: list, message: str) -> None:
    y = np.array(labels * 3, dtype=object)
    X = np.zeros((len(y), 2))
    with pytest.raises(ValueError) as raised:
        classifier().fit(X, y)
    start = "y must be all text, all numbers, or all True and False, and none missing. "
    assert str(raised.value) == start + message


@pytest.mark.parametrize(
    ("labels", "dtype"), [([5, 3], np.int64), ([True, False], bool), (["b", "a"], object)]
)
def test_labels_held_as_objects(labels: list, dtype: type) -> None:
    y = np.array(labels * 3, dtype=object)
    model = classifier(max_depth=0).fit(X4, y)
    assert (model.classes_.tolist(), model.classes_.dtype) == (sorted(labels), dtype)
    assert model.samples(X4, y).targets.tolist() == [1, 0] * 3


def test_tensors_that_require_gradients(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, y = blobs
    x = torch.tensor(X, requires_grad=True)
    np.testing.assert_array_equal(fitted.predict_proba(x), fitted.predict_proba(X))
    weights = torch.ones(120, requires_grad=True)
    again = clone(fitted).set_params(max_depth=0).fit(x, y, weights)
    same = clone(fitted).set_params(max_depth=0).fit(X, y, np.ones(120))
    assert torch.equal(weights_of(again), weights_of(same))
    numbers = torch.arange(120.0, requires_grad=True)
    assert regressor(max_depth=0).fit(x, numbers).predict(x).shape == (120,)


def test_validation_targets_of_another_width(lines: tuple) -> None:
    X, y = lines
    with pytest.raises(ValueError, match=r"targets of shape \[150, 1\]; expected \[150, 2\]"):
        regressor().fit(X, y, validation=(X, y[:, :1]))


# ---- on disk


@pytest.mark.parametrize("labels", ["text", "object", "int", "bool"])
def test_a_saved_classifier_predicts_the_same(labels: str, blobs: tuple, tmp_path: Path) -> None:
    X, y = blobs
    y = {"text": y, "object": y.astype(object), "int": (y == "b") + 5, "bool": y == "b"}[labels]
    model = NeuralTreeClassifier("mlp", **SMALL, n_members=2, prune=0.2, path="greedy").fit(X, y)
    model.set_params(max_leaves=np.int64(3)).save(tmp_path / "model")
    again = NeuralTreeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.apply(X), model.apply(X))
    assert again.get_params() == model.get_params()
    assert again.growth_.decisions == model.growth_.decisions
    assert list(again.history_) == list(model.history_)


@pytest.mark.parametrize("options", [{"loss": "gaussian"}, {"standardize": False}])
def test_a_saved_regressor_predicts_the_same(options: dict, lines: tuple, tmp_path: Path) -> None:
    X, y = lines
    model = NeuralTreeRegressor(**SMALL, **options).fit(X, y[:, :1])
    model.save(tmp_path / "model")
    state = torch.get_rng_state()
    again = NeuralTreeRegressor.load(tmp_path / "model")
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(CheckpointError, match="NeuralTreeRegressor; expected NeuralTreeClassifier"):
        NeuralTreeClassifier.load(tmp_path / "model")


def test_functions_are_not_saved(fitted: NeuralTreeClassifier, tmp_path: Path) -> None:
    with pytest.raises(
        TypeError, match=r"expected 'primitives' to be None or one of .* Got partial"
    ):
        fitted.save(tmp_path / "model")


def test_what_a_file_does_not_hold_is_named(tmp_path: Path) -> None:
    dates = np.array(["2020-01-01", "2021-01-01"] * 3, dtype="datetime64[D]")
    model = NeuralTreeClassifier("mlp", **SMALL).set_params(max_depth=0)
    start = "a file holds text, numbers, booleans and None; expected "
    for y, seed, message in [
        (Y4, np.random.RandomState(0), "'random_state' to be made of these. Got RandomState."),
        (dates, 0, "'classes_' to be made of these. Got date."),
    ]:
        model.set_params(random_state=seed).fit(X4, y)
        with pytest.raises(TypeError) as raised:
            model.save(tmp_path / "model")
        assert str(raised.value) == start + message
    assert not (tmp_path / "model").exists()


class PowerCutError(Exception):
    pass


def cut_after(monkeypatch: pytest.MonkeyPatch, cls: type, method: str, calls: int) -> list:
    """Lets a method work so many times, and fail then; the list grows with every call."""
    done, works = [], getattr(cls, method)

    def until(self: Any, *arguments: Any) -> Any:
        if len(done) == calls:
            raise PowerCutError
        done.append(None)
        return works(self, *arguments)

    monkeypatch.setattr(cls, method, until)
    return done


@pytest.mark.parametrize("cut", ["growth", "refinement", "second member"])
def test_an_interrupted_fit_goes_on(
    cut: str, blobs: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: Any
) -> None:
    model = classifier(n_members=2, folder=tmp_path)
    growths = [len(member.decisions) for member in pair.members_]
    epochs = [len(member.history) for member in pair.members_]
    place = {
        "growth": (Growth, "step", 2),
        "refinement": (Loop, "_epoch", epochs[0] - 1),
        "second member": (Growth, "step", growths[0] + 1),
    }[cut]
    with monkeypatch.context() as patch:
        done = cut_after(patch, *place)
        with pytest.raises(PowerCutError):
            model.fit(*blobs)
        before = len(done)
    assert not hasattr(model, "members_")
    done = cut_after(monkeypatch, place[0], place[1], 1000)
    model.fit(*blobs)
    assert before + len(done) == sum(growths if place[0] is Growth else epochs)
    assert torch.equal(weights_of(model), weights_of(pair))


def test_a_folder_belongs_to_one_training(blobs: tuple, tmp_path: Path) -> None:
    X, y = blobs
    model = classifier(max_depth=0, folder=tmp_path).fit(X, y)
    model.set_params(path="greedy", prune=0.1).fit(X, y)
    model.set_params(min_gain=0, validation_fraction=np.float64(0.1)).fit(X, y)
    with pytest.raises(CheckpointError, match="data is"):
        model.fit(X + 1, y)
    with pytest.raises(CheckpointError, match=r"learning_rate is 0.05 there and 0.1 here"):
        model.set_params(learning_rate=0.1).fit(X, y)
