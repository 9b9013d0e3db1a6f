"""A single leaf that is solved, where few rows show no tree to be better, or of sparse rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix, hstack
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import MultinomialNB
from texts import code, spellings, texts

from structnet.estimators.checked import Checked
from structnet.estimators.few_rows import solved
from structnet.routing import Samples
from structnet.softmax_tree import (
    AdaptiveSoftmaxTreeClassifier,
    SoftmaxTree,
    SoftmaxTreeClassifier,
    choice,
    measured,
    train,
)
from structnet.softmax_tree.fold import Fold
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenSettings, SoftmaxTreeSettings
from structnet.softmax_tree.training import leaves_trained

BOTH = pytest.mark.parametrize("kind", [SoftmaxTreeClassifier, AdaptiveSoftmaxTreeClassifier])


def apart(number: int, seed: int = 0, columns: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes that lie apart on six of the columns, with heavy tails."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(number) % 2)
    x = rng.standard_t(3, size=(number, columns))
    x[:, :6] += 1.2 * y[:, None]
    return x, y


@BOTH
@pytest.mark.parametrize("weighted", [False, True])
def test_its_scores_are_the_solution_of_all_rows(kind: Any, weighted: bool) -> None:
    x, y = apart(60)
    weights = np.random.default_rng(1).uniform(0.5, 2, 60) if weighted else None
    model = kind(standardize=False, random_state=0).fit(x, y, weights)
    assert model.settings_.solved and model.history_[-1]["leaves"] == 1
    rows = Checked(x.astype(np.float32), y, weights)
    weight, bias = solved(rows, 2, model.seed_)
    expected = log_softmax(rows.x @ weight.T + bias, axis=1)
    np.testing.assert_allclose(model.predict_log_proba(x), expected, atol=1e-4)
    again = train(rows.x, y, model.settings_, model.trained_.growth, weights=weights)
    np.testing.assert_allclose(again.tree.choices(rows.x).dense(2), expected, atol=1e-4)


@BOTH
def test_a_tree_that_is_surely_better_is_taken(kind: Any) -> None:
    x = np.random.default_rng(0).normal(size=(200, 2))
    model = kind(random_state=0).fit(x, (x > 0).sum(1) == 1)
    assert not model.settings_.solved and model.history_[-1]["leaves"] > 2


@pytest.mark.parametrize(
    "given", [{"leaf_penalty": 1.0}, {"depth": 1}, {"k": 2}, {"start": "rows"}]
)
def test_what_is_given_is_trained(given: dict[str, Any]) -> None:
    x, y = apart(60)
    assert not SoftmaxTreeClassifier(**given, random_state=0).fit(x, y).settings_.solved


def test_negative_sparse_rows_and_many_rows_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structnet.softmax_tree.solved_leaf.PRODUCTS", 401 * 6**2 - 1)
    x, y = apart(401, columns=6)
    for rows, classes in ((x, y), (csr_matrix(x[:60]), y[:60])):
        assert not SoftmaxTreeClassifier(random_state=0).fit(rows, classes).settings_.solved


def test_of_more_rows_it_is_a_discriminant_analysis_where_columns_vary_together() -> None:
    rng = np.random.default_rng(0)
    y, centres = rng.integers(10, size=1500), 0.25 * rng.normal(size=(10, 60))
    x = centres[y] + 0.5 * rng.normal(size=(1500, 10)) @ rng.normal(size=(10, 60))
    x += 0.6 * rng.normal(size=x.shape)
    y = np.where(rng.random(1500) < 0.15, rng.integers(10, size=1500), y)
    learn, asked = slice(500), slice(500, None)
    model = SoftmaxTreeClassifier(random_state=0).fit(x[learn], y[learn])
    assert model.settings_.is_solved
    trained = SoftmaxTreeClassifier(depth=0, start="rows", random_state=0).fit(x[learn], y[learn])
    right = [each.score(x[asked], y[asked]) for each in (model, trained)]
    assert right[0] > right[1] + 0.05


def test_each_member_is_solved() -> None:
    x, y = apart(60)
    model = SoftmaxTreeClassifier(n_members=3, random_state=0).fit(x, y)
    assert all(each.settings.solved for each in model.members_)
    found = [each.tree.choices(model.samples(x, y).x).dense(2) for each in model.members_]
    assert all(0 < np.abs(each - found[0]).max() < 3 for each in found[1:])


@pytest.mark.parametrize("number", [30, 90])
def test_of_few_rows_nothing_is_sure_by_chance(number: int) -> None:
    found = []
    for seed in range(3):
        x, y = apart(1000, seed)
        learn, asked = slice(0, number), slice(number, None)
        model = SoftmaxTreeClassifier(random_state=seed).fit(x[learn], y[learn])
        unit = x[learn].std(0)
        theirs = LogisticRegression().fit(x[learn] / unit, y[learn])
        of = model.predict_proba(x[asked]), theirs.predict_proba(x[asked] / unit)
        found.append([log_loss(y[asked], each) for each in of])
    ours, expected = np.mean(found, axis=0)
    assert ours < expected


# Naive Bayes of sparse rows

BAYES = ChosenSettings(0, 6, 1.0, 1.0, start="centroids", max_iter=0, solved=(0.3, 0.2, 0.5))


def scores(tree: SoftmaxTree, x: Any) -> np.ndarray:
    return tree.choices(x).dense(tree.num_classes)


def bayes(x: Any, y: np.ndarray, asked: Any, how: tuple[float, ...]) -> np.ndarray:
    """Log-probabilities of scikit-learn's naive Bayes, of words that are more or less certain."""
    prior, certainty, power = how
    known = MultinomialNB(alpha=prior * np.asarray(x.mean(0)).ravel()).fit(x, y)
    logits = asked @ known.feature_log_prob_.T * certainty + power * known.class_log_prior_
    return log_softmax(logits, axis=1)


