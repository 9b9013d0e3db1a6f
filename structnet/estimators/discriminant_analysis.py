"""Linear discriminant analysis, regularised by cross-validation: a softmax without training."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from structnet.estimators.checked import Checked
from structnet.estimators.held_out import tenths

SHARES = (0.1, 0.01, 0.001, 0.4, 1.0)  # of the identity in the covariance; by default the first
CERTAINTIES = (1.0, 0.5, 0.2, 0.05, 0.0)  # factors of the weights; the first one is the default
DOUBT = 0.5  # rows of another label that might be among those held out
CELLS = 1_000_000  # largest number of scores, for examples and labels, that are computed to try one
FEWEST = 40  # number of rows that are held out, though they have more scores
COLUMNS = 1_000  # number above which all columns are taken as equally varying and uncorrelated
ROWS = 20  # largest number of examples per column from which the covariance is estimated, ...
MANY = 10_000  # ... though always from this many if there are
WAYS = 2  # to shrink means: along all axes alike, or along each by its own variance
UNSEEN = 0.5  # smallest number of examples that a label counts as
ROUNDING = 1e-12  # smallest variance of a column, where its mean square is about 1


class Shrinkage(NamedTuple):
    """How far means, covariance and weights are shrunk, as few rows tell little of them.

    Attributes:
        way: way to shrink means: 0 along all axes alike, 1 along each by its own variance.
        share: share of a multiple of the identity in the covariance.
        certainty: factor of the weights.
    """

    way: int
    share: float
    certainty: float


class _Moments(NamedTuple):
    """The moments of rows, in units of the root mean square of their entries.

    Attributes:
        middle: mean of all rows.
        means: mean of each label's rows relative to it, along the axes if there are some.
        counts: number of rows of each label.
        beside: number of rows at 0 that each label has beside its own, along each axis, in either
            way to find it.
        axes, variances: eigenvectors and eigenvalues of the covariance; None and a single variance
            if all columns are taken as equally varying and uncorrelated.
        log_share: logarithm of the share of each label.

    Shapes:
        middle ``[columns]``; means ``[labels, columns]``; counts ``[labels]``; both of beside
        ``[columns]`` or ``[]``; axes ``[columns, columns]``; variances ``[columns]`` or ``[1]``;
        log_share ``[labels]``.
    """

    middle: np.ndarray
    means: np.ndarray
    counts: np.ndarray
    beside: tuple[np.ndarray, ...]
    axes: np.ndarray | None
    variances: np.ndarray
    log_share: np.ndarray


def discriminant(
    rows: Checked, num_classes: int, seed: int = 0, how: Shrinkage | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of a linear discriminant analysis of dense rows.

    If the rows of label k have a normal distribution around m_k, with the same covariance S for all
    labels, and the mean of all rows is 0, ``log p(k | x) = w_k . x + b_k + log share_k + const``
    with ``w_k = S^-1 m_k`` and ``b_k = -w_k . m_k / 2``. Each m_k is shrunk towards 0 as if the
    label had more rows at 0, as many as the variance within labels divided by that between them: so
    few rows say little. Whether these variances are those along each axis of S or of all together,
    the share in S of a multiple of the identity, and the factor by which w and b are reduced to be
    less certain, are chosen by the loss on held-out rows.

    Args:
        rows: dense rows with labels from 0.
        num_classes: number of labels.
        seed: seed of the choice of held-out rows.
        how: shrinkage; by default that of :func:`best_shrinkage`.

    Shapes:
        weights ``[num_classes, columns]``; biases, with log share_k, ``[num_classes]``; float32.

    Reference:
        Friedman, Regularized discriminant analysis, JASA 1989, with one covariance for all labels.

    Example:
        >>> table = np.array([[0.0], [2.0], [8.0], [10.0]] * 50)
        >>> weight, bias = discriminant(Checked(table, np.array([0, 0, 1, 1] * 50), None), 2)
        >>> middle = (bias[0] - bias[1]) / (weight[1] - weight[0])
        >>> middle.round(2).tolist()  # where both are equally likely
        [5.0]
    """
    unit, single = unit_of(rows.x), np.finfo(np.float32)
    rows = with_weights(rows)
    way, share, certainty = how or best_shrinkage(rows, num_classes, seed)
    moments = _moments(rows, num_classes, unit, seed)
    weight, bias = (certainty * each for each in _solved(moments, way, share))
    weight /= unit
    if np.abs(weight).max() > single.max:  # if the rows are almost 0
        weight, bias = np.zeros_like(weight), np.zeros_like(bias)
    return weight.astype(np.float32), (bias + moments.log_share).astype(np.float32)


