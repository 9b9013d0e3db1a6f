"""Decision trees on counts of labels, against scikit-learn's, and beside a Tree-LSTM."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from structnet import Tree, TreeLSTMClassifier, TreeLSTMRegressor
from structnet.tensor_tree.counts import extra_trees
from structnet.tensor_tree.counts.beside import LEAST
from structnet.tensor_tree.counts.extra_trees import TREES, ExtraTrees


@pytest.mark.parametrize("roots", [1, 2])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_arrays_predict_as_the_trees_they_are_from(
    kind: str, roots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra_trees, "LABELS", 3)
    monkeypatch.setattr(extra_trees, "ROWS", 7)
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 4, size=(60 * roots, 5)) * [1, 0, 1, 1, 1]  # a label that none has
    dense[:, 4] *= rng.random(60 * roots) < 0.1  # and one that few have
    weights = rng.uniform(0.5, 2, 60)
    y = rng.integers(0, 2, 60) * 2 if kind == "classes" else rng.normal(size=(60, 3))
    found = ExtraTrees(3, roots, kind)
    found.fit(csr_matrix(dense), y, weights, seed=1)
    assert found.columns.tolist() == [0, 2, 3]
    rows = np.hstack((dense[:, [0, 2, 3]], dense.sum(axis=1, keepdims=True))).reshape(60, -1)
    np.testing.assert_array_equal(found.rows(csr_matrix(dense)), rows)
    told = {"max_features": 1.0, "random_state": 1}
    new = rng.integers(0, 5, size=rows.shape)
    if kind == "numbers":
        expected = ExtraTreesRegressor(TREES, **told).fit(rows, y, weights).predict(new)
    else:
        model = ExtraTreesClassifier(TREES, **told).fit(rows, y, weights)
        votes = np.zeros((60, 3))
        votes[:, [0, 2]] = TREES * model.predict_proba(new)
        expected = np.log((votes + 1 / 6) / (TREES + 1 / 2))
    np.testing.assert_allclose(found(new).numpy(), expected, rtol=1e-5, atol=1e-6)
    again = ExtraTrees(3, roots, kind, **found.sizes)
    again.load_state_dict(found.state_dict())
    assert (again(new) == found(new)).all()
    assert found(new[:0]).shape == (0, 3)


def test_the_sum_is_the_number_of_nodes_whatever_else_is_counted() -> None:
    """The first columns count labels, each node once; others count some nodes again, as names."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, size=(700, 6))
    nodes = counts[:, :3].sum(1)
    found = ExtraTrees(1, 1, "numbers", num_labels=3)
    found.fit(csr_matrix(counts[:600]), nodes[:600, None] % 2, None, seed=0)
    assert (found.rows(csr_matrix(counts))[:, -1] == nodes).all()
    guess = found(found.rows(csr_matrix(counts[600:])))[:, 0].numpy()
    assert ((guess > 0.5) == nodes[600:] % 2).mean() > 0.9


def test_of_many_examples_each_tree_sees_some(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    counts, y = csr_matrix(rng.integers(0, 9, size=(200, 6))), rng.normal(size=(200, 1))
    sizes = []
    for most in (200, 50):
        monkeypatch.setattr(extra_trees, "EXAMPLES", most)
        found = ExtraTrees(1, 1, "numbers")
        found.fit(counts, y, None, seed=0)
        sizes.append(found.sizes["num_nodes"])
    assert sizes[1] < sizes[0] / 3


def test_of_many_outputs_there_are_fewer_trees_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    counts, y = csr_matrix(rng.integers(0, 9, size=(200, 6))), rng.integers(0, 50, 200)
    found, numbers = ExtraTrees(50, 1, "classes"), []
    for work in (10**9, 4_000_000, 10_000):
        monkeypatch.setattr(extra_trees, "WORK", work)
        found.fit(counts, y, None, seed=0)
        again = ExtraTrees(50, 1, "classes", **found.sizes)
        again.load_state_dict(found.state_dict())
        numbers.append(found.sizes["num_trees"])
    assert numbers[0] == TREES > numbers[1] >= extra_trees.FEWEST and numbers[2] == 0


def drawn(number: int) -> tuple[list[Tree], np.ndarray]:
    """Trees with two to four of a label, and whether it is three."""
    rng = random.Random(0)
    X, y = [], []
    for _ in range(number):
        few = rng.randint(2, 4)
        leaves = ["a"] * few + [rng.choice("bcd") for _ in range(rng.randint(3, 9))]
        rng.shuffle(leaves)
        X.append(Tree("f", [Tree("g", [Tree(x) for x in leaves[i::2]]) for i in range(2)]))
        y.append(few == 3)
    return X, np.array(y)


@pytest.mark.parametrize("estimator", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_a_function_of_counts_that_is_not_linear(estimator: type, tmp_path: Path) -> None:
    X, y = drawn(500)
    y = y if estimator is TreeLSTMClassifier else y.astype(float)
    model = estimator(hidden_size=8, epochs=2, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.9
    assert "decision trees" in model.summary()
    model.save(tmp_path / "model.safetensors")
    again = estimator.load(tmp_path / "model.safetensors")
    assert (again.predict(X) == model.predict(X)).all() and again.summary() == model.summary()


@pytest.mark.parametrize("estimator", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_decision_trees_that_do_not_help_are_not_kept(estimator: type, tmp_path: Path) -> None:
    rng = random.Random(0)
    X = [Tree("f", [Tree(rng.choice("ab")) for _ in range(6)]) for _ in range(200)]
    y = np.array([str(tree.children[0].label) == "a" for tree in X])  # the first child's label
    y = y if estimator is TreeLSTMClassifier else y.astype(float)
    model = estimator(hidden_size=8, epochs=20, random_state=0).fit(X, y)
    assert model.model_.extra is None and "decision trees" not in model.summary()
    assert "not surely better" not in model.summary()


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_decision_trees_are_kept_by_their_weight(share: float) -> None:
    X, y = drawn(40)
    mixed = TreeLSTMRegressor(hidden_size=2, epochs=1, random_state=0).fit(X, y * 1.0).model_
    mixed.extra, targets = ExtraTrees(1, 1, "numbers"), torch.zeros(9, 1, dtype=torch.float64)
    targets[0] = share  # the gain comes from one example, and is therefore not sure
    mixed._weigh([torch.zeros_like(targets)] * 2 + [targets / share], targets, torch.ones(9))
    assert (mixed.extra is None) == (share < LEAST)


@pytest.mark.parametrize("estimator", [TreeLSTMClassifier, TreeLSTMRegressor])
def test_a_model_that_has_learned_nothing_says_so(estimator: type, tmp_path: Path) -> None:
    rng = random.Random(0)
    X = [Tree("f", [Tree(rng.choice("ab")) for _ in range(6)]) for _ in range(200)]
    y = np.array([rng.random() < 0.3 for _ in X])
    y = y if estimator is TreeLSTMClassifier else y.astype(float)
    model = estimator(hidden_size=8, epochs=2, random_state=0).fit(X, y)
    assert "not surely better" in model.summary()
    model.save(tmp_path / "model.safetensors")
    assert estimator.load(tmp_path / "model.safetensors").summary() == model.summary()
