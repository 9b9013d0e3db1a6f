"""Leaves learn of the classes that they lack: few samples make nothing certain.

A leaf would give the probability 0 to a class that it has no sample of, however few it has: half of
the leaves of a decision tree know one. Its classes are estimated as if one more sample had come,
taken from a node on the way there, each as likely as the others: the m-estimate with m = 1, whose
prior is the mean of the classes' shares along the path. Node by node, as Ferri et al. have it,
nested nodes that lack a class speak against it again and again: of ten decision trees the log loss
on test samples was 1 to 1.9 times as high. In a softmax over several classes, the others get biases
by which they have these shares where it is as sure as it is on average.

A leaf of one class, by its shares alone, would take all of its rows for the same: where a class is
rare, training sends what there is of it elsewhere, and half of the space cannot be ranked. In a
tree that was trained it answers as the nearest node above that knows several classes: by a softmax
as that would learn in a leaf. A decision tree of single features has no weights in leaves, and gets
none. That is what leaves do which may have all classes, and are not too many; of other leaves those
of one class learn of the likeliest others by shares: 66,000 of 384 would fill a file of 435 MB.

Reference:
    Cestnik, Estimating Probabilities, ECAI 1990; Ferri, Flach and Hernandez-Orallo, Improving the
    AUC of Probabilistic Estimation Trees, ECML 2003.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from structnet.softmax_tree.draft import Draft, Node
from structnet.softmax_tree.leaf_update import updated_leaf
from structnet.softmax_tree.nodes import Hyperplane, Leaf, first_leaf, sparse_hyperplane
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.start import WIDE

MOST = 1_000_000  # classes of all leaves of one class together, if WIDE of each are no more
ROOM = 10_000_000  # weights of all leaves that lack classes, above which none gets any


def smoothed(draft: Draft, points: Points, objective: Objective | None = None) -> Draft:
    """A tree whose leaves know the classes that they lacked as well, where they may have all.

    Leaves of one class know as many as they may have. Where no leaf has a weight, as in a decision
    tree of single features, all nodes are sparse, of full rows too: else each would hold a zero for
    each of its classes and features.

    Args:
        draft: a trained tree, which stays as it is.
        points: samples that it has learnt from.
        objective: objective that its leaves were trained by; None if they were not.
    """
    smoothing = _Smoothing(draft.copy(), points, objective, draft.reach(points))
    return smoothing.done() if any(map(smoothing.lacks, draft.nodes)) else draft


@dataclass
class _Smoothing:
    """A tree whose leaves are exchanged one by one, and what they learn from."""

    draft: Draft
    points: Points
    objective: Objective | None
    reach: dict[int, np.ndarray]
    fitted: dict[int, Leaf] = field(default_factory=dict)  # softmaxes of nodes

    def done(self) -> Draft:
        draft, points = self.draft, self.points
        if self.sparse and not points.sparse:
            draft.nodes = [_sparse(node) for node in draft.nodes]
        count = points.weights.mean()
        waiting = [(0, 0, 0, np.zeros(points.num_classes))]  # depth first: few shares are held
        while waiting:
            node, near, depth, above = waiting.pop()
            counts = points.counts(self.reach.get(node, np.zeros(0, np.int64))) / count
            near = node if np.count_nonzero(counts) > 1 else near
            leaf, total = draft.nodes[node], counts.sum()
            if isinstance(leaf, Leaf) and self.lacks(leaf) and total:
                # Less of samples that count less: none is outvoted.
                shares = counts + min(1.0, total) * above / max(depth, 1)
                draft.nodes[node] = self.knowing(leaf, near, shares / shares.sum())
            below = above + counts / (total or 1.0)
            waiting += [(child, near, depth + 1, below) for child in draft.children[node]]
        return draft

    def lacks(self, node: Node) -> bool:
        """Is it a leaf that is to learn of other classes?"""
        return _alone(node) or (self.roomy and self.may_have_all(node))

    def may_have_all(self, node: Node) -> bool:
        """Is it a leaf that may have all classes, and does not?"""
        return isinstance(node, Leaf) and len(node.classes) < self.points.num_classes <= node.k

    @cached_property
    def roomy(self) -> bool:
        """Is there room for the weights of all classes in all leaves that lack some?"""
        leaves = sum(map(self.may_have_all, self.draft.nodes))
        return leaves * self.points.num_classes * self.points.num_features <= ROOM

    def fits(self, leaf: Node) -> bool:
        """Does a leaf take over the weights of a node above?"""
        trained = self.objective is not None and self.roomy
        return trained and _alone(leaf) and self.may_have_all(leaf)

    @cached_property
    def sparse(self) -> bool:
        nodes = self.draft.nodes
        weighty = any(isinstance(n, Leaf) and n.norm for n in nodes) or any(map(self.fits, nodes))
        return self.points.sparse or not weighty

    @cached_property
    def most(self) -> int:
        return max(WIDE, MOST // max(1, sum(map(_alone, self.draft.nodes))))

    def knowing(self, leaf: Leaf, near: int, shares: np.ndarray) -> Leaf:
        """A leaf with the shares ``[K]`` of all classes, below a node that knows several."""
        if self.fits(leaf):
            leaf = self.softmax(near, leaf.k)
        elif _alone(leaf):
            return first_leaf(shares, min(leaf.k, self.most), self.points.num_features, self.sparse)
        return _completed(leaf, self.points, self.reach[near], shares)

    def softmax(self, node: int, k: int) -> Leaf:
        """What a node would be if it were a leaf."""
        if node not in self.fitted:
            points, rows, objective = self.points, self.reach[node], self.objective
            assert objective is not None
            begun = first_leaf(points.counts(rows), k, points.num_features, points.sparse)
            self.fitted[node] = updated_leaf(begun, points, rows, objective)
        return self.fitted[node]


def _completed(leaf: Leaf, points: Points, rows: np.ndarray, shares: np.ndarray) -> Leaf:
    """A softmax with biases of the classes that it lacks, as frequent as ``shares`` ``[K]``.

    Args:
        rows: rows ``[m]`` by which the softmax is as sure as it is.
    """
    classes = np.flatnonzero(shares)
    place, known = leaf.places(classes)
    scores = leaf.scores(points.x[rows])
    most = scores.max(axis=1)
    sure = np.mean(most + np.log(np.exp(scores - most[:, None]).sum(axis=1)))
    weight = np.zeros((len(leaf.weight), len(classes)), np.float32)
    weight[:, known] = leaf.weight[:, place[known]]
    bias = (np.log(shares[classes] / shares[leaf.classes].sum()) + sure).astype(np.float32)
    bias[known] = leaf.bias[place[known]]
    return Leaf(classes, weight, bias, leaf.k, leaf.columns)


def _alone(node: Node) -> bool:
    return isinstance(node, Leaf) and len(node.classes) == 1 < node.k


def _sparse(node: Node) -> Node:
    if isinstance(node, Hyperplane):
        return sparse_hyperplane(
            node.weight, node.bias, np.arange(len(node.weight), dtype=np.int32)
        )
    return Leaf(node.classes, node.weight[:0], node.bias, node.k, np.zeros(0, np.int32))
