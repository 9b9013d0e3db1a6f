"""LabelTreeClassifier: what it takes, chooses, refuses, and keeps."""

from __future__ import annotations

import os
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.utils import get_tags

from structnet.checks import num_threads
from structnet.label_tree import (
    Features,
    LabelTree,
    LabelTreeClassifier,
    TreeSoftmaxLoss,
)
from structnet.training.checkpoint import CheckpointError, load_model, save_model

QUICK = {"epochs": 5, "learning_rate": 0.1, "tree": "learned", "rebuilds": 10, "random_state": 0}


@pytest.fixture(scope="module")
def fitted(points: tuple) -> LabelTreeClassifier:
    return LabelTreeClassifier(arity=3, **QUICK).fit(*points)


def test_answers_agree(fitted: LabelTreeClassifier, points: tuple) -> None:
    x, y = points
    assert fitted.score(x, y) == (fitted.predict(x) == y).mean() > 0.7
    assert fitted.history_["loss"][-1] == fitted.trained_.epochs[-1]["loss"]
    assert fitted.apply(x).shape == (len(x),)
    told = fitted.explain(x[0])
    assert "class group" in str(told)
    # The last choice names the class at its end, not the place of a child.
    best = told.class_names[int(np.argmax(told.prediction))]
    assert told.choices[-1].side == f"class {best}"
    other = told.choices[-1].other
    assert other.startswith("child ") or other.removeprefix("class ") in told.class_names


def test_a_fit_is_silent_unless_it_is_to_tell(
    points: tuple, capsys: pytest.CaptureFixture[str]
) -> None:
    LabelTreeClassifier(arity=3, **QUICK).fit(*points)
    assert not any(capsys.readouterr())
    LabelTreeClassifier(epochs=2, random_state=0, verbose=1).fit(*points)
    out, err = capsys.readouterr()
    first, *_, last = err.splitlines()
    assert not out and first.startswith("tried a ") and last.startswith("epoch 2/2, loss ")


def test_defaults_choose(points: tuple) -> None:
    x, y = points
    model = LabelTreeClassifier(arity=3, random_state=0).fit(x[:800], y[:800])
    assert model.settings_.tree == "learned" and model.settings_.start == "clusters"
    huffman = LabelTreeClassifier(arity=3, tree="huffman", random_state=0).fit(x[:800], y[:800])
    assert model.score(x[800:], y[800:]) > huffman.score(x[800:], y[800:])


def test_sparse_is_dense(points: tuple) -> None:
    x, y = points
    how = QUICK | {"vector_size": 4, "standardize": False, "start": "huffman"}
    dense = LabelTreeClassifier(**how).fit(csr_matrix(x), y)
    assert dense.score(csr_matrix(x), y) > 0.5
    np.testing.assert_allclose(
        dense.predict_proba(csr_matrix(x)), dense.predict_proba(csr_matrix(x).tocsc()), rtol=1e-6
    )


