"""The temperature of a tree: how sure it is of its classes, by samples held out of the training.

Leaves of few rows are too sure of their classes; those of a strong penalty, by which a tree makes
the fewest mistakes, are not sure enough. Both show on held-out samples only. Log-probabilities are
divided by one number, which keeps the order of the classes.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from structnet.training.gains import is_better

COLDEST, HOTTEST = 0.25, 8.0
# A number fitted to the very samples that judge it gains half its z^2 by chance, with a standard
# error of about z: two errors are a z of 4.
SURE = 2.0
FEWEST = 30  # samples or groups: of ten, chance looks like a gain in one case of five
CELLS = 10_000_000  # largest number of probabilities by which it is found


def few_enough(n: int, num_classes: int, seed: int, most: int | None = None) -> np.ndarray:
    """The places of held-out samples, or of a random part of at most ``CELLS`` probabilities.

    Args:
        n, num_classes: number of samples, and of the probabilities of each.
        seed: seed of the part.
        most: largest number of probabilities, instead of ``CELLS``.

    Shapes:
        -> ``[some]``, ascending.

    Example:
        >>> few_enough(3, num_classes=2, seed=0)
        array([0, 1, 2])
    """
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[: max((most or CELLS) // num_classes, 1)])


def best_temperature(
    log_prob: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    further: int = 1,
    groups: np.ndarray | None = None,
) -> float:
    """The temperature T of the least loss ``-log softmax(log_prob / T)_y``; 1 if it may be chance.

    As few samples never show how rarely a sure leaf is wrong, further ones of no known class are
    added: the mean loss over all classes of a leaf, averaged over the samples.

    Args:
        log_prob: log-probabilities of held-out samples, -inf for classes that a leaf lacks; samples
            whose own class is missing say nothing of the temperature, and do not count.
        y: their classes.
        weights: number of times that each counts; fewer than 30 samples that do are too few.
        further: number of further samples.
        groups: group of each sample, see :func:`.gained`; they are what is counted then.

    Shapes:
        log_prob ``[n, K]``; y, weights, groups ``[n]``.

    Reference:
        Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.

    Example:
        >>> log_prob = np.log([[0.99, 0.01]] * 100)
        >>> y = np.arange(100) % 4 == 0  # sure to 99 %, but right in 75 %
        >>> round(best_temperature(log_prob, y.astype(int), np.ones(100)), 1)
        4.2
    """
    known = np.isfinite(log_prob[np.arange(len(y)), y]) & (weights > 0)
    log_prob, y, weights = log_prob[known], y[known], weights[known]
    groups = None if groups is None else groups[known]
    if len(y if groups is None else np.unique(groups)) < FEWEST:
        return 1.0
    log_prob = log_prob - log_prob.max(axis=1, keepdims=True)  # so that no exponential overflows
    there = np.isfinite(log_prob)
    own = np.take_along_axis(log_prob, y[:, None], 1)[:, 0]
    mean = np.where(there, log_prob, 0).sum(1) / there.sum(1)

    def losses(temperature: float) -> np.ndarray:
        """The losses of the samples, and those of all classes alike. ``[2, n]``."""
        whole = np.log(np.exp(log_prob / temperature).sum(axis=1))  # logsumexp is far slower
        return whole - np.array([own, mean]) / temperature

    def total(log_temperature: float) -> float:
        each = np.average(losses(np.exp(log_temperature)), axis=1, weights=weights)
        return float(len(y) * each[0] + further * each[1])

    ends = np.log([COLDEST, HOTTEST])
    found = float(np.exp(minimize_scalar(total, bounds=ends, method="bounded").x))
    better = is_better(losses(1.0)[0], losses(found)[0], SURE, weights, groups)
    return found if better else 1.0