def ones(number: int = 300, classes: int = 6) -> tuple[csr_matrix, np.ndarray]:
    x, y = texts(number, classes, 50, 5, seed=0)
    return x[:, np.diff(x.tocsc().indptr) > 0].sign().tocsr(), y


def test_naive_bayes_is_that_of_scikit_learn_and_half_of_it_the_mean_with_what_is_trained() -> None:
    x, y = ones()
    alone = train(x, y, BAYES).tree
    expected = bayes(x, y, x, BAYES.solved)
    np.testing.assert_allclose(scores(alone, x), expected, atol=1e-4)
    told = replace(BAYES, max_iter=5)
    trained, half = (train(x, y, how).tree for how in (replace(told, solved=()), told))
    mean = log_softmax((scores(trained, x) + expected) / 2, axis=1)
    np.testing.assert_allclose(scores(half, x), mean, atol=1e-4)
    assert np.abs(scores(trained, x) - expected).max() > 0.1


@pytest.mark.parametrize(("depth", "sums"), [(1, choice.FLAT), (0, 0)])
def test_half_of_a_leaf_is_tried_beside_a_tree_and_beside_a_leaf_however_large(
    depth: int, sums: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[ChosenSettings] = []
    best, wrong_about = choice._best_tree, Fold.wrong_about

    def recorded(self: Fold, kind: ChosenSettings, *how: Any) -> np.ndarray:
        tried.append(kind)
        return wrong_about(self, kind, *how)

    monkeypatch.setattr(Fold, "wrong_about", recorded)
    monkeypatch.setattr(choice, "_best_tree", lambda of: replace(best(of), depth=depth))
    monkeypatch.setattr(choice, "FLAT", sums)
    SoftmaxTreeClassifier(random_state=0).fit(*ones(120))
    assert any(kind.solved and kind.max_iter and not kind.depth for kind in tried)


def test_what_the_half_shares_with_the_best_leaf_is_trained_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained: list[ChosenSettings] = []
    train_ = Fold._trained

    def recorded(self: Fold, draft: Any, kind: ChosenSettings, *how: Any, **more: Any) -> Any:
        trained.append(kind)
        return train_(self, draft, kind, *how, **more)

    monkeypatch.setattr(Fold, "_trained", recorded)
    points = Points.made(*ones(), 6)
    good, bad = (replace(BAYES, max_iter=5, solved=(), leaf_penalty=each) for each in (1.0, 100.0))
    half, alone = replace(good, solved=BAYES.solved), Fold(points, points)
    found = alone.wrong_about(half, None, None)
    fold = Fold(points, points)
    for kind in (bad, good, bad, half):
        fold.wrong_about(kind, None, None)
    assert trained == [good, bad, good]  # the half alone, and then each of both
    np.testing.assert_array_equal(fold.wrong_about(half, None, None), found)


def test_dense_rows_give_the_same_naive_bayes_and_sparse_ones_the_same_solution() -> None:
    x, y = ones()
    full = train(x.toarray(), y, BAYES).tree
    np.testing.assert_allclose(scores(full, x), scores(train(x, y, BAYES).tree, x), atol=1e-5)
    rows, classes = apart(60)
    model = SoftmaxTreeClassifier(standardize=False, random_state=0).fit(rows, classes)
    sparse = train(csr_matrix(rows), classes, model.settings_).tree
    np.testing.assert_allclose(model.predict_log_proba(rows), scores(sparse, rows), atol=1e-4)
    with pytest.raises(ValueError, match=r"naive Bayes, .* not negative\. Got -"):
        train(csr_matrix(rows), classes, replace(BAYES, k=2))


def test_a_word_that_no_text_had_says_nothing() -> None:
    x, y = ones()
    x = hstack([x, csr_matrix((300, 2), dtype=np.float32)]).tocsr()
    tree, asked = train(x, y, BAYES).tree, x[:5].toarray()
    expected = scores(tree, asked)
    asked[:, -1] = 9
    np.testing.assert_array_equal(scores(tree, asked), expected)


@BOTH
def test_of_few_texts_a_class_it_is_chosen_and_more_are_right(kind: Any, tmp_path: Path) -> None:
    x, y = code()
    x, y = x[y < 60], y[y < 60]
    learn = np.arange(len(y)) < 0.7 * len(y)
    model = kind(random_state=0).fit(x[learn], y[learn])
    assert len(model.settings_.solved) == 3
    assert "naive Bayes, was best on held-out samples; set " in str(model.summary())
    before = SoftmaxTreeClassifier(start="centroids", random_state=0).fit(x[learn], y[learn])
    asked, classes = x[~learn], y[~learn]
    known = np.isin(classes, model.classes_)
    losses = [
        log_loss(classes[known], each.predict_proba(asked)[known], labels=each.classes_)
        for each in (model, before)
    ]
    assert model.score(asked, classes) > before.score(asked, classes) + 0.02
    assert losses[0] < losses[1]
    model.save(tmp_path / "model")
    found = kind.load(tmp_path / "model").predict_log_proba(asked)
    np.testing.assert_array_equal(found, model.predict_log_proba(asked))
    assert model.predict_one(asked[0].toarray()[0]) == model.predict(asked[0])[0]


def test_it_is_not_asked_where_a_tree_is_or_numbers_are_negative() -> None:
    x, y = ones(900, 3)
    for rows, given in ((x, {"leaf_penalty": 1.0}), (x, {"depth": 1}), (-x, {})):
        model = SoftmaxTreeClassifier(**given, random_state=0).fit(rows, y)
        assert not model.settings_.solved


def test_a_tree_that_is_to_grow_from_one_leaf_or_from_narrow_ones_is_not_solved() -> None:
    rng = np.random.default_rng(0)
    both = rng.integers(0, 2, (3000, 2))
    x = csr_matrix(np.hstack([both, 1 - both]), dtype=np.float32)
    y = both.sum(1) % 2 ^ (rng.random(3000) < 0.1)  # of which no single leaf knows anything
    model = AdaptiveSoftmaxTreeClassifier(start_depth=0, random_state=0).fit(x, y)
    assert model.get_n_leaves() > 1 and model.score(x, y) > 0.85
    x, y = ones()
    narrow = AdaptiveSoftmaxTreeClassifier(start_k=5, random_state=0).fit(x, y)
    assert not narrow.settings_.solved


def test_held_out_rows_that_join_few_change_no_kind_of_leaf() -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(430) % 3)
    x = rng.normal(size=(430, 20))
    x[:, :10] += 0.7 * rng.normal(size=(3, 10))[y]
    model = AdaptiveSoftmaxTreeClassifier(random_state=0).fit(x, y)  # of which 43 are held out
    assert model.settings_.solved[3] > 0  # a logistic regression is beside the discriminants


