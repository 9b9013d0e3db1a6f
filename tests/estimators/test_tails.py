"""Columns with heavy tails: which are bent, how, and back again."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import ndtri
from scipy.stats import kurtosis, rankdata
from sklearn.linear_model import LinearRegression

from structnet.estimators.scale import Standardizer
from structnet.estimators.tails import (
    FAR,
    HEAVY,
    KNOTS,
    MANY,
    BentStandardizer,
    _groups_explain,
    _line_explains,
)

CODES = np.arange(600) % 3


def table(n: int = 600) -> np.ndarray:
    """A column with a heavy tail, a normal one, one of two values, and one of a single value."""
    rng = np.random.default_rng(0)
    rare = (np.arange(n) % 100 == 0) * 5.0
    return np.column_stack(
        [np.exp(2 * rng.normal(size=n)), rng.normal(3, 2, n), rare, np.full(n, 7.0)]
    )


def test_only_a_column_with_a_heavy_tail_is_bent() -> None:
    X = table()
    assert (kurtosis(X[:, [0, 2]]) > HEAVY).all()
    scale = BentStandardizer.learned(X, CODES)
    assert [bend.column for bend in scale.bends] == [0]
    found = scale(X)
    np.testing.assert_allclose(found[:, :3].mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(found[:, :3].std(0), 1, rtol=1e-9)
    assert abs(kurtosis(found[:, 0])) < 0.5
    np.testing.assert_array_equal(found[:, 1:], Standardizer.fitted(X)(X)[:, 1:])


def test_a_column_bends_in_order_and_goes_back() -> None:
    X = table()
    scale = BentStandardizer.learned(X, CODES)
    beyond = np.repeat(X[:1], 5, axis=0)
    beyond[:, 0] = [-1e3, X[:, 0].min(), 2.5, X[:, 0].max(), 50 * X[:, 0].max()]
    found = scale(beyond)
    assert (np.diff(found[:, 0]) > 0).all()
    np.testing.assert_allclose(scale.inverse(found), beyond, rtol=1e-9)
    np.testing.assert_allclose(scale.inverse(scale(X)), X, rtol=1e-9)
    single = scale(X.astype(np.float32))
    assert single.dtype == scale.inverse(single).dtype == np.float32
    np.testing.assert_allclose(single, scale(X), atol=1e-4)


def test_far_numbers_are_bent_like_a_logarithm() -> None:
    X = table()
    scale = BentStandardizer.learned(X, CODES)
    far = np.repeat(X[:1], 5, axis=0)
    far[:, 0] = [X[:, 0].max(), *(X[:, 0].max() * 10.0 ** np.array([3, 6, 9, 12]))]
    found = scale(far)[:, 0]
    np.testing.assert_allclose(np.diff(found)[1:], FAR * np.log(1000), rtol=0.01)
    np.testing.assert_allclose(scale.inverse(scale(far)), far, rtol=1e-9)
    assert np.isfinite(scale.inverse(np.full((1, X.shape[1]), 1e4))).all()


def test_many_values_need_few_points() -> None:
    X = table(5000)
    [bend] = BentStandardizer.learned(X, np.arange(5000) % 2).bends
    assert KNOTS // 2 < len(bend.x) <= KNOTS
    assert abs(kurtosis(BentStandardizer.learned(X, np.arange(5000) % 2)(X)[:, 0])) < 0.5


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.8])
def test_curves_follow_tails_as_closely_as_the_middle(shared: float) -> None:
    rng = np.random.default_rng(3)
    x = -np.exp(3 * rng.normal(size=(5000, 1)))
    x[: int(5000 * shared)] = 0
    exact = ndtri((rankdata(x[:, 0]) - 0.5) / len(x))
    found = BentStandardizer.learned(x, np.arange(5000) % 2)(x)[:, 0]
    assert np.abs(found - (exact - exact.mean()) / exact.std()).max() < 0.1


@pytest.mark.parametrize("classes", [True, False])
def test_a_column_that_explains_more_as_it_is_stays(classes: bool) -> None:
    X = table()[:, :1]
    straight = Standardizer.fitted(X)(X) + np.random.default_rng(1).normal(0, 0.1, (600, 1))
    logarithm = np.log(X) / np.log(X).std()
    if classes:  # a few rows far out are one of two classes
        straight, logarithm = (
            (y > q).astype(int)[:, 0] for y, q in ((straight, 4), (logarithm, 0))
        )
    assert not BentStandardizer.learned(X, straight).bends
    assert BentStandardizer.learned(X, logarithm).bends


def test_a_band_is_no_line() -> None:
    X = table()[:, :1]
    band = ((X[:, 0] > 0.3) & (X[:, 0] < 3)).astype(int)
    assert np.corrcoef(X[:, 0], band)[0, 1] ** 2 > np.corrcoef(np.log(X[:, 0]), band)[0, 1] ** 2
    assert BentStandardizer.learned(X, band).bends


@pytest.mark.parametrize("classes", [True, False])
def test_what_lines_and_groups_explain_is_that_of_least_squares(classes: bool) -> None:
    rng = np.random.default_rng(0)
    z, counts, groups = rng.normal(size=600), rng.random(600), rng.integers(0, 4, 600)
    counts /= counts.sum()
    y = CODES if classes else rng.normal(size=(600, 2)) + z[:, None] + (groups == 2)[:, None]
    targets = np.eye(3)[y] if classes else y
    of_line = np.stack([z, np.ones(600)], axis=1)
    for inputs, found in (
        (of_line, _line_explains(z, y, counts)),
        (np.eye(4)[groups], _groups_explain(groups, y, counts)),
    ):
        model = LinearRegression(fit_intercept=False).fit(inputs, targets, counts)
        left = (counts @ (targets - model.predict(inputs)) ** 2).sum()
        whole = (counts @ (targets - counts @ targets) ** 2).sum()
        assert found == pytest.approx(1 - left / whole)


def test_weights_count_like_copies_of_rows() -> None:
    X, counts = table(), 1 + np.arange(600) % 3
    weighted = BentStandardizer.learned(X, CODES, counts * 1e-200)
    copied = BentStandardizer.learned(np.repeat(X, counts, axis=0), np.repeat(CODES, counts))
    np.testing.assert_allclose(weighted(X), copied(X), rtol=1e-6, atol=1e-6)


def test_rows_of_hardly_any_weight_move_nothing() -> None:
    X, weights = table(), np.ones(600)
    X[:3, 0], weights[:3] = [1e5, 2e5, 3e5], 1e-300
    scale = BentStandardizer.learned(X, CODES, weights)
    assert np.isfinite(scale(X)).all()
    np.testing.assert_allclose(
        scale(X[3:]), BentStandardizer.learned(X[3:], CODES[3:])(X[3:]), atol=1e-6
    )


@pytest.mark.parametrize("unit", [1e-300, 1e290])
def test_the_unit_of_a_column_does_not_matter(unit: float) -> None:
    X = table()[:, :1]
    found = BentStandardizer.learned(X * unit, CODES)(X * unit)
    np.testing.assert_allclose(found, BentStandardizer.learned(X, CODES)(X), atol=1e-6)


def test_sparse_rows_are_bent_like_dense_ones() -> None:
    X = np.where(np.random.default_rng(1).random((600, 4)) < 0.5, table(), 0)
    dense, sparse = (BentStandardizer.learned(each, CODES) for each in (X, csr_matrix(X)))
    assert len(dense.bends) == len(sparse.bends) == 1
    np.testing.assert_allclose(sparse(csr_matrix(X)), dense(X), rtol=1e-12)


def test_images_and_wide_tables_are_only_scaled() -> None:
    X = table()[:, :1]
    images = np.tile(X[..., None, None], (1, 2, 3, 3))
    for each in (images, np.repeat(X, MANY + 1, axis=1)):
        scale = BentStandardizer.learned(each, CODES)
        assert not scale.bends
        np.testing.assert_array_equal(scale(each), Standardizer.fitted(each)(each))
        np.testing.assert_array_equal(scale.inverse(scale(each)).shape, each.shape)


def test_it_is_written_and_read() -> None:
    scale = BentStandardizer.learned(table(), CODES)
    again = BentStandardizer.from_lists(json.loads(json.dumps(scale.to_lists())))
    assert again is not None
    np.testing.assert_array_equal(again(table()), scale(table()))
    assert BentStandardizer.from_lists(None) is None


def test_the_scaler_of_some_columns_scales_them_as_among_all() -> None:
    values, columns = np.hstack([table(), table()]), np.array([1, 4, 6])
    scale = BentStandardizer.learned(values, CODES)
    some = scale.taking(columns)
    assert [bend.column for bend in scale.bends] == [0, 4]
    assert [bend.column for bend in some.bends] == [1]
    np.testing.assert_array_equal(some(values[:, columns]), scale(values)[:, columns])


@pytest.mark.parametrize(
    "curve", [[4, [0, 1], [0, 1]], [0, [0, 0], [0, 1]], [0, [0], [0]], [0, [0, 1], [0, 1, 2]]]
)
def test_a_curve_that_does_not_rise_is_refused(curve: list) -> None:
    with pytest.raises(ValueError, match=f"no curve for column {curve[0]}"):
        BentStandardizer.from_lists([[0.0] * 4, [1.0] * 4, curve])


def test_a_row_alone_is_bent_as_among_others() -> None:
    sizes = np.exp(2 * np.random.default_rng(5).normal(size=(600, 5)))
    sizes[:, 3] = sizes[:, 3].round()  # with fewer points than the others
    scale = BentStandardizer.learned(sizes, CODES)
    assert len({len(bend.x) for bend in scale.bends}) > 1
    rows = np.concatenate([sizes, 100 * sizes[:50], -sizes[:50]])
    np.testing.assert_array_equal([scale(row[None])[0] for row in rows], scale(rows))
