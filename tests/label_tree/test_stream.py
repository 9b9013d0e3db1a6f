"""LabelTreeClassifier.partial_fit: samples that arrive in portions."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from label_trees import planted, tokens
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from structnet.estimators.scale import Standardizer
from structnet.label_tree import CollapseError, LabelTreeClassifier
from structnet.label_tree.stream import rescale
from structnet.label_tree.tokens import bags_of


def test_a_stream(points: tuple) -> None:
    x, y = points
    model = LabelTreeClassifier(arity=3, random_state=0)
    for start in range(0, 2000, 200):
        model.partial_fit(x[start : start + 200], y[start : start + 200], classes=np.unique(y))
    assert model.score(x, y) > 0.5
    with pytest.raises(ValueError, match="the first call of partial_fit needs classes"):
        LabelTreeClassifier().partial_fit(x, y)
    for classes in ([], "abc", [[0, 1], [2, 3]], {"a", "b"}):
        with pytest.raises(ValueError, match="classes must be a list of all classes"):
            LabelTreeClassifier().partial_fit(x, y, classes=classes)
    with pytest.raises(ValueError, match="got the class 'none'"):
        model.partial_fit(x[:1], ["none"])


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
@pytest.mark.parametrize("size", [30, 1000])
def test_a_stream_without_settings_learns_as_much_as_one_of_a_linear_model(
    kind: Any, size: int
) -> None:
    rng = np.random.default_rng(0)
    y, centres = np.arange(5000) % 100, rng.normal(size=(100, 40)) * (rng.random((100, 40)) < 0.4)
    rows = centres[y] + rng.normal(size=(5000, 40)) * 0.3
    rows *= rng.random((5000, 40)) < 0.8
    model = LabelTreeClassifier(random_state=0)
    for start in range(0, 4000, size):
        part = slice(start, min(start + size, 4000))
        model.partial_fit(kind(rows[part]), y[part], classes=np.arange(100))
    assert model.score(kind(rows[4000:]), y[4000:]) > 0.95  # SGDClassifier: 0.75 to 0.97


@pytest.mark.parametrize("size", [1, 5, 20, 60, 300])
def test_a_few_rows_at_first_do_not_mislead_a_stream(size: int) -> None:
    (x, y), model = load_digits(return_X_y=True), LabelTreeClassifier(random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x[order], y[order]
    for start in range(0, 1400, size):
        part = slice(start, min(start + size, 1400))
        model.partial_fit(x[part], y[part], classes=np.arange(10))
    assert model.score(x[1400:], y[1400:]) > 0.92  # of 20 rows, a discriminant analysis left 0.75


def test_a_stream_keeps_what_it_is_told() -> None:
    x, y = csr_matrix(np.eye(6)[np.arange(60) % 6]), np.arange(60) % 6
    for told, found in (
        ({}, ("huffman", 6, 0)),
        ({"arity": 2}, ("learned", 2, 0)),
        ({"tree": "complete"}, ("complete", 6, 0)),
        ({"memory": 0.6}, ("learned", 6, 50)),
        ({"vector_size": 4}, ("huffman", 6, 4)),
    ):
        model = LabelTreeClassifier(random_state=0, **told).partial_fit(x, y, classes=np.arange(6))
        used = model.settings_
        assert (used.tree, used.arity, used.vector_size) == found, told


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"vector_size": 5},
        {"vector_size": 0, "sparse": True},
        {"tokens": True},
        {"arity": 6},
        {"arity": 40, "labels": 40},
        {"vector_size": 0, "sparse": True, "n_jobs": 2},
    ],
    ids=str,
)
def test_a_portion_at_which_a_stream_collapses_is_undone(how: dict, tmp_path: Path) -> None:
    """Wherever its steps went: other nodes and features than in the portions before."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(400, 12)) * (rng.random((400, 12)) < 0.5), how.get("labels", 6)
    y = (X @ rng.normal(size=(12, labels))).argmax(1)
    kind = csr_matrix if how.get("sparse") else np.asarray
    given, later = kind(X), kind(np.full((9, 12), 1e30))
    if "tokens" in how:
        given, later = rng.integers(9, size=(400, 3)), rng.integers(9, size=(9, 3))
    told = {"arity": 2, **how, "random_state": 0, "standardize": False}
    told = {k: v for k, v in told.items() if k not in ("sparse", "labels")}
    model = LabelTreeClassifier(**told)
    for part in (slice(0, 200), slice(200, 400)):
        model.partial_fit(given[part], y[part], classes=np.arange(labels))
    if "tokens" in how:
        model.set_params(learning_rate=1e30)
        model.trained_.settings = replace(model.settings_, learning_rate=1e30)
    before, records = copy.deepcopy(model.tree_.state_dict()), len(model.trained_.epochs)
    for codes in (y[:9], np.arange(9) % 2):
        with np.errstate(all="ignore"), pytest.raises(CollapseError):
            model.partial_fit(later, codes)
    for name, value in model.tree_.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert len(model.trained_.epochs) == records and model.trained_.done == 400
    model.save(tmp_path / "model")
    assert np.isfinite(LabelTreeClassifier.load(tmp_path / "model").predict_proba(given)).all()


