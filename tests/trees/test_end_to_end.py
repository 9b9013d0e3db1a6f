"""Lists of different lengths end to end, compared with plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from structnet.trees.end_to_end import offsets_of, ranges


@pytest.mark.parametrize("size", [0, 1, 2, 50])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_ranges_are_those_of_the_loop(size: int, dtype: type) -> None:
    rng = np.random.default_rng(size)
    begin, counts = rng.integers(100, size=size), rng.integers(4, size=size).astype(dtype)
    found = ranges(begin, counts)
    assert found.tolist() == [
        first + i
        for first, count in zip(begin.tolist(), counts.tolist(), strict=True)
        for i in range(count)
    ]
    assert ranges(0, counts).tolist() == [i for count in counts.tolist() for i in range(count)]
    assert found.dtype == np.int64


@pytest.mark.parametrize("counts", [[], [3], [0, 0], [2, 0, 3], [200] * 4])
def test_offsets_are_those_of_the_loop(counts: list[int]) -> None:
    expected = list(itertools.accumulate(counts, initial=0))
    for given in (counts, np.array(counts, np.uint8), np.array(counts, np.int64)):
        found = offsets_of(given)
        assert found.tolist() == expected and found.dtype == np.int64


def test_offsets_count_what_is_true() -> None:
    assert offsets_of(np.array([True, False, True])).tolist() == [0, 1, 1, 2]
