"""The scaler of sparse counts, and what it gains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack, vstack
from sklearn.feature_extraction.text import TfidfTransformer

from structnet import LabelTreeClassifier, SoftmaxTreeClassifier
from structnet.estimators.counts import CountStandardizer, learned_scale, scale_of_lists
from structnet.estimators.scale import Standardizer


def texts(rows: int, seed: int) -> tuple[csr_matrix, np.ndarray]:
    """Counts of words: common ones in bursts, and a few that tell the class."""
    rng, columns, classes = np.random.default_rng(seed), 400, 40
    own = np.random.default_rng(0).integers(columns, size=(classes, 10))
    shares = 1 / np.arange(1, columns + 1)
    y = rng.integers(classes, size=rows)
    found = np.zeros((rows, columns))
    for row, words in zip(found, own[y], strict=True):
        common = rng.choice(columns, 12, p=shares / shares.sum())
        row[common] += rng.geometric(0.5, 12) ** 2  # what is said once is said again
        row[rng.choice(words, 2)] += 1
    return csr_matrix(found), y


X, Y = texts(800, 1)


def test_numbers_are_logarithms_times_rarity() -> None:
    x = X[:, X.getnnz(axis=0) > 0]
    scale = CountStandardizer.learned(x)
    expected = TfidfTransformer(smooth_idf=False, sublinear_tf=False)  # of l2 norm 1
    ours, theirs = scale(x).toarray(), expected.fit_transform(x.log1p()).toarray()
    np.testing.assert_allclose(ours / ours.max(), theirs / theirs.max(), rtol=1e-9)
    assert np.mean(ours[ours != 0] ** 2) == pytest.approx(1)
    np.testing.assert_allclose(scale(x.toarray()), ours)
    empty = csr_matrix((2, x.shape[1]))
    assert not scale(empty).nnz and not scale(empty.toarray()).any()
    assert np.isnan(scale.inverse(ours)).all()  # as the lengths of the rows are not known


def test_a_weight_of_two_is_a_row_that_occurs_twice() -> None:
    weights = np.where(np.arange(X.shape[0]) < 100, 2.0, 1.0)
    twice = CountStandardizer.learned(vstack([X, X[:100]]).tocsr())
    np.testing.assert_allclose(CountStandardizer.learned(X, weights).sd, twice.sd)
    np.testing.assert_allclose(CountStandardizer.learned(X, 1e-9 * weights).sd, twice.sd)
    assert CountStandardizer.learned(X, weights).length == pytest.approx(twice.length)


@pytest.mark.parametrize(
    "numbers", [X / 2, X - 2 * X.minimum(1), X.minimum(1), 3 * X, csr_matrix(X.shape)]
)
def test_other_sparse_rows_are_scaled_as_a_whole(numbers: csr_matrix) -> None:
    scale = learned_scale(numbers.tocsr(), Y)
    assert type(scale) is Standardizer and type(learned_scale(X, Y)) is CountStandardizer


def test_ones_are_words_where_rows_have_few_of_many_columns() -> None:
    def counted(x: csr_matrix) -> bool:
        return type(learned_scale(x, Y)) is CountStandardizer

    ones = X.minimum(1).tocsr()  # each row has about a tenth of the 400 columns
    wide = hstack([ones, csr_matrix((X.shape[0], 2000))]).tocsr()
    assert counted(wide) and not counted(ones)
    codes = np.random.default_rng(3).integers(100, size=(X.shape[0], 3))
    codes += np.array([0, 100, 200])
    same = csr_matrix((np.ones(codes.size), codes.ravel(), np.arange(0, codes.size + 1, 3)))
    assert same.nnz < 0.02 * np.prod(same.shape) and not counted(same)  # one of each category


def test_files_hold_the_logarithms() -> None:
    scale = learned_scale(X, Y)
    again = scale_of_lists(scale.to_lists())
    assert type(again) is CountStandardizer
    np.testing.assert_array_equal(again(X).data, scale(X).data)
    assert scale_of_lists(None) is None
    assert type(scale_of_lists(Standardizer.of_rows(3 * X).to_lists())) is not CountStandardizer


@pytest.mark.parametrize(
    ("kind", "how"), [(LabelTreeClassifier, {}), (SoftmaxTreeClassifier, {"depth": 0})]
)
def test_counts_of_words_are_told_apart(kind: Any, how: dict, tmp_path: Path) -> None:
    x, y = texts(1000, 2)
    model = kind(random_state=0, **how).fit(X, Y)
    plain = kind(random_state=0, **how).fit(X / 2, Y)  # which are no counts
    assert model.score(x, y) > plain.score(x / 2, y) + 0.03
    model.save(tmp_path / "model")
    prob = model.predict_proba(x)
    assert (kind.load(tmp_path / "model").predict_proba(x) == prob).all()
    np.testing.assert_allclose(model.predict_proba(x.toarray()), prob, atol=1e-5)
    if kind is SoftmaxTreeClassifier:
        rows = [model.predict_one(row) for row in x[:50].toarray()]
        assert rows == model.predict(x[:50]).tolist()
