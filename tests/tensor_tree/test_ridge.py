"""Ridge regressions of all penalties at once, beside those that are fitted one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge

from structnet.tensor_tree.counts import ridge


@pytest.mark.parametrize("form", [csr_matrix, np.asarray])
@pytest.mark.parametrize("columns", [3, 90])  # fewer and more than rows
def test_held_out_rows_are_predicted_as_by_a_model_of_each_fold(form: Any, columns: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.poisson(0.5, size=(40, columns)).astype(float)
    y, count = x[:, :2] + rng.normal(size=(40, 2)), rng.integers(1, 4, 40).astype(float)
    folds, found = ridge.folds_of(y, 0), {}
    for penalty in ridge.PENALTIES:
        held_out = np.empty(y.shape)
        for learn, held in folds:
            model = Ridge(penalty, solver="svd").fit(x[learn], y[learn], count[learn])
            held_out[held] = model.predict(x[held])
        found[penalty] = held_out, (count[:, None] * (held_out - y) ** 2).sum()
    error, penalty, told = ridge.best_ridge(form(x), y, count, folds)
    assert penalty == min(found, key=lambda each: found[each][1])
    np.testing.assert_allclose(told, found[penalty][0], atol=1e-9)
    assert error == pytest.approx(found[penalty][1])


def test_large_tables_are_searched_for_what_small_ones_are_solved_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    x, y = csr_matrix(rng.poisson(0.5, size=(40, 9))), rng.normal(size=(40, 2))
    solved = ridge.best_ridge(x, y, np.ones(40), ridge.folds_of(y, 0))
    monkeypatch.setattr(ridge, "SMALL", 0)
    searched = ridge.best_ridge(x, y, np.ones(40), ridge.folds_of(y, 0))
    assert solved[1] == searched[1]
    np.testing.assert_allclose(solved[2], searched[2], atol=1e-2)
