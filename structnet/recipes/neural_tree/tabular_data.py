"""Small tables that need no download: scikit-learn's own, and generated ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

TEST = 0.25  # share of the rows of a published table for testing
TESTED = 10_000  # rows of a generated table for testing
Rows = tuple[np.ndarray, np.ndarray]


class Source(NamedTuple):
    """A table.

    Attributes:
        rows: function from a seed and a number of rows to inputs and targets; that of a published
            table, which has the rows that it has, ignores both.
        classes: True if the targets are classes, False if they are numbers.
        regions: True if the table is made of regions, so that a tree should branch.
        size: number of rows to learn from; None for a published table.
    """

    rows: Callable[[int, int], Rows]
    classes: bool = True
    regions: bool = False
    size: int | None = None


def checkerboard(seed: int, size: int) -> Rows:
    """Points on a checkerboard of four by four fields and two classes, a few of the wrong class.

    Shapes:
        ``[size, 2]`` and ``[size]``.
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, (size, 2))
    return x, (x.astype(int).sum(axis=1) + (rng.random(size) < 0.05)) % 2


def uneven_clusters(seed: int, size: int) -> Rows:
    """Twelve clusters in the plane with uneven sizes and widths, three for each of four classes.

    Shapes:
        ``[size, 2]`` and ``[size]``.
    """
    rng = np.random.default_rng(seed)
    centers, widths = rng.uniform(-6, 6, (12, 2)), rng.uniform(0.2, 0.9, 12)
    drawn = rng.choice(12, size, p=rng.dirichlet(np.full(12, 1.5)))
    return centers[drawn] + widths[drawn, None] * rng.normal(size=(size, 2)), drawn % 4


def thresholds(seed: int, size: int) -> Rows:
    """Two classes by rules on five of ten columns, as of a decision list.

    Shapes:
        ``[size, 10]`` and ``[size]``.
    """
    x = np.random.default_rng(seed).normal(size=(size, 10))
    first, second = (x[:, 0] > 0.3) & (x[:, 1] < 0.5), (x[:, 2] > -0.2) & (x[:, 3] > 0.8)
    return x, ((first | second) ^ (x[:, 4] < -0.6)).astype(int)


def housing(seed: int, size: int) -> Rows:
    """Prices of houses in four regions, in which different things matter.

    Shapes:
        ``[size, 10]`` and ``[size]``.
    """
    rng = np.random.default_rng(seed)
    area = rng.gamma(6, 20, size) + 30
    rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.8, size)), 1, 9)
    age, distance = rng.uniform(0, 100, size), rng.exponential(6, size)
    floor, income = rng.integers(0, 12, size), rng.normal(40, 12, size)
    region = np.eye(4)[rng.integers(0, 4, size)]
    price = 2.2 * area * (1 + 0.9 * np.exp(-distance / 4)) + 6 * rooms + 60 * region[:, 3]
    price += np.where(age > 60, 40, -0.8 * age) + 1.2 * income * region[:, 2]
    price = (price + 3 * floor * region[:, 0]) * np.exp(rng.normal(0, 0.08, size))
    return np.column_stack([area, rooms, age, distance, floor, income, region]), price


SOURCES = {
    "digits": Source(lambda seed, size: datasets.load_digits(return_X_y=True)),
    "breast cancer": Source(lambda seed, size: datasets.load_breast_cancer(return_X_y=True)),
    "wine": Source(lambda seed, size: datasets.load_wine(return_X_y=True)),
    "iris": Source(lambda seed, size: datasets.load_iris(return_X_y=True)),
    "moons": Source(
        lambda seed, size: datasets.make_moons(size, noise=0.3, random_state=seed),
        regions=True,
        size=750,
    ),
    "diabetes": Source(lambda seed, size: datasets.load_diabetes(return_X_y=True), classes=False),
    "friedman1": Source(
        lambda seed, size: datasets.make_friedman1(size, noise=1.0, random_state=seed),
        classes=False,
        regions=True,
        size=750,
    ),
    "housing": Source(housing, classes=False, size=1500),
    "checkerboard": Source(checkerboard, regions=True, size=750),
    "uneven clusters": Source(uneven_clusters, regions=True, size=750),
    "thresholds": Source(thresholds, regions=True, size=1500),
}
RANKED = tuple(SOURCES)[:8]


def parts(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The inputs to learn from and to test on, then their targets, split by the seed.

    Shapes:
        inputs ``[n, columns]``; targets ``[n]``.

    Example:
        >>> [len(part) for part in parts("iris", seed=0)]
        [112, 38, 112, 38]
    """
    source = SOURCES[name]
    x, y = source.rows(seed, (source.size or 0) + TESTED)
    strata, tested = y if source.classes else None, TESTED if source.size else TEST
    x, x_test, y, y_test = train_test_split(
        x, y, test_size=tested, random_state=seed, stratify=strata
    )
    return x, x_test, y, y_test