def with_weights(rows: Checked) -> Checked:
    """The rows whose weight is above 0, with weights of 1 if they have none."""
    rows = rows.counting(0)
    return rows if rows.weights is not None else rows._replace(weights=np.ones(len(rows.y)))


def unit_of(x: np.ndarray) -> float:
    """The root mean square of all numbers of dense rows, ``[n, columns]``, above 0."""
    unit = float(np.sqrt(_sum_of_squares(x) / x.size))
    return max(unit or 1.0, float(np.finfo(np.float32).tiny))


def class_sums(x: Any, labels: np.ndarray, weights: np.ndarray, num_classes: int) -> Any:
    """The weighted sum of each label's rows, in double precision.

    Shapes:
        x ``[n, columns]``, dense or sparse, as is the output ``[num_classes, columns]``; labels,
        weights ``[n]``.
    """
    place, shape = (labels, np.arange(len(labels))), (num_classes, len(labels))
    return csr_matrix((weights, place), shape, np.float64) @ x


def class_means(sums: np.ndarray, counts: np.ndarray, prior: float = 0.0) -> np.ndarray:
    """The mean row of each label, from its :func:`class_sums`; the mean of all without rows.

    Args:
        sums: weighed sum of each label's rows.
        counts: weight of each label's rows.
        prior: number of rows at the mean of all that are added to a label's own.

    Shapes:
        sums, output ``[num_classes, columns]``; counts ``[num_classes]``.
    """
    mean, counts = sums.sum(0) / counts.sum(), counts[:, None] + prior
    return np.where(counts > 0, (sums + prior * mean) / np.maximum(counts, 1e-300), mean)


def _sum_of_squares(x: np.ndarray) -> float:
    """The sum of squares of all numbers, in double precision, without a copy of them."""
    return float(np.einsum("nd,nd", x, x, dtype=np.float64))


def losses_of(logits: np.ndarray, labels: np.ndarray, number: int) -> np.ndarray:
    """The losses of held-out rows, as if half a row of the likeliest other label were among many.

    So many are the rows learned from: of few, all may be predicted well though a label is not as
    sure as that.

    Args:
        logits: scores of all labels.
        labels: labels of the rows.
        number: number of rows learned from.

    Shapes:
        logits ``[n, num_classes]``; labels, output ``[n]``.

    Reference:
        Platt, Probabilistic outputs for support vector machines, 1999, Sec. 2.2, with Krichevsky's
        and Trofimov's half of an observation.
    """
    place = np.arange(len(labels))
    others = logits - logits.max(1, keepdims=True)
    own = others[place, labels]
    others[place, labels] = -np.inf
    likeliest = others.max(1)
    total = np.log(np.exp(others, out=others).sum(1) + np.exp(own))
    doubt = DOUBT / (number + 2 * DOUBT)
    return total - (1 - doubt) * own - doubt * likeliest


def best_shrinkage(rows: Checked, num_classes: int, seed: int) -> Shrinkage:
    """The shrinkage of the least loss on held-out rows; the first if none can be held out.

    Args:
        rows: dense rows with labels from 0.
        num_classes: number of labels.
        seed: seed of the choice of held-out rows.
    """
    rows = with_weights(rows)
    parts = tenths(rows.y, seed, rows.groups)
    return shrinkage_of(
        ((rows.take(learn), rows.take(held)) for learn, held in parts), num_classes, seed
    )


def shrinkage_of(
    parts: Iterable[tuple[Checked, Checked]], num_classes: int, seed: int
) -> Shrinkage:
    """The shrinkage of the least loss, from pairs of rows to learn from and held-out rows.

    Args:
        parts: pairs of dense rows with weights, and labels from 0.
        num_classes: number of labels.
        seed: seed of the choice of rows for large covariances.
    """
    tested = [_tested(learn, held, num_classes, seed) for learn, held in parts]
    total = np.full((WAYS, len(SHARES), len(CERTAINTIES)), np.inf)
    # Without axes, the share of the identity and the way to shrink change nothing.
    alike = any(each.moments.axes is None for each in tested)
    for way, row in [(0, 0)] if alike or not tested else product(range(WAYS), range(len(SHARES))):
        scores = [each.scores(way, SHARES[row]) for each in tested]
        for column, certainty in enumerate(CERTAINTIES):
            pairs = zip(tested, scores, strict=True)
            total[way, row, column] = sum(each.loss(of, certainty) for each, of in pairs)
            # The loss is convex in the certainty, but for what doubt adds.
            if column and total[way, row, column] > total[way, row, column - 1]:
                break
    best = np.unravel_index(np.argmin(total), total.shape)
    return Shrinkage(int(best[0]), SHARES[best[1]], CERTAINTIES[best[2]])


