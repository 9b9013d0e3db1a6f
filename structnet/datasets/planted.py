"""Points of a hierarchy that is known: what a tree of labels should find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structnet.checks import check_integer, check_number


@dataclass(frozen=True)
class Planted:
    """Points around the centres of labels, which are sums over the groups that hold them.

    Attributes:
        x: points.
        y: label of each.
        centres: centre of each label.
        groups: group of each label at each level, the outermost first; the last is its own.

    Shapes:
        x ``[n, size]``, float32; y ``[n]``, int64; centres ``[labels, size]``; groups
        ``[labels, depth]``, int64.
    """

    x: np.ndarray
    y: np.ndarray
    centres: np.ndarray
    groups: np.ndarray


def load_planted(
    arity: int = 4,
    depth: int = 4,
    size: int = 6,
    number: int = 60_000,
    noise: float = 0.35,
    shrink: float = 1.6,
    seed: int = 0,
) -> Planted:
    """Draws a hierarchy of ``arity ** depth`` labels, and points of each.

    ``centre = sum over levels l = 0, 1, ... of shrink^-l times a Gaussian vector of its group``

    Args:
        arity: groups in a group.
        depth: levels.
        size: columns.
        number: number of points.
        noise: standard deviation of the points around their centres.
        shrink: factor from a level's deviation to the next one's.
        seed: seed of the draw.

    Raises:
        ValueError: an argument is out of its range.

    Example:
        >>> found = load_planted(arity=2, depth=3, size=2, number=100)
        >>> found.x.shape, found.centres.shape, len(set(found.groups[:, 0]))
        ((100, 2), (8, 2), 2)
    """
    for name, value, least in (("arity", arity, 2), ("depth", depth, 1), ("size", size, 1)):
        check_integer(name, value, least, owner="load_planted")
    check_integer("number", number, 1, owner="load_planted")
    check_number("noise", noise, 0, owner="load_planted")
    check_number("shrink", shrink, 0, open=True, owner="load_planted")
    rng = np.random.default_rng(seed)
    labels = arity**depth
    place = rng.permutation(labels)  # of each label: its number says nothing
    groups = np.stack([place // arity ** (depth - 1 - level) for level in range(depth)], axis=1)
    centres = np.zeros((labels, size))
    for level in range(depth):
        vectors = rng.normal(size=(arity ** (level + 1), size)) * shrink**-level
        centres += vectors[groups[:, level]]
    y = rng.integers(labels, size=number)
    x = centres[y] + noise * rng.normal(size=(number, size))
    return Planted(x.astype(np.float32), y, centres, groups)