def test_a_first_portion_that_fails_leaves_no_trace(points: tuple) -> None:
    x, y = points
    model = LabelTreeClassifier(random_state=0)
    with pytest.raises(ValueError, match="got the class 'none'"):
        model.partial_fit(x[:2], ["none", "group 0"], classes=np.unique(y))
    assert vars(model).keys() == model.get_params().keys()
    for ask in (lambda: model.predict(x), lambda: model.tree_, lambda: model.save("nowhere")):
        with pytest.raises(NotFittedError):
            ask()


def test_later_classes_are_those_of_the_first_call(points: tuple) -> None:
    x, y = points
    names = np.unique(y)
    model = LabelTreeClassifier(arity=3, random_state=0).partial_fit(x[:50], y[:50], classes=names)
    model.partial_fit(x[50:90], y[50:90], classes=names[::-1].tolist())
    for classes, said in (
        ([*names, "more"], "Got 10, among them 'more'"),
        (names[1:], "Got 8, without 'group 0'"),
        (np.arange(9), "Got 9, among them 0"),
        (["other", "group 1"], "Got 2, among them 'other'"),
    ):
        expected = f"classes must be the 9 that the model has. {said}"
        with pytest.raises(ValueError, match=expected):
            model.partial_fit(x[:9], y[:9], classes=classes)
    assert model.classes_.tolist() == names.tolist()


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, "tokens"])
def test_a_stream_may_begin_with_one_sample(points: tuple, kind: Any) -> None:
    x, y = points
    x = tokens(len(y))[0] if kind == "tokens" else kind(x)
    model = LabelTreeClassifier(arity=3, tokens=kind == "tokens", random_state=0)
    for part in (slice(0, 1), slice(1, 2), slice(2, 300)):
        model.partial_fit(x[part], y[part], [*np.unique(y)], np.ones(300)[part])
    assert np.isfinite(model.predict_proba(x)).all()
    with pytest.raises(ValueError, match=r"minimum of 2 is required|y has only one class"):
        model.fit(x[:1], y[:1])


def test_a_stream_of_single_samples_is_no_collapse_however_surprising() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    y = (x @ rng.normal(size=(4, 6))).argmax(1)
    fitted = LabelTreeClassifier(random_state=0).fit(x, y)
    new = LabelTreeClassifier(arity=2, random_state=0)
    new.partial_fit(x[:2], y[:2], classes=np.arange(6))
    for i in range(2, 62):
        new.partial_fit(x[i : i + 1], y[i : i + 1])
        fitted.partial_fit(x[i : i + 1], [(y[i] + 3) % 6])
    assert np.isfinite(new.predict_log_proba(x)).all()
    wild = LabelTreeClassifier(arity=2, learning_rate=100.0, random_state=0)
    with pytest.raises(CollapseError, match="expected a learning rate below 100"):
        for _ in range(3):
            wild.partial_fit(x, y, classes=np.arange(6))


