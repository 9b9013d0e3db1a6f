"""Several trees in place of one: their mean, and what it gains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import log_loss

from structnet import AdaptiveSoftmaxTreeClassifier, SoftmaxTreeClassifier
from structnet.softmax_tree import members
from structnet.softmax_tree.members import mean_of
from structnet.softmax_tree.probabilities import Choices

CLASSES, MODES, COLUMNS = 20, 3, 8


def modes(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of classes that have several modes each, and their classes."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(CLASSES, MODES, COLUMNS))
    y, mode = rng.integers(CLASSES, size=rows), rng.integers(MODES, size=rows)
    return centres[y, mode] + 0.5 * rng.normal(size=(rows, COLUMNS)), y


X, Y = modes(1200, 1)
X_NEW, Y_NEW = modes(1000, 2)


def several(number: int = 4, **how: Any) -> SoftmaxTreeClassifier:
    return SoftmaxTreeClassifier(3, 6, n_members=number, random_state=0, **how)


@pytest.fixture(scope="module")
def model() -> SoftmaxTreeClassifier:
    return several().fit(X, Y)


def means(model: Any, x: np.ndarray) -> np.ndarray:
    """The mean of all trees' probabilities, by their modules."""
    samples = model.samples(x, Y_NEW[: len(x)])
    return np.mean([tree.predict_proba(samples).numpy() for tree in model._trees()], axis=0)


@pytest.mark.parametrize("rest", [0.0, 0.3])
def test_the_mean_of_choices_is_that_of_their_probabilities(rest: float) -> None:
    rng, shares = np.random.default_rng(3), np.array([0.4, 0.0, 0.3, 0.2, 0.1, 0.0])

    def drawn() -> Choices:
        owns = [np.sort(rng.choice(6, rng.integers(1, 5), replace=False)) for _ in range(50)]
        lacks = np.array([rest * bool(np.delete(shares, own).any()) for own in owns])
        both = zip(owns, lacks, strict=True)
        prob = [(1 - less) * rng.dirichlet(np.ones(len(own))) for own, less in both]
        starts = np.cumsum([0, *map(len, owns)])
        return Choices(np.concatenate(owns), np.log(np.concatenate(prob)), starts, lacks, shares)

    found = [drawn() for _ in range(3)]
    mean, dense = mean_of(found), np.mean([np.exp(each.dense(6)) for each in found], axis=0)
    assert np.allclose(np.exp(mean.dense(6)), dense, atol=1e-12)
    assert np.allclose(dense.sum(1), 1) and mean_of(found[:1]) is found[0]
    inside = mean.matrix(6).toarray()
    assert np.allclose(inside.sum(1) + mean.rest, 1)
    assert (mean.likeliest() == inside.argmax(1)).all()
    rows = [found[0].row(i).dense(6)[0] for i in range(len(dense))]
    np.testing.assert_allclose(rows, found[0].dense(6))


def test_predictions_are_those_of_the_mean(model: SoftmaxTreeClassifier) -> None:
    prob = model.predict_proba(X_NEW)
    assert np.allclose(prob, means(model, X_NEW), atol=1e-6) and np.allclose(prob.sum(1), 1)
    assert (model.predict(X_NEW) == prob.argmax(1)).all()
    inside = model.predict_proba(X_NEW, sparse=True)
    np.testing.assert_allclose(inside.data, means(model, X_NEW)[inside.nonzero()], atol=1e-6)
    assert inside.nnz < prob.size
    classes, top = model.predict_top(X_NEW, 3)
    assert np.allclose(top, -np.sort(-prob, axis=1)[:, :3])
    assert (classes[:, 0] == prob.argmax(1)).all()
    for row, expected, p in zip(X_NEW[:50], model.predict(X_NEW), prob, strict=False):
        assert model.predict_one(row) == expected
        own, alone = model.predict_proba_one(row)
        assert np.allclose(alone, p[own], atol=1e-6)


def test_the_first_is_the_tree_that_one_alone_would_be(model: SoftmaxTreeClassifier) -> None:
    alone = several(1).fit(X, Y)
    assert len(model.members_) == 4 and model.trained_ is model.members_[0]
    assert model.export_text() == alone.export_text()
    assert model.apply(X_NEW).shape == (len(X_NEW), 4)
    assert (model.apply(X_NEW)[:, 0] == alone.apply(X_NEW)).all()
    texts = {str(member.tree.weights.tolist()) for member in model.members_}
    assert len(texts) == 4


@pytest.mark.parametrize("start", ["rows", "axes"])
def test_threads_train_the_same_trees(start: str) -> None:
    # Of so few rows that a decision tree on single columns would warn of many classes.
    x, y = X[:150], np.arange(150) % 60
    both = (several(start=start, n_jobs=jobs).fit(x, y)._trees() for jobs in (None, 3))
    for one, other in zip(*both, strict=True):
        assert (one.weights == other.weights).all() and (one.table == other.table).all()


