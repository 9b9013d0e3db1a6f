"""Products of few rows and of many: those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from structnet.tensor_tree.compiled.kernels.gates import compiled
from structnet.tensor_tree.compiled.kernels.products import _FEW, times, times_transposed


@compiled
def products(x, W, y, back):
    """Both, ``[rows, n] [n, columns] -> [rows, columns]``, and from there back by the same W."""
    times(x, W, y)
    times_transposed(y, W, back)


@pytest.mark.parametrize("rows", range(_FEW + 2))
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
