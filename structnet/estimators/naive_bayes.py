"""Naive Bayes of sparse rows of positive numbers: a softmax, or a tree of them, without training.

If each class has a distribution of features, of which its rows are independent draws, the weight of
a feature is the logarithm of its share in the class's rows over its share in all. To a class's own
rows, some average ones are added, so that a class with few says little, and a feature that it has
never had does not exclude it. As features are not independent, all weights are multiplied by a
factor, their certainty. Classes count by their numbers of rows, or alike where it is chance which
of them have more. These numbers have the least loss on held-out rows.

In a tree, the children of each node are such classes, with the rows of all labels below them.

Reference:
    McCallum, Nigam, "A Comparison of Event Models for Naive Bayes Text Classification", AAAI
    workshop on learning for text categorization, 1998, with a Dirichlet prior around the mean.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, eye_array
from scipy.special import logsumexp

from structnet.estimators.checked import Checked
from structnet.estimators.discriminant_analysis import FEWEST, UNSEEN
from structnet.estimators.held_out import ENOUGH, PARTS, hold_out

# Of these three, the first number is the default.
PRIORS = (1.0, 0.1, 0.3, 3.0, 10.0, 30.0)  # average rows beside a child's own
CERTAINTIES = (0.2, 1.0, 0.5, 0.1, 0.05, 0.0)  # factors of the weights
POWERS = (1.0, 0.0, 0.5)  # of the labels' numbers of rows, as which the labels count
LEAST = 40  # number of rows from which on some are held out to try these
CELLS = 300_000  # largest number of scores, for rows and children, that are computed to try one


class Assumptions(NamedTuple):
    """What naive Bayes takes for granted.

    Attributes:
        prior: number of average rows that are added to a child's own.
        certainty: factor of the weights.
        power: power of the labels' numbers of rows, as which they count.
    """

    prior: float = PRIORS[0]
    certainty: float = CERTAINTIES[0]
    power: float = POWERS[0]


class BayesWeights(NamedTuple):
    """The weights of each child of each node, ``more - less``, and the biases.

    Attributes:
        more: sparse part of the weights.
        less: constant of each child, which is taken from all of its weights.
        bias: logarithm of the number of rows below each child; very low without a label.

    Shapes:
        more ``[children, features]``; less, bias ``[children]``; float32, float32 and float64.
    """

    more: csr_matrix
    less: np.ndarray
    bias: np.ndarray


class _Sums(NamedTuple):
    """Sums over the rows of each child of each node: those of all labels below it.

    Attributes:
        sums: sums of the features of each child's rows.
        average: mean of all rows.
        paths: 1 for each child on the way to a label.
        counts: number of rows of each label.

    Shapes:
        sums ``[children, features]``; average ``[features]``; paths ``[children, labels]``; counts
        ``[labels]``.
    """

    sums: csr_matrix
    average: np.ndarray
    paths: csr_matrix
    counts: np.ndarray

    def log_ratios(self, prior: float) -> tuple[csr_matrix, np.ndarray]:
        """The logarithms of the ratios as a sparse part, less a constant of each child.

        Shapes:
            ``[children, features]``, ``[children]``.
        """
        more, added = self.sums.copy(), prior * self.average
        more.data = np.log1p(more.data / added[more.indices])
        totals = np.asarray(self.sums.sum(1)).ravel()
        return more, np.log1p(totals / max(added.sum(), np.finfo(float).tiny))

    def bias(self, power: float) -> np.ndarray:
        """The logarithm of the number of rows below each child, ``[children]``.

        Very low in an empty slot. The numbers of labels are raised to a power before.
        """
        below = self.paths @ np.maximum(self.counts, UNSEEN) ** power
        return np.log(below, where=below > 0, out=np.full(len(below), -1e30))


def bayes_weights(rows: Checked, paths: csr_matrix, how: Assumptions) -> BayesWeights:
    """The weights and biases of naive Bayes, for each child of each node of a tree.

    Args:
        rows: sparse rows without negative numbers, with labels from 0.
        paths: 1 for each child on the way to a label; of a single softmax, :func:`one_node`.
        how: assumptions, such as those of :func:`best_assumptions`.

    Shapes:
        paths ``[children, labels]``.

    Example:
        >>> rows = Checked(csr_matrix([[2.0, 0.0], [0.0, 2.0]]), np.array([0, 1]), None)
        >>> more, less, bias = bayes_weights(rows, one_node(2), Assumptions(certainty=1.0))
        >>> (more.toarray() - less[:, None]).astype(float).round(2).tolist(), bias.tolist()
        ([[0.2, -0.35], [-0.35, 0.2]], [0.0, 0.0])
    """
    known, factor = _sums(rows, paths), np.float32(how.certainty / _once(rows.x))
    more, less = known.log_ratios(how.prior)
    more.data = factor * more.data.astype(np.float32)
    return BayesWeights(more, factor * less.astype(np.float32), known.bias(how.power))


def best_assumptions(rows: Checked, paths: csr_matrix, arity: int, seed: int = 0) -> Assumptions:
    """The assumptions of the least loss on random tenths, each held out; of few rows, the default.

    Args:
        rows: sparse rows without negative numbers, with labels from 0.
        paths: 1 for each child on the way to a label.
        arity: number of children of each node.
        seed: seed of the choice of held-out rows.

    Shapes:
        paths ``[children, labels]``.
    """
    size = len(rows.y)
    if size < LEAST:
        return Assumptions()
    kinds = [Assumptions(*each) for each in product(PRIORS, CERTAINTIES, POWERS)]
    once = _once(rows.x)
    total = np.zeros(len(kinds))
    for part in range(min(-(-ENOUGH // max(size // 10, 1)), PARTS)):
        try:
            parts = hold_out(size, 0.1, seed + part, groups=rows.groups)
        except ValueError:  # all are of one group
            break
        learn, held = map(rows.take, parts)
        # Labels of which all rows are held out cannot be judged.
        judged = np.flatnonzero(np.isin(held.y, learn.y))
        most = max(CELLS // paths.shape[0], FEWEST)
        # Of all held-out rows evenly, as rows may be sorted by label.
        held = held.take(judged[:: max(-(-len(judged) // most), 1)])
        if not _weight(learn) or not _weight(held):
            continue
        known, on_paths = _sums(learn, paths), paths.T.tocsr()[held.y]
        for place, (prior, certainty, power) in enumerate(kinds):
            if place % (len(kinds) // len(PRIORS)) == 0:
                more, less = known.log_ratios(prior)
                scores = (held.x @ more.T).toarray()
                scores -= np.asarray(held.x.sum(1)).reshape(-1, 1) * less
            logits = certainty / once * scores + known.bias(power)
            logits = logits.reshape(len(held.y), -1, arity)
            log_p = logits - logsumexp(logits, axis=2, keepdims=True)
            log_p = np.asarray(on_paths.multiply(log_p.reshape(len(held.y), -1)).sum(1)).ravel()
            total[place] -= log_p.sum() if held.weights is None else held.weights @ log_p
    return kinds[total.argmin()]


def one_node(num_labels: int) -> csr_matrix:
    """The paths of a single softmax, in which each label is a child. ``[labels, labels]``."""
    return csr_matrix(eye_array(num_labels))


def _once(x: Any) -> float:
    """The number that stands for one occurrence, so that the unit does not matter."""
    squares = float(np.einsum("i,i", x.data, x.data, dtype=np.float64))
    return squares / max(x.data.sum(dtype=np.float64), 1e-30) or 1.0


def _weight(rows: Checked) -> float:
    return len(rows.y) if rows.weights is None else float(rows.weights.sum(dtype=np.float64))


def _sums(rows: Checked, paths: csr_matrix) -> _Sums:
    shares = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    place, number = (rows.y, np.arange(len(rows.y))), paths.shape[1]
    of_labels = csr_matrix((shares, place), (number, len(rows.y)), np.float64) @ rows.x
    of_labels.eliminate_zeros()
    average = np.asarray(of_labels.sum(0)).ravel() / shares.sum()
    counts = np.bincount(rows.y, rows.weights, number)
    return _Sums((paths @ of_labels).tocsr(), average, paths, counts)
