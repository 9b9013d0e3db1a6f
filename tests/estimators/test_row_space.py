"""Linear models of wide rows are the same in the coordinates of their span."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix, random
from sklearn.linear_model import LogisticRegression, Ridge

from structnet.estimators.row_space import RowSpace, space_of


def wide(number: int = 30, columns: int = 400, common: float = 0.0) -> csr_matrix:
    found = random(number, columns, 0.1, "csr", rng=np.random.default_rng(0))
    found = csr_matrix(found + common * np.arange(columns) / columns)
    return csr_matrix(found[np.r_[np.arange(number), 3, 3, 7]])  # some rows again


def of(rows: csr_matrix) -> RowSpace:
    space = space_of(rows)
    assert space is not None
    return space


@pytest.mark.parametrize("common", [0.0, 1e4])
def test_inner_products_are_those_of_centred_rows(common: float) -> None:
    rows = wide(common=common)
    space, centred = of(rows), rows.toarray() - rows.toarray().mean(axis=0)
    found = space.coordinates @ space.coordinates.T
    size = (rows @ rows.T).diagonal().max()
    assert_allclose(found, centred @ centred.T, rtol=0, atol=1e-13 * size)
    assert space.coordinates.shape[1] == 29  # 30 different rows, of which one is the mean's


def test_dense_rows_have_the_coordinates_of_sparse_ones() -> None:
    rows = wide()
    dense, sparse = space_of(rows.toarray()), of(rows)
    assert dense is not None
    assert_allclose(dense.coordinates, sparse.coordinates, atol=1e-8)
    coef, intercept = np.ones((2, 29)), np.ones(2)
    for ours, theirs in zip(
        dense.model(coef, intercept), sparse.model(coef, intercept), strict=True
    ):
        assert_allclose(ours, theirs, atol=1e-8)


def test_one_row_that_is_much_larger_hides_no_other() -> None:
    rows = wide().toarray()
    rows[0] *= 1e6
    centred, coordinates = rows - rows.mean(axis=0), of(csr_matrix(rows)).coordinates
    assert coordinates.shape[1] == 29
    u, size, _ = np.linalg.svd(centred, full_matrices=False)
    y = np.random.default_rng(1).normal(size=len(rows))
    exact = u * (size**2 / (size**2 + 0.3)) @ u.T @ (y - y.mean()) + y.mean()
    assert_allclose(Ridge(0.3).fit(coordinates, y).predict(coordinates), exact, atol=0.01)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_of_coordinates_is_that_of_the_rows(weighted: bool) -> None:
    rows, rng = wide(), np.random.default_rng(1)
    y, numbers = rng.integers(3, size=rows.shape[0]), rng.normal(size=(rows.shape[0], 2))
    weights = rng.uniform(0.1, 3, rows.shape[0]) if weighted else None
    space = of(rows)
    logistic = LogisticRegression(tol=1e-9, max_iter=10_000)
    ridge = Ridge(0.3, solver="sparse_cg", tol=1e-12)
    for model, target in ((logistic, y), (ridge, numbers)):
        model.fit(rows, target, weights)
        expected = model.coef_, model.intercept_
        model.fit(space.coordinates, target, weights)
        found = space.model(model.coef_, model.intercept_)
        for a, b in zip(found, expected, strict=True):
            assert_allclose(a, b - b.mean() if a.ndim == 1 and model is logistic else b, atol=1e-5)


def test_a_large_part_that_all_rows_have_does_not_blur_the_rest() -> None:
    rows, y = wide(common=1e3), np.arange(33) % 2
    space = of(rows)
    found = LogisticRegression().fit(space.coordinates, y)
    weights, intercept = space.model(found.coef_, found.intercept_)
    plain = LogisticRegression(tol=1e-9, max_iter=10_000).fit(of(wide()).coordinates, y)
    assert_allclose(
        rows @ weights.T + intercept,
        of(wide()).coordinates @ plain.coef_.T + plain.intercept_,
        atol=2e-3,
    )


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((5, 1000)),
        np.zeros((5, 1000)),
        np.eye(50),
        np.ones((0, 9)),
        np.ones((1, 9)),
        *(np.tile(x * np.eye(1, 1000), (20, 1)) for x in np.arange(1, 20) / 7),  # but for rounding
    ],
)
def test_rows_without_a_span_of_their_own_stay_as_they_are(rows: np.ndarray) -> None:
    assert space_of(csr_matrix(rows)) is None


def test_the_more_is_said_of_a_row_the_sooner_its_span_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = csr_matrix(np.eye(100, 200))
    assert space_of(rows) is None
    assert space_of(rows, outputs=10) is not None
    monkeypatch.setattr("structnet.estimators.row_space.MOST", 99)
    assert space_of(rows, outputs=10) is None
