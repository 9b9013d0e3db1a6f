"""The one scaler: means and deviations of columns and channels, of any size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

from structnet.estimators.scale import Standardizer


def test_a_scale_gives_mean_0_and_deviation_1_and_goes_back() -> None:
    rows = np.random.default_rng(0).normal([1e6, -3, 0.1], [5, 1e-3, 2], size=(500, 3))
    scale = Standardizer.fitted(rows)
    scaled = scale(rows)
    assert scaled.dtype == np.float64
    assert scale(rows.astype(np.float32)).dtype == scale.inverse(np.float32(scaled)).dtype == "f4"
    np.testing.assert_allclose(scaled.mean(0, dtype=float), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0, dtype=float), 1, rtol=1e-6)
    np.testing.assert_allclose(scale.inverse(scaled), rows, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(scale.sd, rows.std(0), rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e300, 5e-324])
def test_a_column_of_one_value_is_only_shifted(value: float) -> None:
    scale = Standardizer.fitted(np.full((7, 1), value))
    assert scale.sd == 1
    assert abs(scale(np.full((1, 1), value)).item()) <= 1e-15 * abs(value)


def test_a_scale_needs_rows() -> None:
    with pytest.raises(ValueError, match="no rows"):
        Standardizer.fitted(np.zeros((0, 3)))


def test_whole_numbers_become_floats() -> None:
    scale = Standardizer(np.array([1.0]), np.array([4.0]))
    found = scale(np.array([[0], [255]], np.uint8))
    assert found.dtype == np.float32 and found.ravel().tolist() == [-0.25, 63.5]


def test_weights_count_in_standardizing() -> None:
    values = np.array([[0.0], [4.0]])
    scale = Standardizer.fitted(values, weights=np.array([3.0, 1.0]))
    np.testing.assert_allclose([scale.mean, scale.sd], [[1], [np.sqrt(3)]])


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_sparse_rows_share_a_scale_and_stay_sparse(unit: float) -> None:
    rows = unit * csr_matrix([[0.0, 1.0, 7.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    rows.data[0] = 0  # stored, and yet no entry
    scale = Standardizer.of_entries(rows, np.array([2.0, 1.0, 9.0]))
    np.testing.assert_allclose(scale.sd / unit, [41**0.5])
    assert issparse(scale(rows)) and scale(rows).nnz == rows.nnz
    np.testing.assert_allclose(scale(rows).toarray(), scale(rows.toarray()))
    np.testing.assert_allclose(scale.inverse(scale(rows.toarray())), rows.toarray())
    assert Standardizer.of_entries(csr_matrix((3, 2))).sd == 1


def test_sparse_rows_become_full_where_columns_have_scales_of_their_own() -> None:
    scale, rows = Standardizer(np.zeros(2), np.array([1.0, 4.0])), [[0.0, 8.0], [3.0, 0.0]]
    assert scale(csr_matrix(rows)).tolist() == [[0, 2], [3, 0]]


def test_images_are_standardized_by_channel() -> None:
    images = np.random.default_rng(0).normal([[[2.0]], [[-7.0]]], [[[1.0]], [[5.0]]], (50, 2, 6, 6))
    found = Standardizer.fitted(images)(images)
    np.testing.assert_allclose(found.mean((0, 2, 3)), 0, atol=1e-12)
    np.testing.assert_allclose(found.std((0, 2, 3)), 1)
    np.testing.assert_allclose(Standardizer.fitted(images).inverse(found), images)


@pytest.mark.parametrize("unit", [2.0**1000, 2.0**-900])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 3.0, 2.0, 5.0])])
def test_numbers_of_any_size_are_standardized(unit: float, weights: np.ndarray | None) -> None:
    values = np.random.default_rng(0).normal(3, 2, (4, 2, 5, 5))
    plain = Standardizer.fitted(values, weights)
    found = Standardizer.fitted(values * unit, None if weights is None else weights * unit)
    np.testing.assert_array_equal(found.mean / unit, plain.mean)
    np.testing.assert_array_equal(found.sd / unit, plain.sd)
    np.testing.assert_array_equal(found(values * unit), plain(values))


def test_a_scaler_is_made_again_from_lists() -> None:
    scale = Standardizer.fitted(np.array([[1.0, 5.0], [3.0, 5.0]]))
    again = Standardizer.from_lists(scale.to_lists())
    assert (again.mean.tolist(), again.sd.tolist()) == (scale.mean.tolist(), scale.sd.tolist())
    assert Standardizer.from_lists(None) is None


def test_the_scaler_of_some_columns_has_their_means_and_deviations() -> None:
    values = np.random.default_rng(0).normal(size=(9, 4))
    some = Standardizer.fitted(values).taking(np.array([1, 3]))
    np.testing.assert_array_equal(
        some(values[:, [1, 3]]), Standardizer.fitted(values[:, [1, 3]])(values[:, [1, 3]])
    )


def test_sparse_rows_that_weigh_next_to_nothing_have_a_scale() -> None:
    rows = csr_matrix([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    scale = Standardizer.of_entries(rows, np.array([1e-308, 3e-308, 1e308]))
    assert scale.sd[0] == pytest.approx(np.sqrt((9 + 3 * 16) / 4))


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_a_column_of_far_larger_numbers_has_a_scale_of_its_own(unit: float) -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.5, 2, (200, 6)) * (rng.random((200, 6)) < 0.5)
    dates = rng.uniform(2000, 2026, (200, 1))
    weights = rng.integers(1, 4, 200)
    scale = Standardizer.of_entries(unit * csr_matrix(np.hstack((rows, dates))), weights)
    again = np.repeat(np.hstack((rows, dates)), weights, axis=0)
    alone = Standardizer.of_entries(unit * csr_matrix(again[:, :6]))
    np.testing.assert_allclose(scale.sd[:6], np.resize(alone.sd, 6), rtol=1e-12)
    np.testing.assert_allclose(scale.sd[6], unit * np.sqrt((again[:, 6] ** 2).mean()), rtol=1e-12)
    scaled = scale(unit * csr_matrix(np.hstack((rows, dates))))
    assert issparse(scaled) and scale.keeps_zeros
    found = scaled.toarray()
    np.testing.assert_allclose(found[:, :6], rows / (alone.sd / unit), rtol=1e-12)
    np.testing.assert_allclose(
        found, Standardizer.from_lists(scale.to_lists())(unit * np.hstack((rows, dates)))
    )


def test_frequent_words_share_the_scale_of_rare_ones() -> None:
    rows = csr_matrix(np.where(np.eye(40, 8, dtype=bool)[:, ::-1], 1.0, [0] * 7 + [25]))
    assert len(Standardizer.of_entries(rows).sd) == 1
