"""What a user gives an estimator: labels and numbers of all kinds, and what is refused."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.base import clone
from small_estimators import X4, Y4, classifier, held_out, regressor, weights_of

from structnet.estimators.inputs import MISSING, _refuse_channels_last
from structnet.label_tree import LabelTreeClassifier
from structnet.neural_tree.estimator import NeuralTreeClassifier
from structnet.softmax_tree import SoftmaxTreeClassifier


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.where(X4 == 3, np.nan, X4), Y4), "contains NaN"),
        ((X4.reshape(6, 2, 1), Y4), r"images .* Got an array of shape \[6, 2, 1\]"),
        ((np.array([[1.5, date(2026, 1, 31)]] * 6), Y4), "dates: 2026-01-31 in column 1 .* days"),
        (([{"age": 1.5}] * 6, Y4), r"Input X is a list of dicts; .* put DictVectorizer\(\) before"),
        (
            (np.ones(6, [("age", "f8"), ("height", "f8")]), Y4),
            r"rows with named fields; .* FunctionTransformer\(structured_to_unstructured\) before",
        ),
        ((X4, Y4[:5]), "inconsistent numbers of samples"),
        ((X4, np.zeros(6)), "only one class, 0.0"),
        ((X4[:1], Y4[:1]), "1 sample"),
        ((X4, Y4, Y4), "only one class, 1"),
        ((X4, Y4, np.zeros(6)), "all 6 samples have the weight zero; expected at least 2"),
        ((X4, Y4, -Y4), "sample_weight must be at least 0. Got -1 for sample 1"),
        ((X4, Y4, [1, 2]), r"sample_weight .* \[6\]\. Got shape \[2\]"),
        (
            (X4, [0, 1, 2, 3, 4, 5]),
            r"hold some out: 6, each of another class; expected 2 of one, or X_val and y_val$",
        ),
        ((X4, Y4, None, (X4[:0], Y4[:0])), "X_val has 0 samples"),
        ((X4, Y4, None, (X4, Y4 + 1)), "got the class 2, which is not in the y to learn from"),
        ((X4, Y4, None, (X4[:, :1], Y4)), "X has 1 features"),
        ((X4, Y4, None, (X4,)), "given together. Got X_val without y_val"),
        ((X4, Y4, None, (None, Y4)), "given together. Got y_val without X_val"),
        ((X4, Y4, None, (None, None, Y4)), "given together. Got sample_weight_val without X_val"),
    ],
)
def test_bad_data(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier().fit(*arguments[:3], **held_out(next(iter(arguments[3:]), None)))


def test_images_whose_channels_stand_last() -> None:
    for shape in ((6, 8, 9, 3), (6, 8, 8, 1)):
        with pytest.raises(ValueError, match=r"channels last, \[6, 8, .*transpose\(0, 3, 1, 2\)"):
            classifier().fit(np.zeros(shape), Y4)
    for shape in ((6, 3, 8, 8), (6, 1, 9, 3), (6, 3, 5, 1), (6, 16, 8, 1)):  # maps, and series
        _refuse_channels_last(shape)


def test_samples_with_an_axis_more(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    with pytest.raises(ValueError, match=r"of shape \[3, 1\]; .* fitted on samples of shape \[3\]"):
        fitted.predict(blobs[0][:, :, None])


def test_numbers_that_are_not_finite_have_a_place(
    fitted: NeuralTreeClassifier, blobs: tuple
) -> None:
    X = blobs[0].copy()
    X[4, 2], X[5, 0], X[9] = np.nan, np.nan, [np.inf, np.nan, -np.inf]
    for rows, message in [
        (9, "NaN: 2 values, the first in row 4, column 2 (counted from 0)"),
        (10, "NaN and infinity: 5 values, the first in row 4, column 2 (counted from 0)"),
    ]:
        for ask in (fitted.predict, lambda x: clone(fitted).fit(x, blobs[1][: len(x)])):
            with pytest.raises(ValueError) as raised:
                ask(X[:rows])
            told = MISSING if "NaN" in message else ""
            assert str(raised.value) == f"Input X contains {message}; expected finite numbers{told}"


def test_targets_that_are_missing(lines: tuple) -> None:
    X, y = lines
    for nothing in (None, np.nan):
        numbers = y[:, 0].astype(object)
        numbers[7] = nothing
        with pytest.raises(ValueError, match=r"^Input y contains NaN\.$"):
            regressor().fit(X, numbers)


def test_targets_that_are_dates_are_no_numbers(lines: tuple) -> None:
    """Numpy would make of them the days since 1970."""
    X, y = lines
    dates = np.datetime64("2020-01-01") + np.arange(len(y))
    for when in (dates, dates - dates[0]):
        with pytest.raises(ValueError, match=r"^y must be numbers: got dates; .* days since one"):
            regressor().fit(X, when)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", 1], "Got 'a' for sample 0 and 1 for sample 1."),
        ([2, "a"], "Got 2 for sample 0 and 'a' for sample 1."),
        ([True, 2], "Got True for sample 0 and 2 for sample 1."),
        (["a", "b", None], "Got 'a' for sample 0 and None for sample 2."),
        (["a", "b", np.nan], "Got 'a' for sample 0 and nan for sample 2."),
        ([None, "a"], "Got None for sample 0."),
        ([3, np.nan], "Got 3 for sample 0 and nan for sample 1."),
        ([b"a", b"b"], "Got b'a' for sample 0."),
    ],
)
def test_labels_of_no_one_kind(labels: list, message: str) -> None:
    y = np.array(labels * 3, dtype=object)
    X = np.zeros((len(y), 2))
    with pytest.raises(ValueError) as raised:
        classifier().fit(X, y)
    start = "y must be all text, all numbers, or all True and False, and none missing. "
    assert str(raised.value) == start + message


@pytest.mark.parametrize(
    ("labels", "dtype"), [([5, 3], np.int64), ([True, False], bool), (["b", "a"], object)]
)
def test_labels_held_as_objects(labels: list, dtype: type) -> None:
    y = np.array(labels * 3, dtype=object)
    model = classifier(max_depth=0).fit(X4, y)
    assert (model.classes_.tolist(), model.classes_.dtype) == (sorted(labels), dtype)
    assert model.samples(X4, y).targets.tolist() == [1, 0] * 3


def test_tensors_that_require_gradients(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    X, y = blobs
    x = torch.tensor(X, requires_grad=True)
    np.testing.assert_array_equal(fitted.predict_proba(x), fitted.predict_proba(X))
    weights = torch.ones(120, requires_grad=True)
    again = clone(fitted).set_params(max_depth=0).fit(x, y, weights)
    same = clone(fitted).set_params(max_depth=0).fit(X, y, np.ones(120))
    assert torch.equal(weights_of(again), weights_of(same))
    numbers = torch.arange(120.0, requires_grad=True)
    assert regressor(max_depth=0).fit(x, numbers).predict(x).shape == (120,)


def test_validation_targets_of_another_width(lines: tuple) -> None:
    X, y = lines
    with pytest.raises(ValueError, match=r"targets of shape \[150, 1\]; expected \[150, 2\]"):
        regressor().fit(X, y, X_val=X, y_val=y[:, :1])


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[D]"])
@pytest.mark.parametrize("of_objects", [False, True])
def test_a_table_of_nothing_but_dates_is_refused(kind: str, of_objects: bool) -> None:
    X = np.arange(40).reshape(20, 2).astype(kind)
    if of_objects:
        X = np.array([list(row) for row in X], dtype=object)  # of NumPy's own dates
    with pytest.raises(ValueError, match=r"contains dates: .* in column 0 .*; expected numbers"):
        classifier().fit(X, [0, 1] * 10)


@pytest.mark.parametrize(
    "y",
    [
        [["s3", "limit"], ["ec2"]] * 10,
        [["s3", "limit"], ["ec2", "vpc"]] * 10,
        np.array([{"s3", "limit"}, {"ec2"}] * 10),
        np.eye(2, dtype=int)[[0, 1] * 10],
        csr_matrix(np.eye(2)[[0, 1] * 10]),
    ],
    ids=["lists", "equal lists", "sets", "indicators", "sparse indicators"],
)
def test_several_labels_of_a_sample(y: Any) -> None:
    for kind in (NeuralTreeClassifier, SoftmaxTreeClassifier, LabelTreeClassifier):
        with pytest.raises(ValueError, match=r"one label for each sample. Got several: repeat the"):
            kind().fit(np.arange(20.0)[:, None], y)
    with pytest.raises(ValueError, match=r"one label for each sample. Got several: repeat the"):
        LabelTreeClassifier(tokens=True).fit([[1]] * 20, y)
