"""A regressor says which targets outweigh all others; what is merely large or frequent is not."""

from __future__ import annotations

import numpy as np
import pytest

from structnet import NeuralTreeRegressor, TreeLSTMRegressor
from structnet.estimators.outliers import far_targets


def numbers(size: int = 200) -> np.ndarray:
    return np.random.default_rng(0).normal(5, 1, size)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_those_beyond_a_wide_gap_are_far_whatever_the_unit(sign: int, unit: float) -> None:
    y = sign * numbers()
    y[[3, 50]] *= 100
    y[7] = -sign * 400
    assert np.flatnonzero(far_targets(y * (unit / 1e3))).tolist() == [3, 7, 50]


@pytest.mark.parametrize(
    "y",
    [
        numbers(),
        np.random.default_rng(0).exponential(size=1000),
        np.random.default_rng(0).poisson(0.3, 1000),
        np.repeat([0.0, 100.0], [97, 3]),  # hardly ever anything else: no width
        np.where(np.arange(200) < 20, -999.0, numbers()),  # a tenth of them is no exception
        np.array([1.0, 2.0, 3.0, 1000.0]),  # of few anything may be one
    ],
    ids=["normal", "exponential", "counts", "rare", "frequent", "few"],
)
def test_what_belongs_to_the_others_is_not_far(y: np.ndarray) -> None:
    assert not far_targets(y).any()


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_of_a_long_tail_is_not_far(sign: int) -> None:
    draws = [sign * np.random.default_rng(seed).lognormal(0, 2, 1000) for seed in range(50)]
    assert sum(far_targets(y).any() for y in draws) <= 1
    for y in draws:
        y[[3, 50]] = -sign * 999.0  # on the side without a tail
        assert np.flatnonzero(far_targets(y)).tolist() == [3, 50]


def test_what_is_infinitely_farther_than_all_others_are_wide_is_far() -> None:
    y = 1e-300 * numbers()
    y[7] = 1e308
    assert np.flatnonzero(far_targets(y)).tolist() == [7]


def test_the_warning_names_column_count_and_values() -> None:
    y = np.column_stack([numbers(), numbers()])
    y[[3, 50], 1] = -999
    model = NeuralTreeRegressor(max_leaves=1, max_transformers=0, epochs=1, random_state=0)
    x = np.arange(200.0)[:, None]
    told = "2 of 200 values of column 1 of y lie far from all others: -999 beside 2.* to 7.*;"
    with pytest.warns(UserWarning, match=told) as found:
        model.fit(x, y)
    assert [each.filename for each in found] == [__file__]
    with pytest.warns(UserWarning, match="values of y lie far"):
        model.fit(x, y[:, 1])


def test_regressors_of_trees_warn_alike() -> None:
    y = numbers()
    y[3] = -999
    trees = ["(f a)", "(f b)"] * 100
    model = TreeLSTMRegressor(hidden_size=2, epochs=1, random_state=0)
    with pytest.warns(UserWarning, match="1 of 200 values of y lie far from all others") as found:
        model.fit(trees, y)
    assert [each.filename for each in found] == [__file__]