def test_bags_are_summed_few_at_once(points: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = csr_matrix(np.abs(points[0][:50]))
    model = LabelTreeClassifier(vector_size=4, start="clusters", **QUICK)
    tree = model.fit(rows, points[1][:50]).tree_
    labels = np.arange(50) % tree.num_outputs

    def answers() -> list[Any]:
        return [tree.log_prob_of_all(rows), tree.log_prob_of(rows, labels), *tree.top_k(rows, 2)]

    whole = answers()
    monkeypatch.setattr("structnet.label_tree.arrays.AT_ONCE", 7 * 4)
    for ours, theirs in zip(answers(), whole, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("size", [None, 0, 50])  # of the vectors; the table has fewer columns
@pytest.mark.parametrize("learnt", [np.asarray, csr_matrix])
def test_a_tree_takes_rows_in_both_forms(points: tuple, learnt: Any, size: int | None) -> None:
    x, y = points
    how = QUICK | {"vector_size": size, "start": "clusters"}
    model = LabelTreeClassifier(**how).fit(learnt(x), y)
    assert model.score(x, y) > 0.5
    for other in (model.predict_proba, model.predict_log_proba, model.decision_path):
        found = [other(each) for each in (x, csr_matrix(x))]
        found = [each.toarray() if hasattr(each, "toarray") else each for each in found]
        np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)
    found = [model.explain(each).mixture for each in (csr_matrix(x[:1]), x[0])]
    np.testing.assert_allclose(*found, rtol=1e-4)
    assert (model.tree_.represent(csr_matrix(x)) - model.tree_.represent(x)).abs().max() < 1e-4
    again = LabelTreeClassifier(**how)
    for part in (csr_matrix(x), x):
        again.partial_fit(part, y, classes=np.unique(y))
    assert np.isfinite(again.predict_log_proba(x)).all()


def short_texts(seed: int) -> tuple[csr_matrix, np.ndarray]:
    """Twelve texts of each of 60 labels: four words of the label's eight, and four of all 300."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(60), 12)
    own, noise = rng.integers(300, size=(60, 8)), rng.integers(300, size=(len(y), 4))
    words = np.hstack((own[y[:, None], rng.integers(8, size=(len(y), 4))], noise))
    at = np.repeat(np.arange(len(y)), 8), words.ravel()
    return csr_matrix((np.ones(words.size), at), shape=(len(y), 300)), y


def test_few_examples_of_each_label_need_no_vectors() -> None:
    how: dict[str, Any] = {"arity": 4, "epochs": 20, "random_state": 0}
    learn, gains = np.arange(720) % 3 > 0, []
    for seed in (1, 0):
        x, y = short_texts(seed)
        chosen, vectors = (
            LabelTreeClassifier(**how, vector_size=size).fit(x[learn], y[learn])
            for size in (None, 20)
        )
        assert chosen.settings_.vector_size == 0
        gains.append(chosen.score(x[~learn], y[~learn]) - vectors.score(x[~learn], y[~learn]))
    assert np.mean(gains) > 0.1
    node, vectors = (
        LabelTreeClassifier(vector_size=size, random_state=0).fit(x[~learn], y[~learn])
        for size in (None, 20)
    )
    assert (node.settings_.arity, node.settings_.vector_size) == (60, 0)
    assert node.score(x[learn], y[learn]) > vectors.score(x[learn], y[learn])
    short = LabelTreeClassifier(**how).fit(x[learn] / 48, y[learn])  # as shares of long texts are
    assert short.settings_.vector_size == 0
    assert short.score(x[~learn] / 48, y[~learn]) > 0.5
    assert LabelTreeClassifier(**how, start="huffman").fit(x, y).settings_.vector_size > 0
    table = LabelTreeClassifier(**how, learning_rate=0.1, tree="huffman", standardize=False)
    same = LabelTreeClassifier(**table.get_params()).set_params(vector_size=0)
    found = [table.fit(x[learn].toarray(), y[learn]), same.fit(x[learn], y[learn])]
    answers = [each.predict_proba(x[~learn]) for each in found]
    np.testing.assert_allclose(*answers, rtol=1e-3, atol=1e-5)


def test_a_tree_refuses_rows_of_other_sizes() -> None:
    for tree in (LabelTree(8, 5, 3, arity=2), LabelTree(8, 5, arity=2)):
        with pytest.raises(ValueError, match="the samples have 3 features; expected 8"):
            tree.top_k(torch.zeros(2, 3), 1)


def test_all_cores_may_train(
    points: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = points
    model = LabelTreeClassifier(**QUICK, n_jobs=-1).fit(x, y)
    assert model.score(x, y) > 0.7 and model.trained_.threads == num_threads(-1) >= 1
    model.save(tmp_path / "model")
    assert LabelTreeClassifier.load(tmp_path / "model").n_jobs == -1
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    assert [num_threads(n) for n in (-1, -2, -3, -9)] == [3, 2, 1, 1]
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match=r"must be an int other than 0 or None. Got"):
            LabelTreeClassifier(n_jobs=wrong).fit(x, y)


def test_settings_out_of_their_range() -> None:
    with pytest.raises(ValueError, match="'arity' parameter must be an int in the range"):
        LabelTreeClassifier(arity=1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="'bias' parameter of TreeSoftmaxLoss must be True or Fa"):
        TreeSoftmaxLoss(3, 4, bias="no")


def test_a_file_holds_the_tree_as_it_is(
    fitted: LabelTreeClassifier, points: tuple, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    again = LabelTreeClassifier.load(tmp_path / "model")
    assert again.tree_.codes.to_nested() == fitted.tree_.codes.to_nested()
    assert (again.predict_proba(points[0]) == fitted.predict_proba(points[0])).all()
    assert again.trained_.rebuilds == fitted.trained_.rebuilds
    assert (again.tree_.softmax.sums == fitted.tree_.softmax.sums).all()


def test_a_file_of_sparse_rows_is_asked_without_a_copy(points: tuple, tmp_path: Path) -> None:
    rows = csr_matrix(np.abs(points[0]))
    LabelTreeClassifier(vector_size=0, **QUICK).fit(rows, points[1]).save(tmp_path / "model")
    tree = LabelTreeClassifier.load(tmp_path / "model").tree_
    weight = tree.arrays(Features.from_csr(rows)).weight
    assert np.shares_memory(weight, tree.softmax.weight.detach().numpy())


def test_a_tree_of_the_user(points: tuple) -> None:
    own = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    model = LabelTreeClassifier(**QUICK | {"tree": own}).fit(*points)
    assert model.tree_.codes.to_nested() == own
    with pytest.raises(ValueError, match="the tree has 3 labels; expected 9"):
        LabelTreeClassifier(**QUICK | {"tree": [0, [1, 2]]}).fit(*points)
    deep = [[0, 1, 2], [3, 4, 5], [6, [7, 8]]]
    with pytest.raises(ValueError, match="paths of 3 decisions; expected at most max_depth, 2"):
        LabelTreeClassifier(**QUICK | {"tree": deep, "max_depth": 2}).fit(*points)


def test_weights_count(points: tuple) -> None:
    x, y = points
    weights = np.where(np.isin(y, ["group 0", "group 1"]), 1.0, 0.0)
    model = LabelTreeClassifier(**QUICK).fit(x, y, sample_weight=weights)
    assert model.classes_.tolist() == np.unique(y).tolist()  # so that models can vote together
    assert set(model.predict(x)) == {"group 0", "group 1"}
    assert model.predict_proba(x)[:, 2:].sum(1).mean() < 0.05
    with pytest.raises(ValueError, match="only one class, 'group 3', among the samples that count"):
        LabelTreeClassifier().fit(x, y, sample_weight=y == "group 3")


def test_classes_have_weights(points: tuple) -> None:
    x, y = points
    told = {"group 0": 3, "group 4": 0.5, "group 7": 0}
    weights = np.array([told.get(each, 1) for each in y])
    found = LabelTreeClassifier(**QUICK, class_weight=told).fit(x, y)
    given = LabelTreeClassifier(**QUICK).fit(x, y, weights)
    np.testing.assert_array_equal(found.predict_proba(x), given.predict_proba(x))
    streams = (LabelTreeClassifier(class_weight=told, random_state=0),)
    streams += (LabelTreeClassifier(random_state=0),)
    for part in (slice(0, 50), slice(50, 1000)):
        streams[0].partial_fit(x[part], y[part], np.unique(y))
        streams[1].partial_fit(x[part], y[part], np.unique(y), weights[part])
    np.testing.assert_array_equal(*(each.predict_proba(x) for each in streams))
    rare = np.flatnonzero((y != "group 0") | (np.arange(len(y)) % 10 == 0))
    x, y = x[rare], y[rare]
    shares = [
        (LabelTreeClassifier(**QUICK, class_weight=each).fit(x, y).predict(x) == "group 0").mean()
        for each in (None, "balanced")
    ]
    assert shares[1] > shares[0]
    with pytest.raises(ValueError, match="'class_weight' parameter must be of the classes"):
        LabelTreeClassifier(class_weight={"other": 1}).fit(x, y)
    with pytest.raises(ValueError, match=r"a dict or None in partial_fit. Got 'balanced'"):
        LabelTreeClassifier(class_weight="balanced").partial_fit(x, y, np.unique(y))


def test_probabilities_are_made_in_place() -> None:
    y = np.arange(6000) % 3000
    model = LabelTreeClassifier(tree="huffman", epochs=1, learning_rate=0.1, arity=9)
    model.fit(np.random.default_rng(0).normal(size=(6000, 2)), y)
    rows = np.zeros((500, 2))
    model.predict_proba(rows)
    tracemalloc.start()
    size = model.predict_proba(rows).nbytes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * size


def test_tags_are_of_the_parameters() -> None:
    rows, lists, threads = (
        get_tags(LabelTreeClassifier(**told)) for told in ({}, {"tokens": True}, {"n_jobs": 2})
    )
    assert rows.input_tags.two_d_array and rows.input_tags.sparse and not rows.no_validation
    assert not (lists.input_tags.two_d_array or lists.input_tags.sparse) and lists.no_validation
    assert threads.non_deterministic and not rows.non_deterministic


@pytest.mark.parametrize(
    "change",
    [{"arity": 10**12}, {"arity": 10**8}, {"vector_size": 10**9}, {"max_depth": -1}],
    ids=str,
)
def test_a_file_that_asks_for_too_much(
    fitted: LabelTreeClassifier, change: dict, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    _, config = load_model(tmp_path / "model")
    config["settings"] |= change
    save_model(tmp_path / "model", fitted.tree_, config)
    with pytest.raises(CheckpointError, match="model does not describe a LabelTreeClassifier"):
        LabelTreeClassifier.load(tmp_path / "model")


def test_a_file_that_bounds_nothing(fitted: LabelTreeClassifier, tmp_path: Path) -> None:
    """No power of such a depth is computed."""
    fitted.save(tmp_path / "model")
    _, config = load_model(tmp_path / "model")
    config["settings"]["max_depth"] = 10**12
    save_model(tmp_path / "model", fitted.tree_, config)
    assert LabelTreeClassifier.load(tmp_path / "model").settings_.max_depth == 10**12


def test_sparse_rows_of_any_size_are_learnt_untouched() -> None:
    (x, y), answers = load_digits(return_X_y=True), []
    for scale in (1.0, 2.0**-30, 2.0**40):  # by a power of two all is as it was
        rows = csr_matrix(x * scale)
        model = LabelTreeClassifier(random_state=0).fit(rows[:1400], y[:1400])
        answers.append(model.predict_proba(rows[1400:]))
        np.testing.assert_array_equal(answers[-1], answers[0])
        np.testing.assert_allclose(model.predict_proba(rows[1400:].toarray()), answers[0], 1e-5)
    assert model.score(rows[1400:], y[1400:]) > 0.9
    streamed = LabelTreeClassifier(random_state=0)
    for _ in range(5):
        streamed.partial_fit(rows[:1400], y[:1400], classes=np.arange(10))
    assert streamed.score(rows[1400:], y[1400:]) > 0.8


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_a_weight_counts_in_the_scale_as_often_as_rows_do(kind: Any) -> None:
    x, y, count = np.arange(1.0, 13)[:, None] ** [1, 2], np.arange(12) % 3, np.arange(12) % 5 + 1
    weighed = LabelTreeClassifier(epochs=1).fit(kind(x), y, sample_weight=count).input_scale_
    repeated = (
        LabelTreeClassifier(epochs=1).fit(kind(x.repeat(count, 0)), y.repeat(count)).input_scale_
    )
    np.testing.assert_allclose(weighed.of(2), repeated.of(2))


def test_columns_that_say_nothing() -> None:
    y = np.repeat([0, 1, 2], [40, 30, 20])
    for X in (np.ones((90, 3)), csr_matrix((90, 3))):
        model = LabelTreeClassifier(random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X[:1])[0], [4 / 9, 3 / 9, 2 / 9], atol=0.1)


def test_a_class_weight_that_leaves_one_sample_is_refused() -> None:
    X, y = np.eye(3).repeat(20, 0), np.array([0] + [1] * 29 + [2] * 30)
    model = LabelTreeClassifier(class_weight={0: 1, 1: 0, 2: 0}, random_state=0)
    with pytest.raises(ValueError, match="all but 1 of 60 samples have the weight zero"):
        model.fit(X, y)


def test_its_help_says_whose_the_settings_are_that_it_lacks() -> None:
    told = re.sub(r"``\w+`` of\s+:class:`\S+`", "", LabelTreeClassifier.__doc__ or "")
    assert "number of observations" in told
    assert not re.search(r"these observations|\b(gain|prior|method)\b", told)
