"""Softmax trees of tables whose classes are several clusters: a leaf of parts of classes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.special import logsumexp
from softmax_trees import clusters

from structnet import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier
from structnet.routing import explain
from structnet.routing.parts import OTHER_PARTS
from structnet.softmax_tree import tree_from_networkx
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Leaf
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.solved_leaf import leaf_in_words, solved_draft
from structnet.softmax_tree.tree import SoftmaxTree

BOTH = pytest.mark.parametrize("kind", [SoftmaxTreeClassifier, AdaptiveSoftmaxTreeClassifier])
PART_CLASSES = np.array([0, 0, 1, 2, 2, 2])
X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


@cache
def table() -> tuple[np.ndarray, np.ndarray]:
    x, y = clusters(600, classes=8, modes=3, features=4)
    return x, np.array([*"abcdefgh"])[y]


@cache
def fitted(kind: Any = SoftmaxTreeClassifier, **given: Any) -> Any:
    x, y = table()
    return kind(random_state=0, max_iter=2, **given).fit(x[:400], y[:400])


@cache
def tree(scale: float = 3.0) -> tuple[SoftmaxTree, np.ndarray]:
    """A leaf of six parts of three classes, and what it says of the rows, one by one."""
    rng = np.random.default_rng(1)
    weight, bias = scale * rng.normal(size=(3, 6)), rng.normal(size=6)
    leaf = Leaf(PART_CLASSES, weight.astype(np.float32), bias.astype(np.float32), 3)
    scores = X @ weight + bias
    whole = [logsumexp(scores[:, np.equal(PART_CLASSES, c)], axis=1) for c in range(3)]
    log_p = np.stack(whole, axis=1) - logsumexp(scores, axis=1)[:, None]
    return SoftmaxTree.from_draft(Draft([()], [leaf]), 3, 3), log_p


def test_a_leaf_of_parts_tells_of_columns_left_out() -> None:
    model = fitted()
    settings, whole = model.settings_, "a softmax over all classes"
    parts = f"{whole}, of up to {settings.parts} parts each"
    assert settings.parts > 1 and f"one leaf, {parts}, was best" in model.summary().note
    fewer = replace(settings, solved=(*settings.solved[:5], 2, 0, 3))
    assert leaf_in_words(fewer, 4) == f"{parts}, by 2 of 4 columns"
    assert leaf_in_words(replace(settings, solved=(), parts=1), 4) == whole


def test_a_class_is_as_likely_as_its_parts_together() -> None:
    model, expected = tree()
    best = expected.argmax(1)
    assert (best != PART_CLASSES[(X @ model.draft().leaf(0).weight).argmax(1)]).any()
    np.testing.assert_allclose(model.predicted(X), expected, atol=1e-5)
    np.testing.assert_allclose(model.predicted_at(X, 0), expected, atol=1e-5)
    for rows in (X, csr_matrix(X)):
        np.testing.assert_array_equal(model.classes_of(rows), best)
    asked = model.predictor()
    assert [asked.class_of(row) for row in X] == best.tolist()
    columns = np.arange(3)
    assert [asked.class_of_sparse(columns, row) for row in X] == best.tolist()
    classes, prob = asked.probabilities(X[0])
    assert classes.tolist() == [0, 1, 2]
    np.testing.assert_allclose(prob, np.exp(expected[0]), atol=1e-5)


def test_its_loss_is_that_of_classes() -> None:
    model, expected = tree()
    y = np.arange(40) % 3
    points = Points.made(X, y, 3)
    losses = -expected[np.arange(40), y]
    np.testing.assert_allclose(model.draft().losses(points, 9.0), losses, atol=1e-4)
    samples = points.checked.samples()
    loss = model.loss(samples)
    assert loss.item() == pytest.approx(losses.mean(), rel=1e-4)
    loss.backward()
    assert torch.isfinite(model.weights.grad).all() and model.weights.grad.abs().sum() > 0
    assert (model.draft().mistakes(points) == (expected.argmax(1) != y)).all()


def test_a_leaf_tells_classes_and_parts() -> None:
    model, _ = tree()
    assert model.facts(0).words == "3 classes of 6 parts, 18 of 18 weights"
    assert model.classes_at(0) == [0, 1, 2] and model.flops(0) == 36
    assert model.class_plane(0) is None


def test_columns_tell_of_the_likeliest_parts() -> None:
    (model, expected), counted = tree(), 0
    for row, log_p in zip(X.astype(float), expected, strict=True):
        told = explain(model, row)
        best, second = np.argsort(-log_p)[:2]
        assert told.odds == (str(best), str(second))
        leaf = model.draft().leaf(0)
        scores = row @ leaf.weight + leaf.bias
        of = [scores[np.equal(PART_CLASSES, k)].max() for k in (best, second)]
        columns = [part.values[0] for part in told.parts if part.name != OTHER_PARTS]
        others = [part.values[0] for part in told.parts if part.name == OTHER_PARTS]
        assert sum(columns) == pytest.approx(of[0] - of[1], abs=1e-4)
        assert sum(columns + others) == pytest.approx(log_p[best] - log_p[second], abs=2e-3)
        counted += len(others)
    assert 20 < counted <= 40  # of some rows, other parts change no digit


@BOTH
def test_classes_of_several_clusters_are_told_by_default(kind: Any, tmp_path: Path) -> None:
    x, y = (part[400:] for part in table())
    model = fitted(kind)
    assert model.settings_.parts >= 3 and model.settings_.is_solved
    assert model.score(x, y) > fitted(kind, leaf_penalty=1.0).score(x, y) + 0.05
    prob = model.predict_proba(x)
    np.testing.assert_array_equal(model.predict(x), model.classes_[prob.argmax(1)])
    assert [model.predict_one(row) for row in x] == model.predict(x).tolist()
    top, sure = model.predict_top(x, 99)
    assert top.shape == (200, 8) and (sure[:, 0] == prob.max(1)).all()
    names, one = model.predict_proba_one(x[0])
    np.testing.assert_allclose(one, prob[0], rtol=1e-6)
    assert names.tolist() == [*"abcdefgh"] and model.measure(x, y).leaf_classes == 8
    assert "of up to" in str(model.summary()) and "8 classes of" in model.export_text()
    assert model.explain(x[0]).leaf == 0 and model.plot(x, y) is not None
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(kind.load(tmp_path / "model").predict_proba(x), prob)
    rows = model.samples(x, y).x.numpy()
    again = tree_from_networkx(model.to_networkx())
    np.testing.assert_array_equal(again.classes_of(rows), model.tree_.classes_of(rows))


def test_members_have_parts_too() -> None:
    x, y = (part[400:] for part in table())
    model = fitted(n_members=2)
    assert all(each.settings.parts > 1 for each in model.members_)
    assert [model.predict_one(row) for row in x[:50]] == model.predict(x[:50]).tolist()
    np.testing.assert_allclose(model.predict_proba(x).sum(1), 1, rtol=1e-6)
    assert model.score(x, y) > 0.8


@BOTH
def test_classes_of_one_cluster_stay_whole(kind: Any) -> None:
    x, y = clusters(300, classes=4, modes=1, features=4)
    assert kind(random_state=0, max_iter=2).fit(x, y).settings_.parts == 1


def test_its_weights_are_those_of_an_analysis_of_parts() -> None:
    """Whatever the form of the rows; all classes have a part."""
    x, y = clusters(200, classes=4, modes=2, features=3)
    how = (0, 0.1, 1.0, 0.0, 0.0, 0.0)
    dense = solved_draft(Points.made(x, y, 4), how, 2).leaf(0)
    sparse = solved_draft(Points.made(csr_matrix(x), y, 4), how, 2).leaf(0)
    assert dense.classes.tolist() == np.repeat(np.arange(4), 2).tolist()
    np.testing.assert_allclose(sparse.weight, dense.weight, atol=1e-5)
    whole = solved_draft(Points.made(x, y, 4), how).leaf(0)
    assert whole.classes.tolist() == [*range(4)]
    strong = solved_draft(Points.made(x, y, 4), (*how[:3], 30.0, 0.0, 0.0), 2).leaf(0)
    assert np.abs(strong.weight).max() < 0.5 * np.abs(dense.weight).max()
