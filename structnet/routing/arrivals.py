"""Which samples come to each node of a model tree, in a few numbers that a file keeps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from structnet.routing.protocol import RoutedTree
from structnet.routing.topology import Topology
from structnet.routing.visits import Reach, leaf_of
from structnet.trees.end_to_end import offsets_of


class Arrivals(NamedTuple):
    """Statistics of the samples whose greedy path passes each node.

    Attributes:
        share: share of all samples, by weight.
        best: most frequent class; None if the targets are numbers.
        of_best: share of that class among the samples at the node.
        mean: means of the targets; None if these are classes.

    Shapes:
        share, best, of_best ``[nodes]``; mean ``[nodes, columns]``; 0 at nodes without samples.
    """

    share: np.ndarray
    best: np.ndarray | None = None
    of_best: np.ndarray | None = None
    mean: np.ndarray | None = None

    @classmethod
    def of(cls, reached: Reach) -> Arrivals:
        """The statistics of samples that :func:`.reach` counted."""
        if reached.classes is None:
            assert reached.mean is not None  # as for every tree that predicts numbers
            return cls(reached.share, mean=np.nan_to_num(reached.mean))
        counts = reached.classes
        most = counts.max(axis=1) / np.maximum(counts.sum(axis=1), np.finfo(float).tiny)
        return cls(reached.share, counts.argmax(axis=1), most)


def arrivals_of(
    tree: RoutedTree, x: Any, targets: np.ndarray, weights: np.ndarray | None = None
) -> Arrivals:
    """Sends samples along their greedy paths and counts them, also of very many classes.

    Args:
        tree: model tree.
        x: inputs as the tree takes them.
        targets: codes of classes, or numbers in the units in which they are to be told.
        weights: weight of each sample; None for equal weights.

    Shapes:
        x ``[n, *shape]``; targets ``[n]``, or ``[n, columns]`` for numbers; weights ``[n]``.

    Raises:
        ValueError: there are no samples, or they have another shape.

    Example:
        >>> from structnet.softmax_tree import SoftmaxTreeSettings, train
        >>> x, y = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 5), np.array([0, 1, 2, 3] * 5)
        >>> tree = train(x, y, SoftmaxTreeSettings(depth=1, k=2)).tree
        >>> arrivals_of(tree, x, y).share
        array([1. , 0.5, 0.5])
    """
    n = len(targets)
    counts = np.ones(n) if weights is None else weights.astype(np.float64)
    came = path_matrix(tree.topology, leaf_of(tree, x)).T.multiply(counts).tocsr()  # [nodes, n]
    total = np.asarray(came.sum(axis=1)).ravel()
    at_least = np.maximum(total, np.finfo(float).tiny)  # at nodes without samples all sums are 0
    if tree.num_classes is None:
        return Arrivals(total / total[0], mean=came @ targets.reshape(n, -1) / at_least[:, None])
    one_hot = csr_matrix((np.ones(n), targets, np.arange(n + 1)), (n, tree.num_classes))
    of_classes = (came @ one_hot).tocsr()  # sparse, as there may be very many
    of_classes.sort_indices()  # so that of equally frequent classes the first is taken
    best = np.asarray(of_classes.argmax(axis=1)).ravel().astype(np.int64)
    return Arrivals(total / total[0], best, of_classes.max(axis=1).toarray()[:, 0] / at_least)


def path_matrix(topology: Topology, nodes: np.ndarray) -> csr_matrix:
    """The nodes on each sample's path from the root to the node where it ends, marked by ones.

    Shapes:
        nodes ``[n]`` -> ``[n, num_nodes]``, ones of int64.

    Example:
        >>> path_matrix(Topology([(1, 2), (), ()]), np.array([2, 1])).toarray()
        array([[1, 0, 1],
               [1, 1, 0]])
    """
    ends, place = np.unique(nodes, return_inverse=True)
    paths = [topology.path(node) for node in ends]
    starts = offsets_of(list(map(len, paths)))
    columns = np.array([node for path in paths for node in path], np.int64)
    ones = np.ones(len(columns), np.int64)
    return csr_matrix((ones, columns, starts), shape=(len(ends), topology.num_nodes))[place]
