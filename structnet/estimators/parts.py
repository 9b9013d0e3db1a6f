"""Classes that consist of several parts, each of which a linear model tells from the others.

Of a class that is several clusters, a linear model sees only the mean. So each class is divided
into parts, which the model learns as if they were classes; the probability of a class is the sum of
those of its parts, ``p(y | x) = sum_{r in y} p(r | x)``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structnet.estimators.checked import Checked

LEAST = 3  # rows of a class for each of its parts
STARTS, ROUNDS = 4, 20  # beginnings of k-means, of which the best counts; its rounds
MANY = 100  # rows of a class, on average, from which on products are faster than differences
CELLS = 10_000_000  # probabilities that are computed at once, 80 MB


def parts_within(
    rows: Checked, num_classes: int, number: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Divides each class into parts by k-means, for all classes at the same time.

    A class of few rows has fewer parts, so that each has 3 rows on average; every class has one.
    Asked for the largest number that was found, it finds the same parts again.

    Args:
        rows: dense rows with labels from 0, whose columns have comparable scales.
        num_classes: number of classes.
        number: largest number of parts of a class.
        seed: seed of the first centres.

    Shapes:
        part of each row ``[n]``; class of each part, ascending, ``[parts]``.

    Reference:
        Hastie, Tibshirani, Discriminant analysis by Gaussian mixtures, JRSS B 1996.
        Arthur, Vassilvitskii, k-means++, SODA 2007, for the first centres.

    Example:
        >>> x, y = np.repeat([[0.0], [8.0], [4.0]], 6, axis=0), np.repeat([0, 0, 1], 6)
        >>> rows = Checked(x, y, None)
        >>> part, classes = parts_within(rows, 2, 2)
        >>> classes.tolist(), len(set(part[:6])), len(set(part[:12]))
        ([0, 0, 1], 1, 2)
    """
    rng, x, y = np.random.default_rng(seed), rows.x, rows.y
    weights = np.ones(len(y)) if rows.weights is None else rows.weights.astype(np.float64)
    most = np.clip(np.bincount(y, minlength=num_classes) // LEAST, 1, number)
    number = int(most.max())
    best, place = np.full(num_classes, np.inf), np.zeros(len(y), np.int64)
    for _ in range(STARTS):
        centres = _first_centres(x, y, weights, most, rng)
        for _ in range(ROUNDS):
            distances = _distances(x, y, centres, most)
            nearest = distances.argmin(1)
            moved = _means(x, y * number + nearest, weights, centres)
            if np.array_equal(moved, centres):
                break
            centres = moved
        spread = np.bincount(y, weights * distances.min(1), num_classes)
        better = spread < best
        best, place = np.where(better, spread, best), np.where(better[y], nearest, place)
    lacking = np.setdiff1d(np.arange(num_classes), y) * number  # without rows, they have one too
    codes = np.union1d(y * number + place, lacking)
    found = int(np.bincount(codes // number).max())
    if found < number:  # a part of each of the largest classes has lost its rows
        return parts_within(rows, num_classes, found, seed)
    return np.searchsorted(codes, y * number + place), codes // number


def _first_centres(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, most: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Rows of each class that are far apart, ``[classes, parts, columns]``; infinite if lacking."""
    centres = np.full((len(most), most.max(), x.shape[1]), np.inf)
    squares = np.ones(len(y))
    there, starts = np.unique(np.sort(y), return_index=True)
    for j in range(most.max()):
        # The largest of Gumbel's numbers is drawn in proportion to weight and squared distance.
        with np.errstate(divide="ignore"):
            key = np.log(weights * squares) + rng.gumbel(size=len(y))
        drawn = np.lexsort((-key, y))[starts]
        kept = most[there] > j
        centres[there[kept], j] = x[drawn[kept]]
        new = np.square(x - centres[y, j]).sum(1)
        squares = np.minimum(squares, new) if j else new
    return centres


def _distances(x: np.ndarray, y: np.ndarray, centres: np.ndarray, most: np.ndarray) -> np.ndarray:
    """The squared distances to the centres of a row's own class, ``[n, parts]``."""
    if len(y) < MANY * len(most):
        each = [np.square(x - centres[y, j]).sum(1) for j in range(centres.shape[1])]
        return np.stack(each, axis=1)
    found = np.full((len(y), centres.shape[1]), np.inf)
    order = np.argsort(y, kind="stable")
    ends = np.cumsum(np.bincount(y, minlength=len(most)))
    for k, rows in enumerate(np.split(order, ends[:-1])):
        if not len(rows):
            continue
        own = centres[k, : most[k]]
        middle = own.mean(0)  # from which numbers are counted, to keep their digits
        some, own = x[rows] - middle, own - middle
        squares = np.square(some).sum(1)[:, None] + np.square(own).sum(1)
        found[rows, : most[k]] = np.maximum(squares - 2 * some @ own.T, 0)
    return found


def _means(
    x: np.ndarray, codes: np.ndarray, weights: np.ndarray, centres: np.ndarray
) -> np.ndarray:
    """The mean row of each part; a part without rows keeps its centre."""
    size = centres.shape[0] * centres.shape[1]
    total = np.bincount(codes, weights, size)
    sums = np.stack([np.bincount(codes, weights * column, size) for column in x.T], axis=1)
    with np.errstate(invalid="ignore"):
        means = (sums / total[:, None]).reshape(centres.shape)
    return np.where(total.reshape(*centres.shape[:2], 1) > 0, means, centres)


def numbers_of(part_classes: np.ndarray) -> np.ndarray:
    """The number of each part within its class, from 0.

    Args:
        part_classes: class of each part, ascending.

    Shapes:
        part_classes, output ``[parts]``.

    Example:
        >>> numbers_of(np.array([0, 0, 1])).tolist()
        [0, 1, 0]
    """
    return np.arange(len(part_classes)) - np.searchsorted(part_classes, part_classes)


def of_classes(
    log_prob_of: Callable[[slice], np.ndarray], size: int, part_classes: np.ndarray
) -> np.ndarray:
    """The log-probabilities of classes, from those of their parts, a portion of rows at a time.

    Args:
        log_prob_of: function that gives some rows' log-probabilities of all parts, ``[m, parts]``.
        size: number of rows.
        part_classes: class of each part, ascending.

    Shapes:
        part_classes ``[parts]``; output ``[size, classes]``.

    Example:
        >>> log_prob = np.log([[0.2, 0.3, 0.5]])
        >>> np.exp(of_classes(lambda rows: log_prob[rows], 1, np.array([0, 0, 1]))).round(3)
        array([[0.5, 0.5]])
    """
    step = max(CELLS // len(part_classes), 1)
    some = [log_prob_of(slice(i, i + step)) for i in range(0, size, step)]
    return np.concatenate([_merged(each, part_classes) for each in some])


def _merged(log_prob: np.ndarray, part_classes: np.ndarray) -> np.ndarray:
    """The logarithms of the sums over parts. ``[n, parts] -> [n, classes]``."""
    first = np.searchsorted(part_classes, np.arange(part_classes[-1] + 1))
    most = np.maximum.reduceat(log_prob, first, axis=1)
    most = np.maximum(most, np.finfo(most.dtype).min)  # of parts that are all impossible
    shares = np.exp(log_prob - most[:, part_classes])
    with np.errstate(divide="ignore"):
        merged = most + np.log(np.add.reduceat(shares, first, axis=1))
    return np.minimum(merged, 0.0)  # which rounding may exceed
