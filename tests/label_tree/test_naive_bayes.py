"""Where a tree starts on sparse rows, beside scikit-learn's naive Bayes at each of its nodes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack, vstack
from sklearn.naive_bayes import MultinomialNB
from texts import code, spellings, texts

from structnet import LabelTreeClassifier
from structnet.estimators.held_out import hold_out
from structnet.estimators.naive_bayes import CERTAINTIES, POWERS, PRIORS
from structnet.label_tree import Examples, Features, LabelCodes, LabelTreeSettings, begin

MODULE = "structnet.estimators.naive_bayes."
GROUPS = [[0, 2], [1, 3, 4], 5]  # a tree of six labels
SETTINGS = LabelTreeSettings("huffman", 6, 0, 0, 1.0, start="naive_bayes")


def ones() -> tuple[csr_matrix, np.ndarray]:
    x, y = texts(300, 6, 50, 5, seed=0)
    y[::3] = y[::3] // 2  # labels of uneven sizes
    return x[:, np.diff(x.tocsc().indptr) > 0].sign().tocsr(), y


def examples_of(x: csr_matrix, y: np.ndarray, shares: Any = ()) -> Examples:
    return Examples(Features.from_csr(x), y, np.array(shares, np.float32))


def told(
    monkeypatch: pytest.MonkeyPatch, prior: float, certainty: float, power: float = 1.0
) -> None:
    for name, value in (("PRIORS", prior), ("CERTAINTIES", certainty), ("POWERS", power)):
        monkeypatch.setattr(MODULE + name, (value,))


def bayes(
    x: csr_matrix, y: np.ndarray, asked: csr_matrix, prior: float, certainty: float, power: float
) -> np.ndarray:
    """Log-probabilities of scikit-learn, of words that are more or less certain."""
    theirs = MultinomialNB(alpha=prior * np.asarray(x.mean(0)).ravel()).fit(x, y)
    logits = certainty * (asked @ theirs.feature_log_prob_.T) + power * theirs.class_log_prior_
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", [(1.0, 1.0, 1.0), (0.3, 0.2, 0.5), (10.0, 0.5, 0.0)])
def test_a_node_is_that_of_scikit_learn(
    kind: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, *kind)
    x, y = ones()
    tree = begin(examples_of(x, y), 6, SETTINGS)
    found = tree.log_prob_of_all(Features.from_csr(x))
    np.testing.assert_allclose(found, bayes(x, y, x, *kind), atol=1e-4)


@pytest.mark.parametrize("power", [1.0, 0.0])
def test_nodes_of_a_tree_are_those_of_the_labels_below_their_children(
    power: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, 0.3, 0.5, power)
    x, y = ones()
    codes = LabelCodes.from_nested(GROUPS, 3)
    found = begin(examples_of(x, y), 6, SETTINGS, codes).log_prob_of_all(Features.from_csr(x))
    counts = np.bincount(y) ** power
    # The words that are added are those of all examples, also at a node that only some reach.
    added, log_p = 0.3 * np.asarray(x.mean(0)).ravel(), np.zeros((len(y), 6))
    for labels in ([[0, 2], [1, 3, 4], [5]], [[0], [2]], [[1], [3], [4]]):
        sums = np.array([np.asarray(x[np.isin(y, each)].sum(0)).ravel() for each in labels])
        share = (sums + added) / (sums + added).sum(1, keepdims=True)
        logits = 0.5 * (x @ np.log(share).T) + np.log([counts[each].sum() for each in labels])
        node = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        for each, one in zip(labels, node.T, strict=True):
            log_p[:, each] += one[:, None]
    np.testing.assert_allclose(found, log_p, atol=1e-4)


def test_what_is_chosen_has_the_least_loss_on_rows_held_out() -> None:
    x, y = texts(2_000, 30, 300, 5, seed=1)
    x = x[:, np.diff(x.tocsc().indptr) > 20].sign().tocsr()
    losses = dict.fromkeys(product(PRIORS, CERTAINTIES, POWERS), 0.0)
    for part in range(5):
        learn, held = hold_out(2_000, 0.1, part)
        for each in losses:
            log_p = bayes(x[learn], y[learn], x[held], *each)
            losses[each] -= log_p[np.arange(len(held)), y[held]].sum()
    best = min(losses, key=losses.__getitem__)
    settings = LabelTreeSettings("huffman", 30, 0, 0, 1.0, start="naive_bayes")
    found = begin(examples_of(x, y), 30, settings).log_prob_of_all(Features.from_csr(x))
    np.testing.assert_allclose(found, bayes(x, y, x, *best), atol=1e-4)
    second = min((each for each in losses if each != best), key=losses.__getitem__)
    assert abs(found - bayes(x, y, x, *second)).max() > 0.01


def test_examples_that_are_held_out_are_of_all_labels_also_if_rows_are_sorted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first labels have a word each, the others one in 30 spellings that is often wrong."""
    rng, y = np.random.default_rng(0), np.repeat(np.arange(40), 50)
    wrong = (y >= 20) & (rng.random(len(y)) < 0.6)
    words = np.eye(40)[np.where(wrong, rng.integers(20, 40, size=len(y)), y)]
    x = csr_matrix(np.hstack([words[:, :20], np.repeat(words[:, 20:], 30, axis=1)]), dtype="f4")
    monkeypatch.setattr(MODULE + "CELLS", 40 * 50)  # of about 200 that are held out
    settings, found = LabelTreeSettings("huffman", 40, 0, 0, 1.0, start="naive_bayes"), []
    for order in (np.arange(len(y)), rng.permutation(len(y))):
        tree = begin(examples_of(x[order], y[order]), 40, settings)
        found.append(tree.log_prob_of_all(Features.from_csr(x)))
    np.testing.assert_allclose(*found, atol=1e-4)