class _Tested(NamedTuple):
    """The moments of rows to learn from, with rows that are held out.

    Attributes:
        moments: moments, in units of ``unit``.
        unit: root mean square of the entries.
        held: held-out rows.
        number: number of rows to learn from.
    """

    moments: _Moments
    unit: float
    held: Checked
    number: int

    def scores(self, way: int, share: float) -> np.ndarray:
        """The scores of held-out rows, without the labels' shares. ``[held, labels]``."""
        weight, bias = _solved(self.moments, way, share)
        return self.held.x @ (weight / self.unit).T + bias

    def loss(self, scores: np.ndarray, certainty: float) -> float:
        """The summed loss of held-out rows with these scores ``[held, labels]``."""
        logits = certainty * scores
        logits += self.moments.log_share
        return float(self.held.weights @ losses_of(logits, self.held.y, self.number))


def _tested(learn: Checked, held: Checked, num_classes: int, seed: int) -> _Tested:
    """Rows to learn from, and as many of the held-out rows as do not take long."""
    most = max(CELLS // num_classes, FEWEST)
    some = held.take(np.arange(0, len(held.y), max(-(-len(held.y) // most), 1)))
    unit = unit_of(learn.x)
    return _Tested(_moments(learn, num_classes, unit, seed), unit, some, len(learn.y))


def _moments(rows: Checked, num_classes: int, unit: float, seed: int) -> _Moments:
    assert rows.weights is not None
    counts, size = np.bincount(rows.y, rows.weights, num_classes), rows.x.shape[1]
    total, sums = counts.sum(), class_sums(rows.x, rows.y, rows.weights, num_classes) / unit
    middle = sums.sum(0) / total
    means = class_means(sums, counts)
    rests = rows.x / np.float32(unit)
    rests -= means.astype(np.float32)[rows.y]
    rests *= np.sqrt(rows.weights, dtype=np.float32)[:, None]
    means -= middle
    within = _sum_of_squares(rests) / total
    between = counts @ np.square(means).sum(1) / total
    spread = max(within + between, ROUNDING * size)
    # Add one row, half of whose squared distance from the mean of all counts as within its label,
    # as each label may have a single row.
    free = max(total - (counts > 0).sum(), 0) + 1
    noise = (within * total + spread / 2) / free
    axes, variances = None, np.array([noise / size])
    if size <= COLUMNS:
        some = rests
        if len(rests) > max(ROWS * size, MANY):  # at random, as rows may be sorted
            order = np.random.default_rng(seed).permutation(len(rests))
            some = rests[np.sort(order[: max(ROWS * size, MANY)])]
        covariance = (some.T @ some).astype(np.float64)
        covariance *= within * total / max(np.trace(covariance), 1e-30)
        least = spread / 2 / size
        variances, axes = np.linalg.eigh((covariance + np.eye(size) * least) / free)
        variances = np.maximum(variances, least / free)  # rounding
    # Along all axes alike; or along each, as along a narrow one the means of few rows are almost
    # sure, unless it is narrow by chance, where rows are few. How far means lie apart may be seen
    # best along narrow axes, or along those on which they differ most.
    along = means if axes is None else means @ axes
    widths = np.broadcast_to(variances, size)
    apart = counts @ np.square(along) / total + (widths * free - spread / 2 / size) / total
    ways = (spread - noise) / size, (apart / widths - 1).sum() / (1 / widths).sum()
    alike = np.asarray(noise / max(spread - noise, 1e-6 * spread))
    beside = alike, variances / max(*ways, 1e-6 * spread / size)
    log_share = np.log(np.maximum(counts, UNSEEN) / total)
    return _Moments(middle, along, counts, beside, axes, variances, log_share)


def _solved(moments: _Moments, way: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights, and biases without the labels' shares, for a share of the identity in S."""
    variances = (1 - share) * moments.variances + share * moments.variances.mean()
    counts, axes = moments.counts[:, None], moments.axes
    means = moments.means * (counts / (counts + moments.beside[way]))
    weight = means / variances
    if axes is not None:
        means, weight = means @ axes.T, weight @ axes.T
    return weight, -(weight * (means / 2 + moments.middle)).sum(1)