def test_columns_that_vary_together_have_a_solved_leaf() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 720)
    x = 0.45 * rng.normal(size=(20, 600))[y] + rng.normal(size=(720, 600))
    x += 0.3 * rng.normal(size=(720, 200)) @ rng.normal(size=(200, 600))
    model = SoftmaxTreeClassifier(random_state=0).fit(x[:420], y[:420])
    assert model.settings_.is_solved and model.score(x[420:], y[420:]) > 0.6


def test_a_leaf_that_lacks_classes_is_not_half_of_one_that_has_them() -> None:
    x, y = ones()
    narrow = replace(BAYES, max_iter=5, k=3)
    trees = [train(x, y, how).tree for how in (narrow, replace(narrow, solved=()))]
    np.testing.assert_array_equal(scores(trees[0], x), scores(trees[1], x))


def test_the_leaves_alone_are_half_of_it_too() -> None:
    x, y = ones()
    told = replace(BAYES, max_iter=5)
    half, trained = (leaves_trained(x, y, how, 6)[0] for how in (told, replace(told, solved=())))
    expected = log_softmax((scores(trained, x) + scores(train(x, y, BAYES).tree, x)) / 2, axis=1)
    np.testing.assert_allclose(scores(half, x), expected, atol=1e-4)


def test_where_words_depend_on_each_other_a_leaf_is_trained() -> None:
    words, y = spellings()
    model = SoftmaxTreeClassifier(random_state=0).fit(words[:1_500], y[:1_500])
    assert not model.settings_.is_solved
    assert model.score(words[1_500:], y[1_500:]) > 0.9


def test_half_of_it_is_the_same_after_an_interruption(tmp_path: Path) -> None:
    x, y = ones()
    told, file = replace(BAYES, max_iter=5, tol=0.0), tmp_path / "state"
    whole = train(x, y, told).tree

    def stop(history: Any) -> None:
        if len(history) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(x, y, told, state_file=file, callbacks=[stop])
    again = train(x, y, told, state_file=file).tree
    np.testing.assert_array_equal(scores(again, x), scores(whole, x))


def test_columns_of_noise_cost_nothing() -> None:
    x, y = apart(120, columns=4)
    x = np.c_[x, np.random.default_rng(5).normal(size=(120, 300))]
    found = train(x, y, SoftmaxTreeSettings())
    *others, number = found.settings.solved
    assert 4 <= number < 20
    every = train(x, y, replace(found.settings, solved=(*others, 0)))  # 0 stands for all
    for each, used in ((found, number), (every, 304)):
        flops = measured([each.tree], Samples(x, torch.from_numpy(y))).flops
        assert flops == 2 * used
