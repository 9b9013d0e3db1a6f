"""Naive Bayes, from which a fixed tree of softmaxes starts on sparse rows of positive numbers."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import logsumexp

from structnet.estimators.discriminant_analysis import FEWEST, UNSEEN
from structnet.estimators.held_out import ENOUGH, PARTS, hold_out
from structnet.label_tree.arrays import TreeArrays
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.examples import Examples
from structnet.label_tree.features import Features

# Of these three, the first number is the default.
PRIORS = (1.0, 0.1, 0.3, 3.0, 10.0, 30.0)  # average rows beside a child's own
CERTAINTIES = (0.2, 1.0, 0.5, 0.1, 0.05, 0.0)  # factors of the weights
POWERS = (1.0, 0.0, 0.5)  # of the labels' numbers of examples, as which the labels count
LEAST = 40  # number of examples from which on some are held out to try these
CELLS = 300_000  # largest number of scores, for examples and children, that are computed to try one


class _Sums(NamedTuple):
    """Sums over the examples of each child of each node: those of all labels below it.

    Attributes:
        sums: sums of the features of each child's examples.
        average: mean of all examples.
        paths: 1 for each child on the way to a label.
        counts: number of examples of each label.

    Shapes:
        sums ``[nodes * arity, features]``; average ``[features]``; paths
        ``[nodes * arity, labels]``; counts ``[labels]``.
    """

    sums: csr_matrix
    average: np.ndarray
    paths: csr_matrix
    counts: np.ndarray

    def log_ratios(self, prior: float) -> tuple[csr_matrix, np.ndarray]:
        """The logarithms of the ratios as a sparse part, less a constant of each child.

        Shapes:
            ``[nodes * arity, features]``, ``[nodes * arity]``.
        """
        more, added = self.sums.copy(), prior * self.average
        more.data = np.log1p(more.data / added[more.indices])
        totals = np.asarray(self.sums.sum(1)).ravel()
        return more, np.log1p(totals / max(added.sum(), np.finfo(float).tiny))

    def bias(self, power: float) -> np.ndarray:
        """The logarithm of the number of examples below each child, ``[nodes * arity]``.

        Very low in an empty slot. The numbers of labels are raised to a power before.
        """
        below = self.paths @ np.maximum(self.counts, UNSEEN) ** power
        return np.log(below, where=below > 0, out=np.full(len(below), -1e30))


def check_rows(features: Features) -> None:
    """Checks that naive Bayes can learn from some features.

    Raises:
        ValueError: the rows are dense, or a number is negative.
    """
    if features.is_table:
        raise ValueError('start="naive_bayes" is for sparse rows or tokens. Got a dense table.')
    if (features.values < 0).any():
        raise ValueError(
            'start="naive_bayes" is for numbers that are not negative. Got '
            f"{features.values.min():g}."
        )


def start_as_naive_bayes(
    arrays: TreeArrays, examples: Examples, seed: int = 0, bias: bool = True
) -> None:
    """Gives the nodes of a tree the weights and biases of naive Bayes, in place.

    If each child of a node has a distribution of features, of which the examples below it are
    independent draws, the weight of a feature is the logarithm of its share in the child's examples
    over its share in all. To a child's own examples, some average ones are added, so that a child
    with few says little, and a feature that it has never had does not exclude it. As features are
    not independent, all weights are multiplied by a factor, their certainty. Labels count by their
    numbers of examples, or alike where it is chance which of them have more. These numbers have the
    least loss on held-out examples.

    Args:
        arrays: arrays of the tree, for sparse rows that nodes classify directly.
        examples: examples to learn from, sparse rows without negative numbers.
        seed: seed of the choice of held-out examples.
        bias: True to set biases, too.

    Raises:
        ValueError: see :func:`check_rows`.

    Reference:
        McCallum, Nigam, A comparison of event models for naive Bayes text classification, AAAI
        workshop on learning for text categorization, 1998, with a Dirichlet prior around the mean.
    """
    check_rows(examples.features)
    values = examples.features.values
    # The number that stands for one occurrence, so that the unit does not matter.
    once = examples.features.sum_of_squares / max(values.sum(dtype=np.float64), 1e-30) or 1.0
    prior, certainty, power = PRIORS[0], CERTAINTIES[0], POWERS[0]
    if len(examples) >= LEAST:
        prior, certainty, power = _best(examples, arrays.codes, once, seed)
    known = _sums(examples, _paths(arrays.codes))
    more, less = known.log_ratios(prior)
    shape, factor = arrays.bias.shape, np.float32(certainty / once)
    arrays.weight[...] = -factor * less.astype(np.float32).reshape(shape)[:, None]
    node, slot = np.divmod(np.repeat(np.arange(more.shape[0]), np.diff(more.indptr)), shape[1])
    arrays.weight[node, more.indices, slot] += factor * more.data.astype(np.float32)
    if bias:
        there = np.isfinite(arrays.bias)
        arrays.bias[there] = known.bias(power).reshape(shape)[there]


def _best(
    examples: Examples, codes: LabelCodes, once: float, seed: int
) -> tuple[float, float, float]:
    """The prior, certainty and power of the least loss on random tenths, each held out."""
    paths, kinds = _paths(codes), list(product(PRIORS, CERTAINTIES, POWERS))
    total = np.zeros(len(kinds))
    for part in range(min(-(-ENOUGH // max(len(examples) // 10, 1)), PARTS)):
        try:
            parts = hold_out(len(examples), 0.1, seed + part, groups=examples.groups)
        except ValueError:  # all are of one group
            break
        learn, held = map(examples.__getitem__, parts)
        # Labels of which all examples are held out cannot be judged.
        judged = np.flatnonzero(np.isin(held.labels, learn.labels))
        most = max(CELLS // paths.shape[0], FEWEST)
        # Of all held-out examples evenly, as rows may be sorted by label.
        held = held[judged[:: max(-(-len(judged) // most), 1)]]
        if not learn.weight or not held.weight:
            continue
        rows, known = held.features.to_csr(), _sums(learn, paths)
        on_paths = paths.T.tocsr()[held.labels]
        for place, (prior, certainty, power) in enumerate(kinds):
            if place % (len(kinds) // len(PRIORS)) == 0:
                more, less = known.log_ratios(prior)
                scores = (rows @ more.T).toarray() - np.asarray(rows.sum(1)).reshape(-1, 1) * less
            logits = certainty / once * scores + known.bias(power)
            logits = logits.reshape(-1, *codes.children.shape)
            log_p = logits - logsumexp(logits, axis=2, keepdims=True)
            log_p = on_paths.multiply(log_p.reshape(len(held), -1)).sum(1)
            total[place] -= held.weighed(np.asarray(log_p).ravel())
    return kinds[total.argmin()]


def _paths(codes: LabelCodes) -> csr_matrix:
    """1 for each child on the way to a label, ``[nodes * arity, labels]``."""
    child = codes.nodes.astype(np.int64) * codes.arity + codes.slots
    shape = codes.num_labels, codes.num_nodes * codes.arity
    return csr_matrix((np.ones(len(child)), child, codes.offsets), shape).T.tocsr()


def _sums(examples: Examples, paths: csr_matrix) -> _Sums:
    shares = examples.shares if len(examples.shares) else np.ones(len(examples))
    place, number = (examples.labels, np.arange(len(examples))), paths.shape[1]
    of_labels = csr_matrix((shares, place), (number, len(examples)), np.float64)
    of_labels = of_labels @ examples.features.to_csr()
    of_labels.eliminate_zeros()
    average = np.asarray(of_labels.sum(0)).ravel() / shares.sum()
    return _Sums((paths @ of_labels).tocsr(), average, paths, examples.counts(number))