def test_figures_are_sums_over_the_trees(model: SoftmaxTreeClassifier) -> None:
    found = model.measure(X_NEW, Y_NEW)
    assert found.leaves == model.get_n_leaves() and found.depth == model.get_depth() == 3
    assert found.error == pytest.approx(1 - model.score(X_NEW, Y_NEW))
    weights = [sum(tree.used(v) for v in range(15)) for tree in model._trees()]
    assert found.nonzeros == sum(weights)
    inside = model.predict_proba(X_NEW, sparse=True)[np.arange(len(Y_NEW)), Y_NEW]
    assert found.coverage == pytest.approx((np.asarray(inside) > 0).mean())


@pytest.mark.parametrize("kind", [SoftmaxTreeClassifier, AdaptiveSoftmaxTreeClassifier])
def test_several_trees_are_more_accurate_and_surer_than_one(kind: Any) -> None:
    narrow = {"leaf_penalty": 1e-3}  # else one leaf of parts of classes is enough
    if kind is AdaptiveSoftmaxTreeClassifier:
        narrow |= {"alpha": 0.7}  # as wide ones gain less
    one, several = (kind(n_members=n, random_state=0, **narrow).fit(X, Y) for n in (1, 5))
    assert several.score(X_NEW, Y_NEW) > one.score(X_NEW, Y_NEW) + 0.03
    loss = [log_loss(Y_NEW, model.predict_proba(X_NEW)) for model in (one, several)]
    assert loss[1] < 0.8 * loss[0]


def test_files_and_sparse_rows_with_weights(tmp_path: Path) -> None:
    x, weights = csr_matrix(np.maximum(X, 0)), np.linspace(0, 2, len(Y))
    how = {"leaf_penalty": 0.1, "start": "rows"}
    model = several(3, **how).fit(x, Y, weights)
    model.save(tmp_path / "trees")
    again = SoftmaxTreeClassifier.load(tmp_path / "trees")
    assert (again.predict_proba(x) == model.predict_proba(x)).all() and len(again.members_) == 3
    assert (several(3, **how).fit(x, Y, weights).predict_proba(x) == model.predict_proba(x)).all()
    assert (again.predict(x) == again.predict_proba(x).argmax(1)).all()


def test_rare_classes_are_known_to_all_trees() -> None:
    y = np.append(Y, [98, 99])
    model = several(5).fit(np.vstack([X, X[:2]]), y)
    assert (model.predict_proba(X_NEW) > 0).all() and model.classes_[-1] == 99
    assert [tree.num_classes for tree in model._trees()] == [CLASSES + 2] * 5


def test_a_first_tree_of_one_leaf_does_not_take_the_rest_of_the_others() -> None:
    rng = np.random.default_rng(4)
    centres = rng.normal(size=(16, 2, 6))
    y, mode = rng.integers(16, size=800), rng.integers(2, size=800)
    x = centres[y, mode] + 0.6 * rng.normal(size=(800, 6))
    how = {"leaf_penalty": 1.0, "start": "rows", "max_rounds": 2, "random_state": 4, "alpha": 0.7}
    model = AdaptiveSoftmaxTreeClassifier(rho=0.8, start_depth=0, n_members=4, **how).fit(x, y)
    sizes = [tree.topology.num_nodes for tree in model._trees()]
    assert sizes[0] == 1 and any(tree.rest.any() for tree in model._trees())
    assert np.allclose(model.predict_proba(x).sum(1), 1)
    assert np.isfinite(model.predict_log_proba(x)).all()
    assert np.allclose(model.predict_top(x, 16)[1].sum(1), 1)


def test_unlikely_classes_stay_apart() -> None:
    def about(log_prob: list[float]) -> Choices:
        own = np.arange(3), np.array(log_prob), np.array([0, 3])
        return Choices(*own, np.zeros(1), np.full(3, 1 / 3))

    mean = mean_of([about([0.0, -100.0, -200.0]), about([0.0, -101.0, -201.0])])
    expected = np.logaddexp([-100, -200], [-101, -201]) - np.log(2)
    assert mean.log_prob[1:] == pytest.approx(expected)


def test_many_rows_take_little_memory_and_are_alike_in_batches(
    model: SoftmaxTreeClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = model.predict(X_NEW), model.predict_proba(X_NEW, sparse=True), model.predict_proba(X)
    monkeypatch.setattr(members, "BATCH", 1000)
    batches = model.predict(X_NEW), model.predict_proba(X_NEW, sparse=True), model.predict_proba(X)
    assert (whole[0] == batches[0]).all() and (whole[1] != batches[1]).nnz == 0
    assert (whole[2] == batches[2]).all()


@pytest.mark.parametrize("number", [0, 1.5, True])
def test_the_number_must_be_one(number: Any) -> None:
    with pytest.raises(ValueError, match=r"'n_members' .* Got"):
        several(number).fit(X, Y)
