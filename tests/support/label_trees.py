"""Planted hierarchies, and slow forms of the reassignment that read like the rule."""

from __future__ import annotations

from itertools import product

import numpy as np

from structnet.label_tree import Examples, Features


def planted(
    arity: int, depth: int, size: int, number: int, seed: int, noise: float = 0.35
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, their labels, and the labels' centres: sums over levels of their groups' vectors."""
    rng = np.random.default_rng(seed)
    labels = arity**depth
    centres = np.zeros((labels, size))
    for level in range(depth):
        groups = rng.normal(size=(arity ** (level + 1), size)) * 1.6**-level
        centres += np.repeat(groups, labels // len(groups), axis=0)
    centres = centres[rng.permutation(labels)]
    y = rng.integers(labels, size=number)
    return centres[y] + noise * rng.normal(size=(number, size)), y, centres


def table(number: int = 3000, seed: int = 0) -> Examples:
    """Rows of 27 labels, a planted hierarchy."""
    x, y, _ = planted(3, 3, 4, number, seed)
    return Examples(Features.from_table(x), y)


def around_centres(
    labels: int, each: int, size: int, spread: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows around random centres, without a hierarchy, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(labels), each))
    return rng.normal(size=(labels, size))[y] + spread * rng.normal(size=(len(y), size)), y


def missing(size: int, arity: int) -> int:
    """The labels that a child of so many needs, so that a tree can go on below it."""
    return 1 if size == 0 else (1 - size) % (arity - 1)


def allowed(sizes: list[int], left: int, labels: int, arity: int, capacity: int) -> bool:
    """Can the labels that are left, and the empty slots, complete all children?"""
    slack = (1 - labels) % (arity - 1)
    return max(sizes) <= capacity and sum(missing(s, arity) for s in sizes) <= left + slack


def slow_greedy(scores: np.ndarray, capacity: int) -> list[int]:
    """The best pair that is allowed, again and again."""
    n, arity = scores.shape
    sizes, choice, left = [0] * arity, [-1] * n, set(range(n))
    pairs = sorted(product(range(n), range(arity)), key=lambda pair: (-scores[pair], pair))
    while left:
        for i, j in pairs:
            if i not in left:
                continue
            after = [size + (k == j) for k, size in enumerate(sizes)]
            if allowed(after, len(left) - 1, n, arity, capacity):
                choice[i], sizes = j, after
                left.remove(i)
                break
        else:
            raise AssertionError("no pair is allowed")
    return choice


def best_sum(scores: np.ndarray, capacity: int) -> float:
    """The largest sum of scores over all choices that are allowed."""
    n, arity = scores.shape
    best = -np.inf
    for choice in product(range(arity), repeat=n):
        sizes = np.bincount(choice, minlength=arity).tolist()
        if allowed(sizes, 0, n, arity, capacity):
            best = max(best, float(scores[range(n), choice].sum()))
    return best


def tokens(number: int = 600) -> tuple[list[list[int]], np.ndarray]:
    """Lists of tokens, the first of which is the label, and the labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(12, size=number)
    return [[int(k), *rng.integers(12, 40, size=rng.integers(4)).tolist()] for k in y], y
