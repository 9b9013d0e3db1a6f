"""Leaves of one class know the classes around them: by hand, and beside scikit-learn's tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from networkx.readwrite import json_graph
from scipy.sparse import csr_matrix
from sklearn.datasets import make_gaussian_quantiles
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

from structnet.softmax_tree import (
    SoftmaxTree,
    SoftmaxTreeClassifier,
    SoftmaxTreeSettings,
    smoothing,
    train,
    tree_from_networkx,
    with_weights,
)
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.leaf_update import updated_leaf
from structnet.softmax_tree.nodes import Hyperplane, Leaf, first_leaf
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points

PLAIN = {"depth": 1000, "start": "axes", "max_iter": 0, "decision_penalty": 1.0}


def plain(x: np.ndarray, y: np.ndarray, k: int, weights: np.ndarray | None = None):
    settings = SoftmaxTreeSettings(**PLAIN, k=k, leaf_penalty=1.0)
    return train(x, y, settings, weights=weights)


def test_by_hand() -> None:
    x, y = np.array([[1.0], [2.0], [3.0]]), [0, 0, 1]
    left, right = (2 + 2 / 3) / 3, (1 + 1 / 3) / 2  # beside their own, one as at the root
    for k in (1, 2):  # as the rest of a leaf, or in it
        tree = plain(x, y, k).tree
        np.testing.assert_allclose(tree.predict_proba(x)[:, 0], [left, left, 1 - right], rtol=1e-6)
        assert tree.choices(x).starts[-1] == 3 * k


def beside_scikit_learn(x: np.ndarray, y: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The m-estimate in the leaves of its own tree, from the mean of the shares above."""
    model = DecisionTreeClassifier(random_state=0).fit(x, y)
    reach = model.decision_path(x).toarray()
    counts = reach.T @ np.eye(y.max() + 1)[y]  # [nodes, classes]
    found = []
    for path in model.decision_path(asked).toarray():
        *above, leaf = np.flatnonzero(path)
        share = counts[leaf] + (counts[above] / counts[above].sum(1, keepdims=True)).mean(0)
        found.append(share / share.sum())
    return np.array(found)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_decision_tree_is_as_sure_as_its_samples_allow(sparse: bool) -> None:
    x, y = make_gaussian_quantiles(n_samples=600, n_features=5, n_classes=4, random_state=0)
    x = x.astype(np.float32)
    given = csr_matrix(x) if sparse else x
    tree = plain(given[:400], y[:400], 4).tree
    found = tree.predict_proba(given[400:]).numpy()
    np.testing.assert_allclose(found, beside_scikit_learn(x[:400], y[:400], x[400:]), rtol=1e-5)
    own = DecisionTreeClassifier(random_state=0).fit(x[:400], y[:400])
    assert (found.argmax(1) == own.predict(x[400:])).all()
    sure = log_loss(y[400:], own.predict_proba(x[400:]))
    assert log_loss(y[400:], found) < sure / 4
    assert (tree_from_networkx(with_weights(tree)).predict_proba(x).numpy()[400:] == found).all()
    weights = tree.weights.shape[0]  # a bias a node and class, and a weight a decision
    assert weights == 2 * (len(tree.topology.leaves) - 1) + 4 * len(tree.topology.leaves)


def test_many_leaves_learn_of_the_likeliest_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 2)), rng.permutation(np.repeat(np.arange(20), 10))
    every = plain(x, y, 20).tree
    monkeypatch.setattr(smoothing, "MOST", 1)
    some = plain(x, y, 20).tree
    assert set(every.arrays.sizes()) == {0, 20} and set(some.arrays.sizes()) == {0, 10}
    known, found = some.choices(x).matrix(20).toarray(), some.predict_proba(x).numpy()
    own = every.predict_proba(x).numpy() * (known > 0)
    np.testing.assert_allclose(known, own, rtol=1e-5)
    rest = np.repeat((1 - own.sum(1)) / 10, 10)  # as all classes have ten samples
    np.testing.assert_allclose(found[known == 0], rest, rtol=1e-5)
    least = np.where(known > 0, own, np.inf).min(1)
    assert (every.predict_proba(x).numpy() * (known == 0) <= least[:, None] + 1e-7).all()


