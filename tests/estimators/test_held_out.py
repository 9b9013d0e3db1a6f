"""Samples set aside: how many, of which classes, by which seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structnet.estimators.held_out import folds, hold_out, in_turn, of_ridge, parted, tenths


@given(st.lists(st.integers(1, 30), min_size=2, max_size=6), st.floats(0.05, 0.6), st.integers(0))
def test_a_split_keeps_the_shares(sizes: list[int], fraction: float, seed: int) -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    if max(sizes) == 1:
        with pytest.raises(ValueError, match="each of another class; expected 2 of one"):
            hold_out(len(labels), fraction, seed, labels)
        assert parted(len(labels), fraction, seed, labels)[1] is None
        return
    count = min(max(round(fraction * len(labels)), 1), len(labels) - len(sizes))
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


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 2)), min_size=2, max_size=80),
    st.floats(0.05, 0.6),
    st.integers(0),
    st.booleans(),
)
def test_no_group_is_parted(
    samples: list[tuple[int, int]], share: float, seed: int, classed: bool
) -> None:
    groups, labels = np.array(samples).T
    labels = np.unique(labels, return_inverse=True)[1] if classed else None
    kinds = np.zeros(len(groups), int) if labels is None else labels
    # A group may go if each of its classes is in another one, too, and half of all is not in it.
    free = [g for g in set(groups) if set(kinds[groups == g]) <= set(kinds[groups != g])]
    free = [g for g in free if 2 * (groups == g).sum() <= len(groups)]
    if not free:
        with pytest.raises(ValueError, match="no whole group can be held out"):
            hold_out(len(groups), share, seed, labels, groups=groups)
        return
    learn, held = hold_out(len(groups), share, seed, labels, groups=groups)
    assert sorted([*learn, *held]) == list(range(len(groups)))
    assert len(held) and not set(groups[learn]) & set(groups[held])
    assert set(kinds[learn]) == set(kinds)


@pytest.mark.parametrize("classes", [1, 4])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_whole_groups_keep_the_shares(classes: int, share: float) -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), rng.integers(1, 20, 200))
    labels = rng.integers(classes, size=200)[groups]  # each of one class, as in folders
    for seed in range(5):
        _, held = hold_out(len(groups), share, seed, labels, groups=groups)
        assert abs(len(held) / len(groups) - share) < 0.03
        shares = np.bincount(labels[held], minlength=classes) / np.bincount(labels)
        assert np.abs(shares - share).max() < 0.07


def test_small_classes_give_their_share_of_groups_together() -> None:
    groups = np.arange(400)
    held = hold_out(400, 0.1, 0, groups // 4, groups=groups)[1]  # 0.4 samples a class
    assert 25 <= len(held) <= 55 and len(set(held // 4)) == len(held)


@pytest.mark.parametrize("classes", [40, 1])
def test_small_classes_give_their_share_together(classes: int) -> None:
    labels = np.concatenate([np.repeat(np.arange(100), 4), np.repeat(100 + np.arange(classes), 80)])
    rare = [int((labels[hold_out(len(labels), 0.1, s, labels)[1]] < 100).sum()) for s in range(20)]
    assert 35 < np.mean(rare) < 45 and max(rare) <= 60  # 40 of 400


@pytest.mark.parametrize("least", [2, 3])
def test_of_few_samples_for_their_classes_fewer_are_held_out(least: int) -> None:
    labels = np.concatenate([np.arange(20), np.arange(least)])
    learn, held = hold_out(len(labels), 0.5, 0, labels)
    assert sorted(labels[held]) == list(range(least)) and set(labels[learn]) == set(range(20))


def test_the_seed_decides_which_groups_go() -> None:
    groups = np.arange(60) // 3
    first, same, other = (hold_out(60, 0.2, s, groups=groups)[1].tolist() for s in (0, 0, 1))
    assert first == same != other


def test_of_large_groups_the_smallest_goes_rather_than_none() -> None:
    groups = np.repeat([0, 1, 2], [40, 30, 50])
    assert set(groups[hold_out(120, 0.1, 0, groups=groups)[1]]) == {1}


@pytest.mark.parametrize("sizes", [[99, 1], [380, 10, 10], [1000, 1, 1, 1, 1]])
def test_a_group_of_more_than_half_is_learnt_from(sizes: list[int]) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for seed in range(50):
        assert 0 not in groups[hold_out(len(groups), 0.2, seed, groups=groups)[1]]


def test_groups_that_cannot_be_held_out_are_refused() -> None:
    with pytest.raises(ValueError, match="samples to learn from are of one group; expected"):
        hold_out(4, 0.5, 0, np.array([0, 0, 1, 1]), groups=np.zeros(4, int))

    for labels in (None, np.arange(30) // 15):
        groups = np.arange(30) // (30 if labels is None else 15)
        with pytest.raises(ValueError, match="no whole group can be held out"):
            parted(30, 0.1, 0, labels, groups)
    assert parted(3, 0.1, 0, None, np.arange(3))[1] is None


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60), st.integers(1, 12), st.integers(0))
def test_each_group_has_its_turn_once(groups: list[int], number: int, seed: int) -> None:
    each = np.array(groups)
    order = np.random.default_rng(seed % 1000).permutation(len(each))
    part = in_turn(order, number, each)
    assert all(len(set(part[each == group])) == 1 for group in set(groups))
    assert len(set(part)) == min(number, len(set(groups)))
    assert in_turn(order, number)[order].tolist() == (np.arange(len(each)) % number).tolist()


def test_tenths_hold_out_whole_groups() -> None:
    groups = np.repeat(np.arange(30), 4)
    labels = np.random.default_rng(0).integers(2, size=30)[groups]
    parts = list(tenths(labels, 0, groups))
    for learn, held in parts:
        assert len(learn) + len(held) == 120 and not set(groups[learn]) & set(groups[held])
    assert sorted(np.concatenate([held for _, held in parts])) == list(range(120))
    assert not list(tenths(labels, 0, np.zeros(120, int)))


def test_folds_end_with_the_groups() -> None:
    order, groups = np.arange(6), np.array([3, 3, 8, 8, 5, 5])
    pairs = [(learn.tolist(), held.tolist()) for learn, held in folds(order, 5, groups)]
    assert pairs == [([2, 3, 4, 5], [0, 1]), ([0, 1, 4, 5], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    assert list(folds(order, 5, np.zeros(6))) == []


def test_ridge_leaves_out_whole_groups() -> None:
    groups = np.arange(40) // 2
    for learn, held in of_ridge(groups)["cv"]:
        assert len(held) == 8 and not set(groups[learn]) & set(groups[held])
    assert of_ridge(None) == of_ridge(np.zeros(4, int)) == {}
