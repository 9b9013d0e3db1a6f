"""Rows around many centres, some of them near each other, for classifiers of many classes.

A class has several modes, each near the centre of a random group of modes. No hyperplane separates
a class from the rest, but within a group hyperplanes separate the modes. Classes and groups are
equally frequent, or as uneven as words: the share of the i-th is proportional to ``1 / i``.
"""

from __future__ import annotations

import numpy as np

from structnet.checks import check_bool, check_integer
from structnet.datasets.arrays import Arrays

FAR, NEAR, NOISE = 3.0, 0.42, 1.0  # standard deviations of groups, of modes in them, of rows


def generate(
    num_train: int = 20_000,
    num_test: int = 5_000,
    *,
    num_classes: int = 200,
    num_modes: int = 4,
    num_features: int = 64,
    num_groups: int = 32,
    uneven: bool = False,
    seed: int = 0,
) -> Arrays:
    """Draws centres, and rows around them.

    Args:
        num_train, num_test: numbers of rows.
        num_classes: number of classes, at least 2.
        num_modes: number of modes of each class, each in a group drawn at random.
        num_features: length of a row.
        num_groups: number of groups.
        uneven: True for classes and groups whose shares are proportional to ``1 / i``; rare groups
            then have modes of fewer classes.
        seed: seed of all random numbers.

    Shapes:
        x ``[N, num_features]``; y ``[N]``.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> data = generate(100, 50, num_classes=5, num_features=3)
        >>> data.x_train.shape, data.num_outputs
        ((100, 3), 5)
    """
    for name, value, least in (
        ("num_train", num_train, 1),
        ("num_test", num_test, 1),
        ("num_classes", num_classes, 2),
        ("num_modes", num_modes, 1),
        ("num_features", num_features, 1),
        ("num_groups", num_groups, 1),
    ):
        check_integer(name, value, least)
    check_bool("uneven", uneven)
    rng = np.random.default_rng(seed)
    share = _zipf(num_classes) if uneven else np.full(num_classes, 1 / num_classes)
    group_share = _zipf(num_groups) if uneven else np.full(num_groups, 1 / num_groups)
    group = rng.choice(num_groups, size=(num_classes, num_modes), p=group_share)
    centres = FAR * rng.standard_normal((num_groups, num_features))
    centres = centres[group] + NEAR * rng.standard_normal((num_classes, num_modes, num_features))

    def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.choice(num_classes, size=number, p=share)
        mode = rng.integers(num_modes, size=number)
        x = centres[y, mode] + NOISE * rng.standard_normal((number, num_features))
        return x.astype(np.float32), y

    return Arrays.scaled(
        draw(num_train),
        draw(num_test),
        tuple(map(str, range(num_classes))),
        name="uneven" if uneven else "clusters",
        split=f"drawn with seed {seed}",
    )


def _zipf(number: int) -> np.ndarray:
    share = 1 / np.arange(1, number + 1)
    return share / share.sum()