def test_the_unit_does_not_matter_and_a_weight_is_a_number_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told(monkeypatch, 1.0, 0.2)
    x, y = ones()
    found = begin(examples_of(x, y), 6, SETTINGS).log_prob_of_all(Features.from_csr(x))
    large = Features.from_csr(100 * x)
    other = begin(Examples(large, y), 6, SETTINGS).log_prob_of_all(large)
    np.testing.assert_allclose(other, found, atol=1e-3)
    twice = examples_of(vstack([x, x[y == 2]]).tocsr(), np.append(y, y[y == 2]))
    weighed = examples_of(x, y, 1.0 + (y == 2))
    found, other = (
        begin(each, 6, SETTINGS).log_prob_of_all(Features.from_csr(x)) for each in (twice, weighed)
    )
    np.testing.assert_allclose(other, found, atol=1e-4)


def test_of_few_texts_a_class_it_is_chosen_and_more_are_right() -> None:
    x, y = code()
    learn = np.arange(len(y)) < 0.7 * len(y)
    model = LabelTreeClassifier(random_state=0).fit(x[learn], y[learn])
    assert model.settings_.start == "naive_bayes" and not model.history_
    told: Any = {"tree": "huffman", "arity": 1000, "vector_size": 0, "start": "clusters"}
    before = LabelTreeClassifier(epochs=13, random_state=0, **told).fit(x[learn], y[learn])
    assert model.score(x[~learn], y[~learn]) > before.score(x[~learn], y[~learn]) + 0.02


def test_where_words_depend_on_each_other_a_node_is_trained() -> None:
    words, y = spellings()
    model = LabelTreeClassifier(random_state=0).fit(words[:1_500], y[:1_500])
    assert model.settings_.start != "naive_bayes"
    assert model.score(words[1_500:], y[1_500:]) > 0.9


@pytest.mark.parametrize("how", [{"tree": "huffman", "arity": 6}, {"tree": "complete", "arity": 3}])
def test_with_epochs_it_is_the_mean_with_what_is_trained(how: Any) -> None:
    """Of scores at each node: of log-probabilities, if there is one node."""
    x, y = ones()
    told: Any = {"vector_size": 0, "learning_rate": 0.5, "random_state": 0, **how}
    trained, bayes, half = (
        LabelTreeClassifier(start=start, epochs=epochs, **told).fit(x, y)
        for start, epochs in (("clusters", 3), ("naive_bayes", 0), ("naive_bayes", 3))
    )
    for weight in ("weight", "bias"):
        of = [getattr(each.tree_.softmax, weight).detach().numpy() for each in (trained, bayes)]
        found = getattr(half.tree_.softmax, weight).detach().numpy()
        np.testing.assert_allclose(found, (of[0] + of[1]) / 2, atol=1e-5)
    if how["arity"] == 6:
        logits = (trained.predict_log_proba(x) + bayes.predict_log_proba(x)) / 2
        mean = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        np.testing.assert_allclose(half.predict_log_proba(x), mean, atol=1e-4)
    held_out = LabelTreeClassifier(start="naive_bayes", epochs=3, **told)
    last = held_out.fit(x, y, X_val=x, y_val=y).history_[-1]["validation_loss"]
    own = half.predict_log_proba(x)[np.arange(len(y)), y]
    assert last == pytest.approx(-own.mean(), abs=1e-5)