def test_a_stream_after_a_fit_forgets_nothing_and_learns(tmp_path: Path) -> None:
    """Few passes of sparse rows take long steps, which would undo at their end what they gave."""
    rng = np.random.default_rng(0)
    x, y, _ = planted(5, 2, 30, 6000, seed=0, noise=2.5)
    rows, y = csr_matrix(x * (rng.random(x.shape) < 0.3)), y.astype(str)
    learn, later, test = slice(0, 1500), slice(1500, 4500), slice(4500, None)
    for told in ({"arity": 25}, {"tree": "learned", "arity": 5, "start": "clusters"}):
        how: dict[str, Any] = {"vector_size": 0, "epochs": 3, "learning_rate": 0.05, **told}
        LabelTreeClassifier(**how, random_state=0).fit(rows[learn], y[learn]).save(tmp_path / "one")
        right = []
        for part in (learn, later):
            model = LabelTreeClassifier.load(tmp_path / "one")
            right.append(model.score(rows[test], y[test]))
            shape = model.tree_.codes.to_nested()
            right.append(model.partial_fit(rows[part], y[part]).score(rows[test], y[test]))
            assert model.tree_.codes.to_nested() == shape  # labels that move would lose it
        assert right[1] > right[0] - 0.01 and right[3] > right[0]


def test_a_long_stream_goes_on_counting() -> None:
    x, y = np.eye(6)[np.arange(60) % 6], np.arange(60) % 6
    model = LabelTreeClassifier(arity=2, random_state=0)
    for _ in range(60):  # more than there are reassignments in a fit
        model.partial_fit(x, y, classes=np.unique(y))
    # A reassignment keeps half; so what is left comes to as much as a part has.
    assert float(model.tree_.softmax.seen.sum()) >= 0.4 * len(x)


@pytest.mark.parametrize("start", [None, "groups"])
def test_a_stream_of_tokens_is_reassigned(start: str | None) -> None:
    lists, y = tokens()
    model = LabelTreeClassifier(tokens=True, arity=4, start=start, memory=0.6, random_state=0)
    model.partial_fit(lists, y, classes=np.unique(y))
    assert model.settings_.start == "huffman" and len(model.trained_.rebuilds) == 1


@pytest.mark.parametrize("columns", [1, 10])
def test_a_stream_of_single_rows_learns_whatever_their_scale(columns: int) -> None:
    scores, answers = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(700, columns))
        y = (x[:, 0] + 0.3 * rng.normal(size=700) > 0).astype(int)
        for size, place in ((1.0, 0.0), (1e-3, 0.0), (1e3, 5e3))[: 3 if seed == 0 else 1]:
            rows, model = size * x + place, LabelTreeClassifier(random_state=0)
            for i in range(300):
                model.partial_fit(rows[i : i + 1], y[i : i + 1], classes=[0, 1])
            scores.append(model.score(rows[300:], y[300:]))
            answers += [model.predict_proba(rows)] if seed == 0 else []
    assert min(scores) > 0.83 and np.mean(scores) > 0.86  # SGDClassifier: 0.86 after 1,000 rows
    for each in answers[1:]:
        np.testing.assert_allclose(each, answers[0], atol=1e-4)


def test_a_first_row_near_0_does_not_set_the_rate() -> None:
    rng = np.random.default_rng(0)
    x = np.vstack([[[1e-3, 0.0]], rng.normal(size=(200, 2))])
    y = (x[:, 0] > 0).astype(int)
    for told in ({}, {"standardize": False}, {"standardize": False, "bias": False}):
        model = LabelTreeClassifier(random_state=0, **told)
        model.partial_fit(x[:1], y[:1], classes=[0, 1])
        assert model.settings_.learning_rate <= 1
        for i in range(1, 201):
            model.partial_fit(x[i : i + 1], y[i : i + 1])
        assert 0.2 < model.settings_.learning_rate < 0.5 and model.score(x, y) > 0.9


