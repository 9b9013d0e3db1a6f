"""What columns tell by themselves, beside scikit-learn's tests, and how many are kept."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_selection import f_classif

from structnet.estimators.relevance import between, enough, most_telling


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, 90, p=[0.6, 0.3, 0.1])
    return rng.normal(size=(3, 12))[labels] + rng.normal(size=(90, 12)) + 100, labels


def test_it_is_an_analysis_of_variance() -> None:
    x, labels = table()
    f, _ = f_classif(x, labels)
    share = f * 2 / (f * 2 + 87)  # of the variance, between 3 labels of 90 rows
    np.testing.assert_allclose(between(x, labels, np.ones(90)), share)
    np.testing.assert_array_equal(
        between(x, 2 * labels, np.ones(90)), between(x, labels, np.ones(90))
    )
    expected = np.sort(np.argsort(-f)[:5])
    np.testing.assert_array_equal(most_telling(between(x, labels, np.ones(90)), 5), expected)


def test_a_weight_counts_as_so_many_rows_and_constants_tell_nothing() -> None:
    x, labels = table()
    x[:, 4] = 1e3 / 7
    counts = np.random.default_rng(1).integers(1, 4, 90)
    repeated, again = np.repeat(x, counts, axis=0), np.repeat(labels, counts)
    found = between(x, labels, counts)
    np.testing.assert_allclose(found, between(repeated, again, np.ones(len(again))))
    assert found[4] == 0


def test_fewer_columns_are_taken_only_beyond_chance() -> None:
    noise = np.random.default_rng(0).normal(size=(300, 40))
    tried: list[int] = []

    def losses(gain: float) -> int:
        tried.clear()

        def of(number: int) -> np.ndarray:
            tried.append(number)
            return noise[:, number % 40] - gain * (number == 10)

        return enough(40, 100, of)

    assert losses(0.05) == 40 and tried == [40, 20, 10, 5, 4]
    assert losses(0.5) == 10


def test_it_ends_where_columns_lack_and_where_rows_are_many() -> None:
    tried: list[int] = []

    def losses(number: int) -> np.ndarray:
        tried.append(number)
        return np.arange(50) / 50 + (number < 500) * 9.0

    assert enough(2000, 300, losses) == 2000
    assert tried == [2000, 500, 125]
    tried.clear()
    assert enough(30, 300, losses) == 30 and tried == [30]


@pytest.mark.parametrize("number", [1, 3])
def test_groups_say_what_is_chance(number: int) -> None:
    """Of few groups, the rows of one of which are all better, nothing is shown."""
    groups = np.arange(60) % 30 if number == 1 else np.repeat([0, 1, 2], 20)
    better = np.where(groups == 0, 5.0, 0.1) if number == 3 else np.full(60, 1.0)
    better = better + np.random.default_rng(0).normal(size=60) * 0.1
    found = enough(16, 60, lambda k: np.zeros(60) - better * (k == 8), groups=groups)
    assert found == (8 if number == 1 else 16)