def test_weights_say_how_much_a_sample_counts_not_how_many_there_are() -> None:
    x, y = np.array([[1.0], [2.0], [3.0]]), [0, 0, 1]
    alike = plain(x, y, 2, weights=np.full(3, 5.0)).tree.predict_proba(x)
    np.testing.assert_allclose(alike, plain(x, y, 2).tree.predict_proba(x), rtol=1e-6)


def test_samples_that_count_little_are_not_outvoted() -> None:
    x, y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 0, 1]
    tree = plain(x, y, 2, weights=np.array([1.0, 1.0, 1.0, 1e-3])).tree
    assert tree.predict(x).tolist() == y


def three_classes() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(300, 2))
    return x, np.where(x[:, 0] < 0, 0, 1 + (x[:, 1] > 0))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_a_softmax_that_may_have_all_classes_knows_how_rare_the_others_are(
    k: int, sparse: bool
) -> None:
    x, y = three_classes()
    model = SoftmaxTreeClassifier(depth=1, k=k, start="axes", leaf_penalty=1.0, random_state=0)
    model.fit(csr_matrix(x) if sparse else x, y)
    found = model.predict_proba(x)
    right = model.apply(x) == model.apply(x[y == 2])[0]
    assert set(y[right]) == {1, 2}
    seen = np.mean(y == 0) / (right.sum() + 1)  # one more sample, as at the root
    if k == 2:  # the third is not in it
        np.testing.assert_allclose(found[right, 0], seen, rtol=1e-5)
        return
    odds = np.log(found[right, 0] / found[right, 1:].sum(1))
    assert odds.std() > 0.1 and np.exp(odds.mean()) == pytest.approx(seen / (1 - seen), rel=0.02)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_leaf_of_one_class_answers_as_the_node_above(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2)).astype(np.float32)
    y = ((x[:, 0] > 0.5) & (x[:, 0] + 0.3 * rng.normal(size=2000) > 1.5)).astype(int)
    points = Points.made(csr_matrix(x) if sparse else x, y, 2)
    columns = np.array([0], np.int32) if sparse else None
    plane = Hyperplane(np.array([1.0] if sparse else [1.0, 0.0], np.float32), -0.5, columns)
    counts = [points.counts(np.flatnonzero(side)) for side in (x[:, 0] < 0.5, x[:, 0] >= 0.5)]
    leaves = [first_leaf(each, 2, 2, sparse) for each in counts]
    draft, objective = Draft([(1, 2), (), ()], [plane, *leaves]), Objective(1.0, 1.0, 2.0, 40)
    new = smoothing.smoothed(draft, points, objective).leaf(1)
    rows = np.arange(2000)
    above = updated_leaf(first_leaf(points.counts(rows), 2, 2, sparse), points, rows, objective)
    expected = above.log_probs(points.x)
    assert (new.log_probs(points.x) == expected).all() and expected[:, 1].std() > 1
    assert smoothing.smoothed(draft, points).leaf(1).log_probs(points.x).std(0).max() < 1e-9
    rare = (y == 0) & (x[:, 0] < 0.5)
    assert new.log_probs(points.x)[rare].argmax(1).max() == 0  # no prediction changes


def test_what_has_no_room_for_weights_learns_shares_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = three_classes()
    monkeypatch.setattr(smoothing, "ROOM", 1)
    tree = SoftmaxTreeClassifier(depth=1, k=3, random_state=0).fit(x, y).tree_
    leaves = [node for node in tree.draft().nodes if isinstance(node, Leaf)]
    known = {len(leaf.classes): leaf.norm for leaf in leaves}
    assert known.keys() == {2, 3} and known[2] > 0 == known[3]


