"""Products of rows, of few and of many: those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.kernels.lanes import (
    LANES,
    add_products,
    add_rows_times,
    add_times,
    add_times_transposed,
    gather,
    multiply,
    spread,
)
from structnet.tensor_tree.compiled.kernels.products import FEW, times, times_transposed


@compiled
def products(x, W, y, back):
    """Both, ``[rows, n] [n, columns] -> [rows, columns]``, and from there back by the same W."""
    times(x, W, y)
    times_transposed(y, W, back)


@pytest.mark.parametrize("rows", range(FEW + 2))
def test_products_are_those_of_numpy(rows: int):
    """Odd and even numbers of rows, columns and summands; what was in the results is gone."""
    rng = np.random.default_rng(rows)
    for n in (1, 2, 3, 4, 5, 9):
        for columns in (1, 4, 7, 20):
            x, W = rng.normal(size=(rows, n)), rng.normal(size=(n, columns))
            y, back = np.full((rows, columns), np.nan), np.full((rows, n), np.nan)
            products(x, W, y, back)
            np.testing.assert_allclose(y, x @ W, rtol=0, atol=1e-13)
            np.testing.assert_allclose(back, x @ W @ W.T, rtol=0, atol=1e-12)


@compiled
def all_lanes(x, y, out, X, copy):
    multiply(out, 0, x, 1, y, 2)
    add_products(out, 1, x, 0, 2, y, 1, 3)
    spread(x, 4, 5, X, 1, 2, 2)
    gather(x, 4, 5, copy, 0, 3, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lanes", [LANES, 5 * LANES])
def test_lanes_are_those_of_numpy(dtype: type, lanes: int):
    rng = np.random.default_rng(0)
    x, y, out = (rng.normal(size=(6, lanes)).astype(dtype) for _ in range(3))
    X, copy = rng.normal(size=(3, 4)).astype(dtype), np.zeros((2, 5), dtype)
    expected = out.copy()
    expected[0] = x[1] * y[2]
    expected[1] += (x[0:6:2] * y[1:4]).sum(0)
    moved, told = x.copy(), copy.copy()
    moved[4:6, 5] = told[0, 3:5] = X[1, 2:4]
    all_lanes(x, y, out, X, copy)
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    np.testing.assert_array_equal(x, moved)
    np.testing.assert_array_equal(copy, told)


@compiled
def keyed(x, column, rows, W, y, out, back):
    add_times(x, x.shape[1], 1, W, 1, out, 2)  # row 1 of x
    add_times(column, 2, column.shape[1], W, 0, out, 0)  # a column
    add_rows_times(x, rows, W, 1, out, 1, 4)
    add_times_transposed(y, W, 1, back, 0, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 3, 16, 17, 40, 64, 70])
def test_one_row_times_one_of_several_matrices(dtype: type, columns: int):
    """Adds to a row; what is beside the row, and the other rows, stay as they are."""
    rng = np.random.default_rng(columns)
    for n in (1, 3, 4, 5, 20):
        x, column, W, y, out, back = (
            rng.normal(size=size).astype(dtype)
            for size in ((3, n), (n, 3), (2, n, columns), (3, columns), (4, columns), (3, 2 * n))
        )
        expected, expected_back = out.copy(), back.copy()
        rows = np.array([-1, 2, 0, 2])
        expected[2] += x[1] @ W[1]
        expected[0] += column[:, 2] @ W[0]
        expected[1:] += x[[2, 0, 2]] @ W[1]
        expected_back[:, :n] += y @ W[1].T
        keyed(x, column, rows, W, y, out, back)
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(back, expected_back, rtol=1e-4, atol=1e-5)
