"""Samples that are held out, for choices or for a test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from structnet.checks import check_number
from structnet.trees.end_to_end import ranges

ENOUGH, PARTS = 1_000, 10  # held-out rows up to which further parts are held out, and most parts


def validation_set(X_val: Any, y_val: Any, sample_weight_val: Any = None) -> tuple | None:
    """The validation set ``(X, y, sample_weight)`` of a ``fit``; None if the user gave none.

    Args:
        X_val, y_val, sample_weight_val: samples, targets and weights, or None for each.

    Raises:
        ValueError: only some of them are given, or there are no samples.

    Example:
        >>> validation_set([[1.0]], None)
        Traceback (most recent call last):
        ValueError: validation samples and their targets are given together. Got X_val without
        y_val.
    """
    arguments = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
    there = [name for name, value in arguments.items() if value is not None]
    if not there:
        return None
    lacking = next((name for name in ("X_val", "y_val") if name not in there), None)
    if lacking is not None:
        raise ValueError(
            "validation samples and their targets are given together. Got "
            f"{' and '.join(there)} without {lacking}."
        )
    if not (X_val.shape[0] if hasattr(X_val, "shape") else len(X_val)):
        raise ValueError("X_val has 0 samples; expected at least 1")
    return X_val, y_val, sample_weight_val


def hold_out(
    size: int,
    share: float,
    seed: int = 0,
    labels: np.ndarray | None = None,
    *,
    each_class: bool = False,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Splits samples at random into those to learn from and those to hold out, at least one each.

    All families hold out by this one rule, in ``fit`` and in choices of their settings. A class is
    never held out whole: where samples are few for their classes, fewer are held out.

    Args:
        size: number of samples, at least 2.
        share: share of the samples to hold out.
        seed: seed of the random choice; the same seed holds out the same samples.
        labels: classes of the samples; both parts get the same shares of them, up to rounding to
            whole samples, and of each class a sample is left to learn from.
        each_class: True to round the share for each class, so that classes of one size give the
            same number, as suits a test; False to round once, for all samples. Has no effect with
            ``groups``.
        groups: groups of the samples, such as files; no group is split. Both shares, of samples
            and of classes, are then kept as far as whole groups allow, and a group of more than
            half of all samples is not held out.

    Shapes:
        labels, groups ``[size]``, numbers from 0; both results ascending places, int64.

    Raises:
        ValueError: the share is not between 0 and 1, there is only one sample, or one of each
            class, or no group can be held out.

    Example:
        >>> labels = np.repeat([0, 1], [10, 20])
        >>> learn, held = hold_out(30, 0.2, labels=labels)
        >>> len(learn), labels[held].tolist()
        (24, [0, 0, 1, 1, 1, 1])
        >>> files = np.repeat(np.arange(10), 3)
        >>> learn, held = hold_out(30, 0.2, labels=labels, groups=files)
        >>> set(files[learn]) & set(files[held])
        set()
    """
    check_number("share", share, 0, 1, open=True, owner="hold_out")
    if size < 2:
        raise ValueError(f"too few samples to hold some out: {size}; expected at least 2")
    rng = np.random.default_rng(seed)
    if groups is not None:
        held = _whole_groups(rng, groups, np.zeros(size, int) if labels is None else labels, share)
    elif labels is not None and each_class:
        held = _of_each_class(rng, labels, share)
    else:
        least = 1 if labels is None else _number_of_classes(labels)  # one of each to learn from
        count = min(max(round(share * size), 1), size - least)
        order = rng.permutation(size)
        held = (order if labels is None else _mixed(rng, order, labels, count))[:count]
    is_held = np.zeros(size, bool)
    is_held[held] = True
    return np.flatnonzero(~is_held), np.flatnonzero(is_held)


def check_several(groups: np.ndarray | None) -> None:
    """Refuses samples to learn from that are all of one group, of which none can be held out.

    Args:
        groups: group of each sample; None if each is a group by itself.

    Shapes:
        groups ``[n]``.

    Raises:
        ValueError: there is only one group.

    Example:
        >>> check_several(np.zeros(3))
        Traceback (most recent call last):
        ValueError: no whole group can be held out: all samples to learn from are of one group;
        expected more groups, or X_val and y_val
    """
    if groups is not None and len(np.unique(groups)) == 1:
        raise ValueError(
            "no whole group can be held out: all samples to learn from are of one group; expected "
            "more groups, or X_val and y_val"
        )