@pytest.mark.parametrize("rate", [None, 0.1])
def test_a_weight_counts_the_same_in_any_portion(rate: float | None) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 2)), rng.integers(2, size=400)
    for weight in (1e-6, 0.1, 50.0):
        weights = np.where(y == 1, weight, 1.0)
        expected, found = weights[y == 1].sum() / weights.sum(), []
        for size in (1, 10, 400):
            model = LabelTreeClassifier(learning_rate=rate, random_state=0)
            for i in range(0, 400, size):
                part = slice(i, i + size)
                model.partial_fit(x[part], y[part], [0, 1], sample_weight=weights[part])
            found.append(float(model.predict_proba(x)[:, 1].mean()))
        assert all(abs(each - expected) < 0.05 for each in found), (weight, found)


def test_a_weight_after_a_fit_is_relative_to_the_mean_of_the_fit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y, weights = (x[:, 0] > 0).astype(int), rng.random(300) + 0.5
    answers = []
    for unit in (1.0, 2.0**20):
        model = LabelTreeClassifier(random_state=0).fit(x[:200], y[:200], unit * weights[:200])
        model.save(tmp_path / "model")
        model = LabelTreeClassifier.load(tmp_path / "model")
        model.partial_fit(x[200:], y[200:], sample_weight=unit * weights[200:])
        answers.append(model.predict_proba(x))
    np.testing.assert_array_equal(*answers)
    with pytest.raises(ValueError, match=r"sample_weight has the number 1e\+39; expected at most"):
        LabelTreeClassifier().partial_fit(x, y, [0, 1], np.full(300, 1e39))


