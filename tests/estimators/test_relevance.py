"""How many columns are kept."""

from __future__ import annotations

import numpy as np
import pytest

from structnet.estimators.relevance import enough, most_telling


def test_the_first_of_columns_that_tell_as_much_are_kept() -> None:
    assert most_telling(np.array([0.1, 0.5, 0.2, 0.5, 0.2]), 3).tolist() == [1, 2, 3]


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
