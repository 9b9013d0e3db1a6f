"""Softmax trees for scikit-learn: labels, sparse tables, files, latency; and what is refused."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_array, csr_matrix
from softmax_trees import clusters, thinned

from structnet.label_tree import LabelTreeClassifier
from structnet.softmax_tree import (
    AdaptiveSoftmaxTreeClassifier,
    GrowthSettings,
    SoftmaxTreeClassifier,
    SoftmaxTreeSettings,
    train,
    tree_from_networkx,
)
from structnet.training.checkpoint import CheckpointError, load_model, save_model
from structnet.training.progress import Progress

X, Y = clusters(240, classes=6)
NAMES = np.array(["ape", "bee", "cow", "dog", "eel", "fox"])[Y]
QUICK = {"leaf_penalty": 1.0, "max_iter": 3, "solver_steps": 15, "random_state": 0}
Classifiers = (SoftmaxTreeClassifier, AdaptiveSoftmaxTreeClassifier)


def quick(cls: type = SoftmaxTreeClassifier, **how: object):
    own = (
        {"depth": 2, "k": 4}
        if cls is SoftmaxTreeClassifier
        else {"start_depth": 1, "max_rounds": 2}
    )
    return cls(**{"start": "centroids", **own, **QUICK, **how})


@pytest.mark.parametrize("cls", Classifiers)
def test_a_fit_is_silent_unless_it_is_to_tell(
    cls: type, capsys: pytest.CaptureFixture[str]
) -> None:
    quick(cls).fit(X, NAMES)
    assert not any(capsys.readouterr())
    model = quick(cls, start=None, verbose=1).fit(X, NAMES)
    out, err = capsys.readouterr()
    assert not out and err.startswith("tried depth ")
    assert f"\n{len(model.history_) - 1} iterations, {model.get_n_leaves()} leaves, " in err


@pytest.mark.parametrize(
    ("cls", "name"),
    [(SoftmaxTreeClassifier, "depth"), (AdaptiveSoftmaxTreeClassifier, "start_depth")],
)
def test_a_single_leaf_that_was_chosen_is_told(
    cls: type, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    centres, y = 5 * rng.normal(size=(8, 5)), np.arange(400) % 8
    x = centres[y] + rng.normal(size=(400, 5))
    told = f"one leaf, a softmax over all classes, was best on held-out samples; set {name} for"
    model = cls(random_state=0, verbose=True).fit(x, y)
    assert model.summary().leaves == 1 and told in str(model.summary(x))
    assert told in capsys.readouterr().err
    for depth in (0, 2):
        model = cls(random_state=0, verbose=True, **{name: depth}).fit(x, y)
        assert "softmax over" not in str(model.summary()) + capsys.readouterr().err
    assert model.summary().leaves > 1


def test_every_step_is_told_where_there_is_time(capsys: pytest.CaptureFixture[str]) -> None:
    settings = SoftmaxTreeSettings(max_iter=2, leaf_penalty=1.0)  # not solved
    growth = GrowthSettings(max_rounds=1)
    trained = train(X, Y, settings, growth, progress=Progress(seconds=0))
    told = capsys.readouterr().err
    taken = sum(trial.accepted for trial in trained.trials)
    assert f"\nround 1: {taken} of {len(trained.trials)} subtrees taken\n" in told
    numbers = re.findall(r"^iteration (\d+): ", told, re.M)
    assert numbers == [str(number) for number in range(len(trained.history))]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("cls", Classifiers)
def test_fit_and_ask(cls: type, sparse: bool, tmp_path: Path) -> None:
    x = thinned(X) if sparse else X
    model = quick(cls).fit(x, NAMES)
    labels, prob = model.predict(x), model.predict_proba(x)
    assert model.score(x, NAMES) > (0.5 if sparse else 0.8)
    assert (model.classes_[prob.argmax(axis=1)] == labels).all()
    inside = model.predict_proba(x, sparse=True).toarray()
    assert np.array_equal(inside, prob * (inside > 0)) and prob.min() > 0
    np.testing.assert_allclose(prob.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(prob.sum(axis=1), 1)
    top, sure = model.predict_top(x, 2)
    assert (top[:, 0] == labels).all() and (sure[:, 0] == prob.max(axis=1)).all()
    rows = x.toarray() if sparse else x
    assert [model.predict_one(row) for row in rows[:20]] == labels[:20].tolist()
    copied = pickle.loads(pickle.dumps(model))  # without what it has prepared for single rows
    assert copied._asking is None
    assert copied.predict_one(rows[0]) == labels[0]
    row = rows[0]
    for form in (csr_matrix, coo_matrix, csr_array):
        assert model.predict_one(form(rows[:1])) == labels[0]
        both = model.predict_proba_one(form(rows[:1])), model.predict_proba_one(row)
        assert all((told == one).all() for told, one in zip(*both, strict=True))
    with pytest.raises(ValueError, match=r"x must be one sample, \[6\] or \[1, 6\]. Got shape"):
        model.predict_one(csr_matrix(rows[:2]))
    for other in (row[:-1], np.append(row, 1.0), row[None], np.full(6, "a")):
        for ask in (model.predict_one, model.predict_proba_one):
            with pytest.raises(ValueError, match=r"as many numbers as rows in training\. Got "):
                ask(other)
    names, one = model.predict_proba_one(rows[0])
    np.testing.assert_allclose(one, prob[0][np.searchsorted(model.classes_, names)], rtol=1e-6)
    path = model.decision_path(x)
    assert path.shape == (240, model.tree_.topology.num_nodes)
    assert (path[np.arange(240), model.apply(x)] == 1).all()
    model.save(tmp_path / "model.safetensors")
    again = cls.load(tmp_path / "model.safetensors")
    assert np.array_equal(again.predict_proba(x), prob) and again.trained_ is not model.trained_
    assert list(again.history_) == list(model.history_)
    assert again.predict_one(rows[3]) == labels[3]
    found = model.measure(x, NAMES)
    assert repr(found) == str(found)
    assert found.error == pytest.approx(1 - model.score(x, NAMES)) and found.microseconds > 0
    tree = tree_from_networkx(model.to_networkx())
    same = model.samples(x, NAMES).x
    same = same if sparse else same.numpy()
    assert np.array_equal(tree.classes_of(same), model.tree_.classes_of(same))
    assert "hyperplane" in str(model.summary(x)) or model.get_depth() == 0


def test_sparse_and_full_tables_are_answered_alike() -> None:
    x = thinned(X)
    for fitted in (quick().fit(x, Y), quick().fit(x.toarray(), Y)):
        ours, theirs = fitted.predict_proba(x), fitted.predict_proba(x.toarray())
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("cls", Classifiers)
def test_nothing_is_told(cls: type) -> None:
    model = cls(random_state=0).fit(X, NAMES)
    assert model.score(X, NAMES) > 0.9
    chosen = model.settings_
    assert None not in (chosen.start, chosen.decision_penalty, chosen.leaf_penalty)


def test_where_data_are_made_of_single_features() -> None:
    starts = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=(600, 4))
        y = np.floor(4 * x[:, 0]).astype(int) % 2 * 2 + (x[:, 3] > 0.3)
        model = SoftmaxTreeClassifier(random_state=0).fit(x[:400], y[:400])
        assert model.score(x[400:], y[400:]) > 0.95
        starts.append(model.settings_.start)
    assert starts.count("axes") >= 2  # sparse hyperplanes do nearly as well


def test_weights_count() -> None:
    weights = np.where(Y < 3, 1.0, 0.0)
    model = quick(k=3).fit(X, Y, weights)
    assert model.classes_.tolist() == [*range(6)]  # so that models can vote together
    assert set(model.predict(X)) == {0, 1, 2}
    assert quick(depth=0, k=6).fit(X, Y, np.full(240, 5.0)).score(X, Y) > 0.8


@pytest.mark.parametrize("start", ["centroids", "rows", "axes"])
@pytest.mark.parametrize("size", [2.0**-900, 2.0**-20, 2.0**20, 2.0**900])
def test_weights_may_be_of_any_size(start: str, size: float) -> None:
    one = quick(start=start, decision_penalty=1.0).fit(X, Y).predict_proba(X)
    told = {"start": start, "leaf_penalty": size, "decision_penalty": size}
    same = quick(**told).fit(X, Y, np.full(240, size)).predict_proba(X)
    assert np.array_equal(same, one)  # powers of two cost no digit


@pytest.mark.parametrize("start", ["centroids", "rows", "random", "axes"])
@pytest.mark.parametrize("least", [1e-20, 1e-50, 1e-300])
def test_weights_may_be_of_very_different_sizes(start: str, least: float) -> None:
    heavy = Y < 3
    weights = np.where(heavy, 1 / least, least)
    prob = quick(start=start).fit(X, Y, weights).predict_proba(X)
    np.testing.assert_allclose(prob.sum(axis=1), 1)
    assert (prob.argmax(axis=1) == Y)[heavy].mean() > 0.9


def test_what_is_chosen_does_not_depend_on_the_size_of_weights() -> None:
    open_ = {"start": "centroids", "leaf_penalty": None}
    one, few = (quick(**open_).fit(X, Y, np.full(240, size)) for size in (1.0, 1 / 256))
    chosen, smaller = one.settings_, few.settings_
    assert smaller.leaf_penalty == chosen.leaf_penalty / 256
    assert smaller.decision_penalty == chosen.decision_penalty / 256
    np.testing.assert_allclose(few.predict_proba(X), one.predict_proba(X), atol=0.02)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_what_is_chosen_and_answered_does_not_depend_on_the_size_of_numbers(form: Any) -> None:
    x = (thinned(X) if form is csr_matrix else csr_matrix(X)).astype(np.float64)
    weights = 1.0 + np.arange(240) % 3
    one = SoftmaxTreeClassifier(random_state=0).fit(form(x.toarray()), Y, weights)
    assert one.score(x, Y) > 0.8
    for size in (1e-200, 1e5, 1e200):
        scaled = form((x * size).toarray())
        model = SoftmaxTreeClassifier(random_state=0).fit(scaled, Y, weights)
        assert model.settings_ == one.settings_
        np.testing.assert_allclose(model.predict_proba(scaled), one.predict_proba(x), atol=2e-3)
        assert model.predict_one(scaled[:1].toarray()[0] if form is csr_matrix else scaled[0]) == (
            model.predict(scaled[:1])
        )


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_numbers_beyond_single_precision_are_refused(form: Any) -> None:
    far = np.where(X.max() == X, -1e300, X.astype(np.float64))
    for cls in (SoftmaxTreeClassifier, LabelTreeClassifier):
        model = cls(standardize=False, random_state=0)
        with pytest.raises(
            ValueError, match=r"size 1e\+300; expected at most 3.4e\+38, the largest"
        ):
            model.fit(form(far), Y)
    with pytest.raises(ValueError, match=r"expected at most 3.4e\+38, the largest"):
        quick().fit(form(X), Y).predict(form(far))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, r"The 'k' parameter must be an int in the range \[1, inf\) or None. Got 0"),
        ({"depth": -1}, "The 'depth' parameter must be an int"),
        ({"leaf_penalty": -1.0}, r"The 'leaf_penalty' parameter must be a number in .* Got -1.0"),
        ({"decision_penalty": np.nan}, "The 'decision_penalty' parameter must be a number"),
        ({"missing_loss": 0}, "The 'missing_loss' parameter must be a number"),
        ({"start": "axis"}, "The 'start' parameter must be one of"),
        ({"n_jobs": 0}, "The 'n_jobs' parameter must be an int"),
        ({"n_jobs": 1.5}, "must be an int other than 0 or None. Got 1.5"),
        ({"standardize": "no"}, "The 'standardize' parameter must be True or False"),
    ],
)
def test_bad_parameters(parameters: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 1.0}, r"The 'alpha' parameter must be a number in the range \(0, 1\) or None"),
        ({"rho": 0.0}, "The 'rho' parameter must be a number"),
        ({"step": 3}, "The 'step' parameter must be 1 or 2. Got 3 instead."),
        ({"ratio_of": "all"}, "The 'ratio_of' parameter must be one of"),
        ({"validation_fraction": 1.0}, "The 'validation_fraction' parameter must be a number"),
    ],
)
def test_bad_growth(parameters: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick(AdaptiveSoftmaxTreeClassifier, **parameters).fit(X, Y)


def test_a_loss_that_collapses_is_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"missing_loss 0.5 is below log K = 1.79"):
        quick(missing_loss=0.5).fit(X, Y)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.where(X > 5, np.nan, X), Y, "Input X contains NaN"),
        (X, np.zeros(240), "y has only one class, 0.0"),
        (csr_matrix(np.where(X > 5, np.inf, X)), Y, "Input X contains infinity"),
    ],
)
def test_bad_data(x: object, y: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quick().fit(x, y)


def test_classes_that_training_did_not_have() -> None:
    model = quick().fit(X[Y < 5], NAMES[Y < 5])
    found, known = model.measure(X, NAMES), model.measure(X[Y < 5], NAMES[Y < 5])
    assert found.error == pytest.approx(1 - model.score(X, NAMES))
    assert found.coverage == pytest.approx(known.coverage * (Y < 5).mean())
    assert found.perplexity == pytest.approx(known.perplexity)
    for others in (np.full(240, "gnu"), Y):
        with pytest.raises(ValueError, match=r"got the class .*, which is not in the y to"):
            model.measure(X, others)
    with pytest.raises(ValueError, match="X has 5 features"):
        model.predict(X[:, :5])


def test_the_only_sample_of_a_class_is_learnt_from() -> None:
    y = np.array([f"c{i}" for i in [*range(10), *range(5)]])
    x = np.eye(10)[[*range(10), *range(5)]]
    model = AdaptiveSoftmaxTreeClassifier(start_depth=0, leaf_penalty=0.01, start="centroids")
    assert model.fit(x, y).score(x, y) == 1
    pair = AdaptiveSoftmaxTreeClassifier(start_depth=0, leaf_penalty=0.01, start="centroids")
    assert pair.fit([[0.0], [1.0]], ["a", "b"]).predict([[0.0], [1.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("place", range(3))
def test_a_file_that_asks_for_too_much(place: int, tmp_path: Path) -> None:
    path = tmp_path / "model"
    model = quick().fit(X, NAMES)
    model.save(path)
    _, config = load_model(path)
    config["members"][0]["tree"]["sizes"][place] += 10**10
    save_model(path, model.tree_, config)
    with pytest.raises(CheckpointError, match="larger than all that the file holds together"):
        SoftmaxTreeClassifier.load(path)


@pytest.mark.parametrize("limit", [{"max_leaves": 1}, {"max_leaves": 3}, {"max_depth": 0}])
def test_growth_begins_within_its_limits(limit: dict) -> None:
    model = AdaptiveSoftmaxTreeClassifier(random_state=0, max_rounds=1, **limit).fit(X, Y)
    assert model.get_n_leaves() <= limit.get("max_leaves", 1)
    with pytest.raises(ValueError, match=r"begins at the depth 2; expected at most \d, which"):
        quick(AdaptiveSoftmaxTreeClassifier, start_depth=2, **limit).fit(X, Y)


@pytest.mark.parametrize("depth", [0, 5])
def test_trees_of_any_depth_may_begin_as_decision_trees(depth: int) -> None:
    model = quick(depth=depth, k=6, start="axes", leaf_penalty=None).fit(X, Y)
    assert model.settings_.depth == depth and model.score(X, Y) > 0.8
    one = AdaptiveSoftmaxTreeClassifier(start="axes", max_leaves=1, random_state=0).fit(X, Y)
    assert one.get_n_leaves() == 1


def test_rows_that_count_nothing_change_nothing() -> None:
    x, y, weights = np.tile(X, (3, 1)), np.tile(Y, 3), np.repeat([1.0, 0.0, 0.0], 240)
    trained, expected = train(x, y, weights=weights), train(X, Y)
    assert trained.settings == expected.settings
    assert np.array_equal(trained.tree.predict_proba(X), expected.tree.predict_proba(X))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": X[:9]}, r"must have one length, above 0. Got \(9, 240, 240\)"),
        ({"y": Y - 1}, "classes must be numbers from 0 to 4. Got -1 to 4"),
        ({"num_classes": 3}, "classes must be numbers from 0 to 2. Got 0 to 5"),
        ({"y": Y + 0.7}, "classes must be whole numbers, one per row. Got float64"),
        ({"y": np.where(Y, Y, np.nan)}, "classes must be whole numbers, one per row. Got float64"),
        ({"y": Y.astype(str)}, "classes must be whole numbers, one per row. Got <U"),
        (
            {"y": Y[:, None]},
            r"classes must be whole numbers, one per row. Got int64 of shape \[240",
        ),
        ({"weights": -np.ones(240)}, "weights must be finite, at least 0, and not all 0"),
        ({"weights": np.zeros(240)}, "weights must be finite, at least 0, and not all 0"),
        ({"x": np.where(X > 5, np.nan, X)}, "x must have finite numbers in"),
    ],
)
def test_what_nothing_is_learnt_from(given: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(**{"x": X, "y": Y, **given})


def test_sparse_rows_are_asked_of_a_table_of_one_column_as_full_ones_are() -> None:
    x, y = np.arange(60.0)[:, None], np.arange(60) // 20
    model = SoftmaxTreeClassifier(depth=2, k=3, random_state=0).fit(x, y)
    np.testing.assert_array_equal(model.predict_proba(csr_matrix(x)), model.predict_proba(x))


@pytest.mark.parametrize("kind", [np.array, csr_matrix])
def test_a_weight_of_two_is_a_row_that_occurs_twice_in_the_scale_too(kind: Any) -> None:
    x, y = np.array([[1.0, 0.0], [0.0, 7.0], [3.0, 0.0], [9.0, 2.0]] * 10), np.arange(40) % 4
    weights, model = 1 + y % 2, SoftmaxTreeClassifier(depth=1, k=4, random_state=0)
    twice = model.fit(kind(np.repeat(x, weights, axis=0)), np.repeat(y, weights)).input_scale_
    weighed = model.fit(kind(x), y, weights).input_scale_
    np.testing.assert_allclose(weighed.mean, twice.mean)
    np.testing.assert_allclose(weighed.sd, twice.sd)
