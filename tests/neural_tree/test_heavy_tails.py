"""Columns and targets with heavy tails, of which a few rows make most of the squared errors."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from structnet.neural_tree import Categorical, NeuralTreeRegressor, SquaredError
from structnet.neural_tree.growth.measures import decrease
from structnet.training.gains import gained


def test_a_few_large_errors_do_not_hide_a_gain_of_all_others() -> None:
    rng = np.random.default_rng(0)
    before, weights = rng.pareto(1.1, size=300), rng.choice([0.5, 1.0, 2.0], size=300)
    for after, sure in ((0.2 * before, True), (rng.permutation(before), False)):
        gain, error = decrease(before, after, weights, SquaredError())
        assert (gain > 2 * error) == sure
        plain = gained(before, after, weights)
        assert gain == plain[0] and error <= plain[1]
        assert decrease(before, after, weights, Categorical()) == plain
    assert not gained(before, 0.2 * before, weights)[0] > 2 * gained(before, 0.2 * before)[1]


def test_of_light_tails_an_error_is_that_of_the_squares() -> None:
    rng = np.random.default_rng(1)
    before, after = rng.normal(size=(2, 300)) ** 2
    assert decrease(before, 0.5 * after, None, SquaredError()) == gained(before, 0.5 * after)


def test_what_only_lowers_the_smaller_errors_is_no_surer() -> None:
    before = np.append(np.full(99, 1.0), 100.0)
    after = np.append(np.full(99, 0.9), 140.0)  # the sum rises, that of absolute errors falls
    plain = gained(before, after)
    assert plain[0] < 0 and decrease(before, after, None, SquaredError()) == plain


def skewed(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.pareto(1.2, size=(size, 5))
    product = np.log1p(x[:, 0]) * np.log1p(x[:, 1])
    return x, product + (x[:, 2] > 2) + 0.3 * rng.normal(size=size)


def test_a_tree_of_heavy_tails_grows_and_far_rows_are_predicted() -> None:
    data, (x, y) = skewed(1000, 0), skewed(5000, 100)
    assert (x.max(0) > 2 * data[0].max(0)).any()
    tree = NeuralTreeRegressor(random_state=0).fit(*data)
    boosted = HistGradientBoostingRegressor(random_state=0).fit(*data)
    assert tree.get_n_leaves() > 1
    assert tree.score(x, y) > max(0.85, boosted.score(x, y))


def test_of_noise_with_heavy_tails_nothing_grows() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(800, 6)), rng.standard_t(2.1, size=800)
    assert NeuralTreeRegressor(random_state=0).fit(x, y).summary().parameters == 7