def test_where_either_is_wrong_about_other_texts_the_mean_is_chosen_and_more_are_right() -> None:
    """One word of each label is often another label's, in five spellings that occur together."""
    x, y = texts(2_500, 10, 400, 6, seed=0, spread=2.4)
    rng = np.random.default_rng(0)
    word = np.where(rng.random(len(y)) < 0.65, rng.integers(10, size=len(y)), y)
    x = hstack([x, csr_matrix(np.repeat(np.eye(10, dtype="f4")[word], 5, axis=1))]).tocsr()
    told: Any = {"tree": "huffman", "arity": 10, "vector_size": 0}
    model, trained, bayes = (
        LabelTreeClassifier(random_state=0, **each).fit(x[:1_000], y[:1_000])
        for each in ({}, {"start": "clusters", **told}, {"start": "naive_bayes", **told})
    )
    assert model.settings_.start == "naive_bayes" and model.settings_.epochs
    right, *others = (each.score(x[1_000:], y[1_000:]) for each in (model, trained, bayes))
    assert right > max(others) + 0.01


def test_whoever_asks_for_it_gets_the_one_that_the_default_picks() -> None:
    x, y = code()
    learn = np.arange(len(y)) < 0.7 * len(y)
    model = LabelTreeClassifier(random_state=0).fit(x[learn], y[learn])
    asked = LabelTreeClassifier(start="naive_bayes", random_state=0).fit(x[learn], y[learn])
    assert model.settings_.arity == asked.settings_.arity == len(model.classes_)
    found, expected = (each.predict_log_proba(x[~learn]) for each in (asked, model))
    np.testing.assert_array_equal(found, expected)


def test_in_a_stream_it_is_a_node_of_few_classes_and_a_tree_of_many() -> None:
    x, y = texts(1_200, 30, 100, 5, seed=0)
    for arity, tree in ((None, "huffman"), (5, "clusters")):
        model = LabelTreeClassifier(start="naive_bayes", arity=arity, random_state=0)
        model.partial_fit(x, y, classes=np.arange(30))
        assert model.settings_.tree == tree and model.settings_.arity == (arity or 30)


def test_it_can_be_asked_for() -> None:
    x, y = texts(600, 30, 500, 10, seed=0, spread=4.0)
    for how in ({"start": "naive_bayes"}, {"epochs": 0}, {"epochs": 0, "vector_size": 0}):
        model = LabelTreeClassifier(random_state=0, **how).fit(x[:500], y[:500])
        assert model.settings_.start == "naive_bayes" and not model.history_
        assert model.score(x[500:], y[500:]) > 0.3
    trained = LabelTreeClassifier(start="naive_bayes", epochs=2, random_state=0)
    assert len(trained.fit(x, y).history_) == 2
    told = [str(each.summary()).splitlines()[1] for each in (model, trained)]
    assert told == ["nodes are naive Bayes", "nodes are half trained, half naive Bayes"]
    no_bias = LabelTreeClassifier(start="naive_bayes", bias=False, random_state=0).fit(x, y)
    assert not no_bias.tree_.softmax.bias.any()


@pytest.mark.parametrize(
    ("how", "number", "found"),
    [
        ({"tree": "learned"}, 1, 'not learned .* Got tree="learned"'),
        ({"vector_size": 5}, 1, "no vectors .* Got vector_size=5"),
        ({"standardize": False}, -1, "not negative. Got -1"),
        ({}, 0, "sparse rows or tokens. Got a dense table"),
    ],
)
def test_where_it_cannot_start_it_is_refused(how: Any, number: int, found: str) -> None:
    x, y = ones()
    rows: Any = number * x if number else x.toarray()
    with pytest.raises(ValueError, match=found):
        LabelTreeClassifier(start="naive_bayes", random_state=0, **how).fit(rows, y)


@pytest.mark.parametrize("number", [10, 300])
def test_a_stream_refuses_negative_numbers_however_few_come_first(number: int) -> None:
    x, y = ones()
    model = LabelTreeClassifier(start="naive_bayes", random_state=0)
    with pytest.raises(ValueError, match=r"not negative\. Got -"):
        model.partial_fit(-x[:number], y[:number], classes=np.arange(6))
    model.partial_fit(x[:number], y[:number], classes=np.arange(6))
    assert (model.settings_.start == "naive_bayes") == (number == 300)