def parted(
    size: int,
    share: float,
    seed: int,
    labels: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """As :func:`hold_out`, but holds out None of fewer than 4 samples, or if no class has two.

    Shapes:
        labels, groups ``[size]``; both results ascending places, int64, as of :func:`hold_out`.

    Raises:
        ValueError: no group can be held out.

    Example:
        >>> parted(3, 0.1, seed=0)
        (array([0, 1, 2]), None)
    """
    if size < 4:
        return np.arange(size), None
    if groups is None and labels is not None and len(np.unique(labels)) == size:
        return np.arange(size), None
    return hold_out(size, share, seed, labels, groups=groups)


def in_turn(order: np.ndarray, number: int, groups: np.ndarray | None = None) -> np.ndarray:
    """The part in which each sample is held out, where all are by turns; no group is split.

    Args:
        order: all samples, in the order in which they are dealt to the parts.
        number: number of parts; some are empty if there are fewer groups.
        groups: group of each sample; None if each is a group by itself.

    Shapes:
        order, groups, output ``[n]``.

    Example:
        >>> in_turn(np.arange(5), 2).tolist()
        [0, 1, 0, 1, 0]
        >>> in_turn(np.arange(5), 2, groups=np.array([7, 7, 3, 3, 5])).tolist()
        [0, 0, 1, 1, 0]
    """
    part = np.empty(len(order), np.int64)
    part[order] = _ranks(order, groups) % number
    return part


def folds(
    order: np.ndarray, number: int, groups: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of places to learn from and of held-out ones, each part :func:`in_turn`.

    There are fewer pairs if there are fewer groups, and none of a single group.

    Args:
        order: all samples, in the order in which they are dealt to the parts.
        number: number of parts.
        groups: group of each sample; None if each is a group by itself.

    Shapes:
        order, groups ``[n]``; pairs ``[learnt]``, ``[held]``, ascending.
    """
    part = in_turn(order, number, groups)
    for i in range(number):
        learn, held = np.flatnonzero(part != i), np.flatnonzero(part == i)
        if len(learn) and len(held):
            yield learn, held


def of_ridge(groups: np.ndarray | None, parts: int = 5) -> dict[str, Any]:
    """How a ``RidgeCV`` chooses its penalty: by whole groups that are held out in turn.

    Without groups, or with a single one, by the errors of each sample when it is left out.

    Args:
        groups: group of each sample, ``[n]``, or None.
        parts: number of parts.
    """
    every = [] if groups is None else list(folds(np.arange(len(groups)), parts, groups))
    return {"cv": every, "scoring": "neg_mean_squared_error"} if every else {}


def tenths(
    labels: np.ndarray, seed: int, groups: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of places to learn from, and of held-out ones of the same labels.

    A tenth of few samples is too small to show how rarely a sure label is wrong: the tenths of one
    cross-validation, which have the same labels as far as possible, are held out one after the
    other until they have enough samples. There may be none, as if each label has one sample.

    Args:
        labels: labels of the samples.
        seed: seed of the choice of tenths.
        groups: groups of the samples, none of which is split; None if each is one by itself.

    Shapes:
        labels, groups ``[n]``; pairs ``[learnt]``, ``[held]``, ascending.

    Example:
        >>> labels = np.arange(20) % 2
        >>> [labels[held].tolist() for learn, held in tenths(labels, seed=0)][:2]
        [[0, 1], [0, 1]]
    """
    size = len(labels)
    order = np.random.default_rng(seed).permutation(size)
    order = order[np.argsort(labels[order], kind="stable")]
    most = -(-ENOUGH // max(size // PARTS, 1))
    for learn, held in islice(folds(order, PARTS, groups), most):
        held = held[np.isin(labels[held], labels[learn])]
        if len(held):
            yield learn, held


def _ranks(order: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """The place of each sample's group in the order of the groups' first samples. ``[m]``."""
    if groups is None:
        return np.arange(len(order))
    _, first, group = np.unique(groups[order], return_index=True, return_inverse=True)
    return first.argsort().argsort()[group]


def _whole_groups(
    rng: np.random.Generator, groups: np.ndarray, labels: np.ndarray, share: float
) -> np.ndarray:
    """Places of the held-out groups, which are drawn one by one while their classes need more."""
    counts = csr_matrix((np.ones(len(groups)), (groups, labels)))
    counts.sum_duplicates()
    left = np.bincount(labels).astype(float)
    due, held, free = share * left, [], []
    # Rounding thresholds, drawn for each class: with a fixed 0.5, a class whose share is less
    # than half a group would never give any.
    least = rng.random(len(left))
    for group in rng.permutation(np.unique(groups)):
        part = slice(counts.indptr[group], counts.indptr[group + 1])
        kinds, number = counts.indices[part], counts.data[part]
        if (number == left[kinds]).any() or 2 * number.sum() > len(groups):  # last of a class
            continue
        free.append((number.sum(), group))
        if number @ (due[kinds] - least[kinds] * number) > 0:
            held.append(group)
            left[kinds] -= number
            due[kinds] -= number
    if not free:
        check_several(groups)
        raise ValueError(
            f"no whole group can be held out: of {len(np.unique(groups))}, each has more than half "
            "of the samples, or all of a class; expected groups that share their classes, or X_val "
            "and y_val"
        )
    return np.flatnonzero(np.isin(groups, held or [min(free)[1]]))


def _of_each_class(rng: np.random.Generator, labels: np.ndarray, share: float) -> np.ndarray:
    """Places of the rounded share of each class."""
    _number_of_classes(labels)
    _, sizes = np.unique(labels, return_counts=True)
    wanted = np.minimum(np.rint(share * sizes).astype(int), sizes - 1)
    if not wanted.any():  # a small share of few samples is still one
        wanted[sizes.argmax()] = 1
    places = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    drawn = (rng.permutation(each)[:n] for each, n in zip(places, wanted, strict=True))
    return np.concatenate(list(drawn))


def _number_of_classes(labels: np.ndarray) -> int:
    """The number of classes; raises an error if no class has two samples."""
    number = len(np.unique(labels))
    if number == len(labels):
        raise ValueError(
            f"too few samples to hold some out: {number}, each of another class; expected 2 of one"
        )
    return number


def _mixed(
    rng: np.random.Generator, order: np.ndarray, labels: np.ndarray, count: int
) -> np.ndarray:
    """All places in an order whose beginning has the classes' shares.

    The last sample of each class comes at the end, so that it is not held out.
    """
    sizes, ties = np.bincount(labels), rng.random(len(order))
    # Rounding thresholds, drawn for small classes: with a fixed one of 0.5, a class whose share is
    # less than half a sample would never give any.
    least = np.where(sizes * count < len(order), rng.random(len(sizes)), 0.5)
    order = order[np.argsort(labels[order], kind="stable")]  # class by class
    last = np.repeat(sizes, sizes) - 1  # [size], of the same class
    place = ranges(0, sizes)  # within its class
    due = (place + np.repeat(least, sizes)) / (last + 1) + (place == last)
    return order[np.lexsort((ties, due))]
