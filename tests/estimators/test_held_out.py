"""Samples set aside: how many, of which classes, by which seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structnet.estimators.held_out import hold_out


@given(st.lists(st.integers(1, 30), min_size=2, max_size=6), st.floats(0.05, 0.6), st.integers(0))
def test_a_split_keeps_the_shares(sizes: list[int], fraction: float, seed: int) -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    count = min(max(round(fraction * len(labels)), 1), len(labels) - 1)
    if len(labels) - count < len(sizes):
        with pytest.raises(ValueError, match="expected at least one of each class"):
            hold_out(len(labels), fraction, seed, labels)
        return
    train, validation = hold_out(len(labels), fraction, seed, labels)
    np.testing.assert_array_equal(np.sort([*train, *validation]), np.arange(len(labels)))
    assert len(validation) == count
    assert set(labels[train]) == set(labels)
    if min(sizes) * (1 - fraction) > 2:
        taken = np.bincount(labels[validation], minlength=len(sizes))
        assert np.abs(taken - np.array(sizes) * count / len(labels)).max() <= 1.5


def test_splits_by_seed() -> None:
    (_, first), (_, same), (_, other) = (hold_out(50, 0.2, seed) for seed in (0, 0, 1))
    assert first.tolist() == same.tolist() != other.tolist()
    labels = np.arange(50) % 2
    (_, first), (_, other) = (hold_out(50, 0.2, seed, labels) for seed in (0, 1))
    assert first.tolist() != other.tolist()


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.floats(0.05, 0.9), st.integers(0))
def test_every_class_gives_its_own_rounded_share(
    groups: list[int], share: float, seed: int
) -> None:
    groups = np.array(groups)
    sizes = np.bincount(groups)
    if sizes.max() < 2:
        with pytest.raises(ValueError, match="too few samples"):
            hold_out(len(groups), share, seed, groups, each_class=True)
        return
    train, test = hold_out(len(groups), share, seed, groups, each_class=True)
    assert sorted([*train, *test]) == list(range(len(groups)))
    assert len(test)
    assert set(groups[train]) == set(groups)  # no class is for testing only
    expected = np.minimum(np.rint(share * sizes), np.maximum(sizes - 1, 0))
    if expected.any():
        assert np.bincount(groups[test], minlength=len(sizes)).tolist() == expected.tolist()


def test_the_seed_decides_what_each_class_gives() -> None:
    labels = np.zeros(100, int)
    first, same, other = (hold_out(100, 0.2, s, labels, each_class=True)[1] for s in (3, 3, 4))
    assert np.array_equal(first, same) and not np.array_equal(first, other)
    # Without classes, all samples are one.
    assert np.array_equal(hold_out(100, 0.2, 3)[1], first)


@pytest.mark.parametrize("share", [0, 1, -0.1, 20])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(ValueError, match=r"'share' .* in the range \(0, 1\)\. Got"):
        hold_out(10, share)


def test_one_sample_cannot_be_divided() -> None:
    with pytest.raises(ValueError, match="too few samples to hold some out: 1; expected at least"):
        hold_out(1, 0.5)
