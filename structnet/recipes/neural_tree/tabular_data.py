"""Small tables that need no download: scikit-learn's own, and generated ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

SIZE = 1000  # rows of a generated table
TEST = 0.25  # share of the rows for testing
Rows = tuple[np.ndarray, np.ndarray]


class Source(NamedTuple):
    """A table.

    Attributes:
        rows: function from a seed to inputs and targets; published tables ignore the seed.
        classes: True if the targets are classes, False if they are numbers.
        regions: True if the table is made of regions, so that a tree should branch.
    """

    rows: Callable[[int], Rows]
    classes: bool = True
    regions: bool = False


def checkerboard(seed: int, sides: int = 4, flipped: float = 0.05) -> Rows:
    """Points on a checkerboard of two classes, a few of them with the wrong class.

    Shapes:
        ``[n, 2]`` and ``[n]``.
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, sides, (SIZE, 2))
    return x, (x.astype(int).sum(axis=1) + (rng.random(SIZE) < flipped)) % 2


def uneven_clusters(seed: int, clusters: int = 12, classes: int = 4) -> Rows:
    """Clusters in the plane with uneven sizes and widths, three per class by default.

    Shapes:
        ``[n, 2]`` and ``[n]``.
    """
    rng = np.random.default_rng(seed)
    centers, widths = rng.uniform(-6, 6, (clusters, 2)), rng.uniform(0.2, 0.9, clusters)
    drawn = rng.choice(clusters, SIZE, p=rng.dirichlet(np.full(clusters, 1.5)))
    x = centers[drawn] + widths[drawn, None] * rng.normal(size=(SIZE, 2))
    return x, drawn % classes


def housing(seed: int, size: int = 2000) -> Rows:
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
    "digits": Source(lambda seed: datasets.load_digits(return_X_y=True)),
    "breast cancer": Source(lambda seed: datasets.load_breast_cancer(return_X_y=True)),
    "wine": Source(lambda seed: datasets.load_wine(return_X_y=True)),
    "iris": Source(lambda seed: datasets.load_iris(return_X_y=True)),
    "moons": Source(
        lambda seed: datasets.make_moons(SIZE, noise=0.3, random_state=seed), regions=True
    ),
    "diabetes": Source(lambda seed: datasets.load_diabetes(return_X_y=True), classes=False),
    "friedman1": Source(
        lambda seed: datasets.make_friedman1(SIZE, noise=1.0, random_state=seed),
        classes=False,
        regions=True,
    ),
    "housing": Source(housing, classes=False),
    "checkerboard": Source(checkerboard, regions=True),
    "uneven clusters": Source(uneven_clusters, regions=True),
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
    x, y = source.rows(seed)
    strata = y if source.classes else None
    x, x_test, y, y_test = train_test_split(
        x, y, test_size=TEST, random_state=seed, stratify=strata
    )
    return x, x_test, y, y_test
