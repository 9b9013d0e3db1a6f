"""Where a softmax over all labels begins: at a linear discriminant analysis of its examples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from structnet.estimators.held_out import hold_out
from structnet.label_tree.examples import Examples, label_means
from structnet.label_tree.features import Features

SHARES = (0.1, 0.01, 0.4, 1.0)  # of the identity in the covariance; the first untried
CERTAINTIES = (1.0, 0.5, 0.2, 0.05, 0.0)  # of what the analysis tells
LEAST = 40  # examples from which on some are held out, for these to be tried on
CELLS = 1_000_000  # scores of the labels that they are tried on, at most
COLUMNS = 1_000  # of examples, above which all are taken to vary alike and apart
ROWS = 20  # examples a column that the covariance is taken from, at most, where they are many
MANY = 10_000
UNSEEN = 0.5  # examples that a label counts for at least
ROUNDING = 1e-12  # of the size of rows: a variance that says nothing


class _Moments(NamedTuple):
    """What is known of rows in some unit.

    Attributes:
        middle, means: mean of all rows, and the labels' around it.
        axes, variances: of the covariance, ``[columns, columns]`` and ``[columns]``; None and one
            variance where all columns are taken to vary alike and apart.
        log_share: logarithms of the labels' shares.
    """

    middle: np.ndarray
    means: np.ndarray
    axes: np.ndarray | None
    variances: np.ndarray
    log_share: np.ndarray


def discriminant(
    examples: Examples, num_classes: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of a linear discriminant analysis of dense rows.

    Where the rows of label k are normal around m_k, with one covariance S for all labels, and the
    mean of all is 0, ``log p(k | x) = w_k . x + b_k + log share_k + const`` with
    ``w_k = S^-1 m_k`` and ``b_k = -w_k . m_k / 2``. A label's mean stands beside so many rows as
    all are on average as the variance within labels is times that between them, so that few rows
    say little. How much of S is a multiple of the identity, and by which factor w and b are less
    certain, is chosen by the loss on rows held out.

    Args:
        seed: seed of what is held out.

    Shapes:
        weights ``[num_classes, columns]``; biases, with log share_k, ``[num_classes]``; float32.

    Reference:
        Friedman, Regularized discriminant analysis, 1989, with one covariance for all labels.

    Example:
        >>> from structnet.label_tree import Features
        >>> table = np.array([[0.0], [2.0], [8.0], [10.0]] * 50)
        >>> rows = Examples(Features.from_table(table), np.array([0, 0, 1, 1] * 50))
        >>> weight, bias = discriminant(rows, 2)
        >>> middle = (bias[0] - bias[1]) / (weight[1] - weight[0])
        >>> middle.round(2).tolist()  # where both are as likely
        [5.0]
    """
    share, certainty = SHARES[0], CERTAINTIES[0]
    features, single = examples.features, np.finfo(np.float32)
    unit = np.sqrt(features.sum_of_squares / features.values.size) or 1.0
    unit = max(float(unit), float(single.tiny))
    if len(examples) >= LEAST:
        share, certainty = _best(examples, num_classes, unit, seed)
    moments = _moments(examples, num_classes, unit, seed)
    weight, bias = (certainty * each for each in _solved(moments, share))
    weight /= unit
    if np.abs(weight).max() > single.max:  # of rows that are hardly more than 0
        weight, bias = np.zeros_like(weight), np.zeros_like(bias)
    return weight.astype(np.float32), (bias + moments.log_share).astype(np.float32)


def _best(examples: Examples, num_classes: int, unit: float, seed: int) -> tuple[float, float]:
    """The share of the identity, and the certainty, of the least loss on rows held out."""
    learn, held = hold_out(len(examples), 0.1, seed)
    # Each label has an example to begin with; of one that is not learnt nothing is to be seen.
    held = held[np.isin(examples.labels[held], examples.labels[learn])]
    most = max(CELLS // num_classes, LEAST)
    parts = examples[learn], examples[held[:: max(-(-len(held) // most), 1)]]
    if not len(held) or any(len(part.shares) and not part.shares.any() for part in parts):
        return SHARES[0], CERTAINTIES[0]
    moments, held_out = _moments(parts[0], num_classes, unit, seed), parts[1]
    labels, weights = held_out.labels[:, None], held_out.shares if len(held_out.shares) else None
    found = []
    for share in SHARES if moments.axes is not None else SHARES[:1]:
        weight, bias = _solved(moments, share)
        scores = held_out.features.table @ (weight / unit).T + bias
        for certainty in CERTAINTIES:
            logits = certainty * scores + moments.log_share
            losses = logsumexp(logits, axis=1) - np.take_along_axis(logits, labels, 1)[:, 0]
            found.append((np.average(losses, weights=weights), share, certainty))
    return min(found)[1:]


def _moments(examples: Examples, num_classes: int, unit: float, seed: int) -> _Moments:
    counts, size = examples.counts(num_classes), examples.features.size
    total, means = counts.sum(), label_means(examples, num_classes) / unit
    middle = counts @ means / total
    rests = examples.features.table / np.float32(unit)
    rests -= means.astype(np.float32)[examples.labels]
    if len(examples.shares):
        rests *= np.sqrt(examples.shares)[:, None]
    means -= middle
    within = Features.from_table(rests).sum_of_squares / total
    between = counts @ np.square(means).sum(1) / total
    spread = max(within + between, ROUNDING * size)
    # One more row, half of whose distance from the mean of all is within its label: there may be
    # one row a label.
    free = max(total - (counts > 0).sum(), 0) + 1
    noise = (within * total + spread / 2) / free
    axes, variances = None, np.array([noise / size])
    if size <= COLUMNS:
        some = rests
        if len(rests) > max(ROWS * size, MANY):  # at random, as rows may stand in some order
            order = np.random.default_rng(seed).permutation(len(rests))
            some = rests[np.sort(order[: max(ROWS * size, MANY)])]
        covariance = (some.T @ some).astype(np.float64)
        covariance *= within * total / max(np.trace(covariance), 1e-30)
        variances, axes = np.linalg.eigh((covariance + np.eye(size) * spread / 2 / size) / free)
    beside = noise / max(spread - noise, 1e-6 * spread)
    means *= (counts / (counts + beside))[:, None]
    return _Moments(middle, means, axes, variances, np.log(np.maximum(counts, UNSEEN) / total))


def _solved(moments: _Moments, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights and biases, without the labels' shares, where so much of S is the identity's."""
    variances = (1 - share) * moments.variances + share * moments.variances.mean()
    if moments.axes is None:
        weight = moments.means / variances
    else:
        weight = (moments.means @ moments.axes / variances) @ moments.axes.T
    return weight, -(weight * (moments.means / 2 + moments.middle)).sum(1)
