"""Points drawn from a known hierarchy, which a tree of labels should recover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structnet.checks import check_integer, check_number


@dataclass(frozen=True)
class Planted:
    """Points around the centres of labels; a centre is a sum over the groups of its label.

    Attributes:
        x: points.
        y: label of each point.
        centres: centre of each label.
        groups: group of each label at each level, outermost first; in the last each is alone.

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
    """Draws a hierarchy of ``arity ** depth`` labels, and points with random labels.

    ``centre = sum over levels l = 0, 1, ... of shrink^-l g_l``, where ``g_l`` is a Gaussian vector,
    with variance 1, of the label's group at level l.

    Args:
        arity: number of groups in a group.
        depth: number of levels.
        size: length of a point.
        number: number of points.
        noise: standard deviation of the points around their centres.
        shrink: divisor of the standard deviation from each level to the next.
        seed: seed of the draw.

    Raises:
        ValueError: an argument is out of range.

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
    place = rng.permutation(labels)  # a label's number must not reveal its groups
    groups = np.stack([place // arity ** (depth - 1 - level) for level in range(depth)], axis=1)
    centres = np.zeros((labels, size))
    for level in range(depth):
        vectors = rng.normal(size=(arity ** (level + 1), size)) * shrink**-level
        centres += vectors[groups[:, level]]
    y = rng.integers(labels, size=number)
    x = centres[y] + noise * rng.normal(size=(number, size))
    return Planted(x.astype(np.float32), y, centres, groups)