def test_a_stream_goes_on_from_a_file_and_is_undone_with_its_scale(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)) * [1.0, 100.0, 1e-4] + 7
    y = (x[:, 0] > 7).astype(int) + (x[:, 1] > 0)
    whole = LabelTreeClassifier(arity=2, random_state=0)
    for i in range(100):
        whole.partial_fit(x[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    whole.save(tmp_path / "model")
    again = LabelTreeClassifier.load(tmp_path / "model")
    before, answers = whole.input_scale_.to_lists(), whole.predict_proba(x)
    weight = whole.tree_.softmax.weight.detach().clone()
    counts, done = whole.tree_.softmax.counts.clone(), whole.trained_.done
    for of, name in ((whole.trained_, "_stream"), (whole, "_by_part")):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(of, name, interrupted)
            whole.partial_fit(x[100:200], y[100:200])
        assert whole.input_scale_.to_lists() == before
        assert torch.equal(whole.tree_.softmax.weight, weight)
        assert torch.equal(whole.tree_.softmax.counts, counts) and whole.trained_.done == done
        np.testing.assert_array_equal(whole.predict_proba(x), answers)
    for model in (whole, again):
        model.partial_fit(x[100:200], y[100:200])
        assert model.input_scale_.to_lists() != before
    np.testing.assert_array_equal(whole.predict_proba(x), again.predict_proba(x))


def interrupted(*args: Any) -> None:
    raise KeyboardInterrupt


def test_another_scale_changes_no_answer() -> None:
    rng = np.random.default_rng(0)
    x, y = 3 * rng.normal(size=(200, 4)) + 5, np.arange(200) % 9
    model = LabelTreeClassifier(arity=3, random_state=0).partial_fit(x, y, classes=np.arange(9))
    before, answers = model.input_scale_, model.predict_proba(x)
    model.input_scale_ = Standardizer(before.mean + 2, before.sd * [0.5, 1, 2, 0.01])
    undo = rescale(model.tree_, before, model.input_scale_)
    np.testing.assert_allclose(model.predict_proba(x), answers, atol=1e-5)
    undo()
    np.testing.assert_allclose(model.tree_.log_prob_of_all(before(x)), np.log(answers), atol=1e-9)
    weight = model.tree_.softmax.weight.detach().clone()
    rescale(model.tree_, before, Standardizer(before.mean, 1000 * before.sd))
    assert torch.equal(model.tree_.softmax.weight, 2 * weight)  # those rows were close by chance


def test_a_row_far_from_all_others_is_no_collapse() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = (x[:, 0] > 0).astype(int)
    model = LabelTreeClassifier(random_state=0).partial_fit(x, y, classes=[0, 1])
    for place in (1e3, -1e3):
        model.partial_fit([[place, 0.0]], [int(place < 0)])
    assert np.isfinite(model.partial_fit(x, y).predict_log_proba(x)).all()


def favourites(number: int, classes: int, seed: int) -> tuple[list[list[int]], np.ndarray]:
    """Lists of 20 tokens, of which 6 are among ten favourites of their class, and the classes."""
    rng, own = np.random.default_rng(seed), np.random.default_rng(0).integers(0, 5000, (300, 10))
    y = rng.integers(0, classes, number)
    rest = (5000 * rng.random((number, 14)) ** 3).astype(int)
    tokens = np.append(
        own[y][np.arange(number)[:, None], rng.integers(0, 10, (number, 6))], rest, 1
    )
    return tokens.tolist(), y


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("wrong", [0, 1500])
@pytest.mark.parametrize("classes", [20, 300])
def test_a_stream_learns_words_of_few_or_many_classes(
    classes: int, wrong: int, tokens: bool, tmp_path: Path
) -> None:
    texts, y = favourites(6000, classes, 1)
    told = y.copy()
    told[:wrong] = np.random.default_rng(2).integers(0, classes, wrong)
    order = np.random.default_rng(3).permutation(5000)
    x = texts if tokens else bags_of(texts, 5000).to_csr()
    model = LabelTreeClassifier(tokens=tokens, random_state=0)
    for start in range(0, 5000, 1000):
        part = order[start : start + 1000]
        some = [texts[row] for row in part] if tokens else x[part]
        model.partial_fit(some, told[part], classes=np.arange(classes))
    assert model.score(x[5000:], y[5000:]) > (0.95 if wrong else 0.98)
    model.save(tmp_path / "model")
    loaded, answers = LabelTreeClassifier.load(tmp_path / "model"), model.predict_proba(x[5000:])
    assert np.array_equal(loaded.predict_proba(x[5000:]), answers)
    np.testing.assert_allclose(model.explain(x[5000]).mixture, answers[0], atol=1e-5)


@pytest.mark.parametrize("size", [100, 1000])
def test_labels_of_a_stream_seldom_move_by_chance(size: int) -> None:
    texts, y = favourites(6000, 300, 1)
    x = bags_of(texts, 5000).to_csr()
    model = LabelTreeClassifier(arity=20, random_state=0)
    for start in range(0, 5000, size):
        part = slice(start, start + size)
        model.partial_fit(x[part], y[part], classes=np.arange(300))
    assert sum(record["moved"] for record in model.trained_.rebuilds) < 0.5
    assert model.score(x[5000:], y[5000:]) > 0.87
    told = LabelTreeClassifier(arity=20, memory=0.6).partial_fit(x, y, classes=np.arange(300))
    assert (told.settings_.prior_weight, told.settings_.memory) == (1, 0.6)


def test_a_first_portion_of_one_class_bends_nothing() -> None:
    rng = np.random.default_rng(0)
    x, y = np.exp(2 * rng.normal(size=(64, 4))), np.zeros(64, int)
    for how in ({}, {"vector_size": 3}):
        model = LabelTreeClassifier(random_state=0, **how)
        model.partial_fit(x, y, classes=[0, 1, 2])
        assert not getattr(model.input_scale_, "bends", ())
        assert np.isfinite(model.predict_proba(x)).all()