@pytest.mark.parametrize("sparse", [False, True])
def test_narrow_leaves_know_how_often_their_classes_are_wrong(sparse: bool) -> None:
    """Narrow leaves, in which training does well, would rule out the class of many new rows."""
    rng = np.random.default_rng(0)
    centres, y = rng.normal(size=(180, 6)), rng.integers(60, size=2400)
    x = centres[y + 60 * rng.integers(3, size=2400)] + 0.2 * rng.normal(size=(2400, 6))
    x = csr_matrix(x, dtype=np.float32) if sparse else x.astype(np.float32)
    tree = train(x[:1200], y[:1200], SoftmaxTreeSettings(depth=3, k=10), num_classes=60).tree
    choices, true = tree.choices(x[1200:]), (np.arange(1200), y[1200:])
    inside, known = choices.matrix(60).toarray(), choices.dense(60)
    np.testing.assert_allclose(np.exp(known).sum(1), 1, rtol=1e-6)
    assert (known.argmax(1) == tree.classes_of(x[1200:])).all()
    np.testing.assert_allclose(inside.sum(1), 1 - choices.rest, rtol=1e-6)
    leaf, counts = tree.leaves_of(x[:1200]), np.bincount(y[:1200])
    for each in np.unique(leaf):
        own, here = tree.arrays.classes(each), y[:1200][leaf == each]
        # One more sample, of a class as at the nodes above.
        seen = (~np.isin(here, own)).sum() / (len(here) + 1)
        rest = tree.outside.rest[each]
        assert seen < rest < seen + 1 / (len(here) + 1)
        others = np.where(np.isin(np.arange(60), own), 0, counts)
        np.testing.assert_allclose(np.exp(tree.others(each)), rest * others / others.sum(), 1e-5)
    missing = inside[true] == 0
    assert missing.mean() > 0.1
    ruled_out = np.maximum(inside / inside.sum(1, keepdims=True), 1e-15)[true]
    assert -known[true].mean() < -0.5 * np.log(ruled_out).mean()


def test_the_rest_changes_no_prediction() -> None:
    """Also where most samples of a leaf are of a single class that it lacks."""
    x, y = np.zeros((10, 1)), np.repeat([0, 1, 2], [2, 3, 5])
    points = Points.made(x, y, 3)
    leaf = Leaf(np.array([0, 1]), np.zeros((1, 2), np.float32), np.zeros(2, np.float32), 2)
    [new] = smoothing.smoothed(Draft([()], [leaf]), points).nodes
    assert 0.999 / 3 <= new.rest < 1 / 3  # and each of the others has more
    tree = SoftmaxTree.from_draft(smoothing.smoothed(Draft([()], [leaf]), points), 1, 3)
    assert (tree.predict(x).numpy() == tree.classes_of(x)).all()


def test_files_and_graphs_keep_the_rest(tmp_path: Path) -> None:
    x, y = three_classes()
    model = SoftmaxTreeClassifier(depth=1, k=2, random_state=0).fit(x, y)
    prob = model.predict_proba(x)
    assert prob.min() > 0
    model.save(tmp_path / "model")
    loaded = SoftmaxTreeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(x), prob)
    samples, graph = model.samples(x, y), model.to_networkx()
    again = tree_from_networkx(json_graph.node_link_graph(json_graph.node_link_data(graph)))
    np.testing.assert_allclose(again.predict_proba(samples), prob, rtol=1e-5, atol=1e-12)
    loss = -np.log(prob[np.arange(300), y]).mean()
    assert again.loss(samples).item() == pytest.approx(loss, rel=1e-5)
    alone = model.tree_.predictor().probabilities(np.asarray(samples.x[0]))[1]
    assert alone.sum() == pytest.approx(1 - model.tree_.choices(samples.x[:1]).rest[0])
    at = [np.exp(model.tree_.predicted_at(samples.x[:1], leaf)).sum() for leaf in (1, 2)]
    np.testing.assert_allclose(at, 1, rtol=1e-6)
