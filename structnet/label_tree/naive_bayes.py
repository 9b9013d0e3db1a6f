"""Naive Bayes, or half of it, in the nodes of a fixed tree of softmaxes, on sparse rows."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from structnet.estimators.naive_bayes import bayes_weights, best_assumptions
from structnet.label_tree.codes import LabelCodes
from structnet.label_tree.examples import Examples
from structnet.label_tree.features import Features
from structnet.label_tree.tree import LabelTree


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
    tree: LabelTree, examples: Examples, seed: int = 0, bias: bool = True
) -> None:
    """Gives the nodes of a tree the weights and biases of naive Bayes, in place.

    They are those of :func:`.bayes_weights`, with the best assumptions for held-out examples.

    Args:
        tree: tree whose nodes classify sparse rows directly.
        examples: examples to learn from, sparse rows without negative numbers.
        seed: seed of the choice of held-out examples.
        bias: True to set biases, too.

    Raises:
        ValueError: see :func:`check_rows`.
    """
    check_rows(examples.features)
    arrays = tree.arrays(examples.features, lay=True)
    rows, paths, shape = examples.checked, _paths(arrays.codes), arrays.bias.shape
    how = best_assumptions(rows, paths, arrays.codes.arity, seed)
    more, less, counts = bayes_weights(rows, paths, how)
    arrays.weight[...] = -less.reshape(shape)[:, None]
    node, slot = np.divmod(np.repeat(np.arange(more.shape[0]), np.diff(more.indptr)), shape[1])
    arrays.weight[node, more.indices, slot] += more.data
    if bias:
        there = np.isfinite(arrays.bias)
        arrays.bias[there] = counts.reshape(shape)[there]
        tree.softmax.take_bias(arrays.bias)


def averaged(tree: LabelTree, other: LabelTree, features: Features) -> LabelTree:
    """A tree, in place, with the means of its weights and biases and those of another.

    A softmax of mean scores has the geometric means of both probabilities. Naive Bayes and a node
    that is trained err about other rows, so that this makes fewer mistakes than either, unless one
    is far behind.

    Args:
        tree: tree, which is changed.
        other: tree with the same codes.
        features: sparse rows that nodes of both classify directly.
    """
    own, others = (each.arrays(features, lay=True) for each in (tree, other))
    for mine, theirs in ((own.weight, others.weight), (own.bias, others.bias)):
        mine += theirs
        mine /= 2
    tree.softmax.take_bias(own.bias)
    return tree


def _paths(codes: LabelCodes) -> csr_matrix:
    """1 for each child on the way to a label, ``[nodes * arity, labels]``."""
    child = codes.nodes.astype(np.int64) * codes.arity + codes.slots
    shape = codes.num_labels, codes.num_nodes * codes.arity
    return csr_matrix((np.ones(len(child)), child, codes.offsets), shape).T.tocsr()
