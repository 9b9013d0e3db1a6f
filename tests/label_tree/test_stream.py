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
from sklearn.exceptions import NotFittedError

from structnet.label_tree import CollapseError, LabelTreeClassifier


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


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"embedding_size": 5},
        {"embedding_size": 0, "sparse": True},
        {"tokens": True},
        {"arity": 6},
        {"arity": 40, "labels": 40},
        {"embedding_size": 0, "sparse": True, "n_jobs": 2},
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
        model.training_.settings = replace(model.settings_, learning_rate=1e30)
    before, records = copy.deepcopy(model.tree_.state_dict()), len(model.training_.epochs)
    for codes in (y[:9], np.arange(9) % 2):
        with np.errstate(all="ignore"), pytest.raises(CollapseError):
            model.partial_fit(later, codes)
    for name, value in model.tree_.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert len(model.training_.epochs) == records and model.training_.done == 400
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
    if kind is np.asarray:  # one row says nothing of the columns' scale, however large they are
        large = LabelTreeClassifier(arity=3, random_state=0)
        for part in (slice(0, 1), slice(1, 1000), slice(1000, 2000)):
            large.partial_fit(1000 * x[part] + 5000, y[part], classes=np.unique(y))
        assert large.scale_ is None and np.isfinite(large.predict_proba(x)).all()
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
        how: dict[str, Any] = {"embedding_size": 0, "epochs": 3, "learning_rate": 0.05, **told}
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
    assert model.settings_.start == "huffman" and len(model.training_.rebuilds) == 1
