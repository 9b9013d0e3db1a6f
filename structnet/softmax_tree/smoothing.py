"""Smoothing: leaves get probabilities for classes that they lack, as few samples prove little.

Without it, a leaf gives the probability 0 to a class of which it has no sample, however few samples
it has: half of the leaves of a decision tree have a single class. Class shares are estimated as if
the leaf had one more sample, taken from a node on the path above it, each with equal probability:
the m-estimate with m = 1, whose prior is the mean of the class shares along the path. Node by node,
as by Ferri et al., nested nodes that lack a class count against it again and again: over ten
decision trees, the log loss on test samples was 1 to 1.9 times as high. In a softmax over several
classes, the others get biases with which they have these shares at its average confidence, if it
may have all classes; otherwise, and in leaves of one class, what is missing is their rest
(``probabilities``), of which the others get theirs by their frequency among all samples.

With its shares alone, a leaf of one class would predict the same for all its rows: where a class is
rare, training sends its few samples elsewhere, so that half of the space could not be ranked. In a
tree that was trained, such a leaf gets the softmax that the nearest node above with several classes
would learn as a leaf. A decision tree on single features has no weights in its leaves, and gets
none. All this holds for leaves that may have all classes, unless they need too much room. Other
leaves of one class get only the likeliest classes by shares: 66,000 leaves of 384 classes would
fill a file of 435 MB.

Reference:
    Cestnik, "Estimating Probabilities", ECAI 1990; Ferri, Flach and Hernandez-Orallo, "Improving
    the AUC of Probabilistic Estimation Trees", ECML 2003.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from structnet.softmax_tree.draft import Draft, Node
from structnet.softmax_tree.leaf_update import updated_leaf
from structnet.softmax_tree.nodes import Hyperplane, Leaf, first_leaf, sparse_hyperplane
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.start import WIDE

MOST = 1_000_000  # total of classes that leaves of one class may get, but each gets WIDE
NEVER = 0.999  # factor of the largest rest, so that rounding changes no prediction
ROOM = 10_000_000  # weights of all leaves that lack classes, above which none gets further ones


def smoothed(draft: Draft, points: Points, objective: Objective | None = None) -> Draft:
    """A tree in which leaves also predict the classes that they lack.

    Leaves of one class get as many as they may have, and all leaves a rest for the others. If no
    leaf has weights, as in a decision tree on single features, all nodes become sparse, even for
    dense rows: otherwise each leaf would store a zero for each of its classes and features.

    Args:
        draft: trained tree, which is not changed.
        points: samples that the tree was trained on.
        objective: objective by which its leaves were trained; None if they were not.
    """
    narrow = any(len(n.classes) < points.num_classes for n in draft.nodes if isinstance(n, Leaf))
    new = replace(draft.copy(), shares=_shares(points.counts(np.arange(len(points)))))
    return _Smoothing(new, points, objective, draft.reach(points)).done() if narrow else new


@dataclass
class _Smoothing:
    """A tree whose leaves are exchanged one by one, with the data to do so."""

    draft: Draft
    points: Points
    objective: Objective | None
    reach: dict[int, np.ndarray]
    fitted: dict[int, Leaf] = field(default_factory=dict)  # by node

    def done(self) -> Draft:
        draft, points = self.draft, self.points
        if self.sparse and not points.sparse and any(map(self.lacks, draft.nodes)):
            draft.nodes = [_sparse(node) for node in draft.nodes]
        count = points.weights.mean()
        waiting = [(0, 0, 0, np.zeros(points.num_classes))]  # depth first, to hold few shares
        while waiting:
            node, near, depth, above = waiting.pop()
            counts = points.counts(self.reach.get(node, np.zeros(0, np.int64))) / count
            near = node if np.count_nonzero(counts) > 1 else near
            leaf, total = draft.nodes[node], counts.sum()
            if isinstance(leaf, Leaf) and total:
                # With a total below 1, the prior counts less, so as not to outvote the samples.
                shares = _shares(counts + min(1.0, total) * above / max(depth, 1))
                leaf = self.knowing(leaf, near, shares) if self.lacks(leaf) else leaf
                draft.nodes[node] = replace(leaf, rest=self.rest(leaf, shares))
            below = above + counts / (total or 1.0)
            waiting += [(child, near, depth + 1, below) for child in draft.children[node]]
        return draft

    def rest(self, leaf: Leaf, shares: np.ndarray) -> float:
        """The probability of the classes that a leaf lacks, too small to be its likeliest ones.

        Args:
            leaf: leaf, which has learned all that it may.
            shares: share of each class there, ``[K]``.
        """
        assert self.draft.shares is not None
        lacked, others = shares.copy(), self.draft.shares.copy()
        lacked[leaf.classes] = others[leaf.classes] = 0
        # The likeliest of m classes has at least 1 / m of what they have together.
        most = NEVER / (1 + others.max() / (others.sum() or 1.0) * len(leaf.classes))
        return min(float(lacked.sum()), most) if others.any() else 0.0

    def lacks(self, node: Node) -> bool:
        """True for a leaf that is to get other classes."""
        return _alone(node) or (self.roomy and self.may_have_all(node))

    def may_have_all(self, node: Node) -> bool:
        """True for a leaf that may have all classes, but lacks some."""
        return isinstance(node, Leaf) and len(node.classes) < self.points.num_classes <= node.k

    @cached_property
    def roomy(self) -> bool:
        """True if there is room for the weights of all classes in all leaves that lack some."""
        leaves = sum(map(self.may_have_all, self.draft.nodes))
        return leaves * self.points.num_classes * self.points.num_features <= ROOM

    def fits(self, leaf: Node) -> bool:
        """True for a leaf that gets the softmax of a node above."""
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
        """The leaf with the shares ``[K]`` of all classes; ``near`` is above, with several."""
        if self.fits(leaf):
            leaf = self.softmax(near, leaf.k)
        elif _alone(leaf):
            return first_leaf(shares, min(leaf.k, self.most), self.points.num_features, self.sparse)
        return _completed(leaf, self.points, self.reach[near], shares)

    def softmax(self, node: int, k: int) -> Leaf:
        """The softmax that a node would learn as a leaf."""
        if node not in self.fitted:
            points, rows, objective = self.points, self.reach[node], self.objective
            assert objective is not None
            begun = first_leaf(points.counts(rows), k, points.num_features, points.sparse)
            self.fitted[node] = updated_leaf(begun, points, rows, objective)
        return self.fitted[node]


def _completed(leaf: Leaf, points: Points, rows: np.ndarray, shares: np.ndarray) -> Leaf:
    """A softmax with biases for the classes that it lacks, so that they have their ``shares``.

    Args:
        leaf: softmax to complete.
        points: samples that the tree was trained on.
        rows: rows over which the confidence of the softmax is averaged.
        shares: share of each class.

    Shapes:
        rows ``[m]``; shares ``[K]``.
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


def _shares(counts: np.ndarray) -> np.ndarray:
    """The share of each class, ``[K]``."""
    return counts / counts.sum()


def _alone(node: Node) -> bool:
    return isinstance(node, Leaf) and len(node.classes) == 1 < node.k


def _sparse(node: Node) -> Node:
    if isinstance(node, Hyperplane):
        return sparse_hyperplane(
            node.weight, node.bias, np.arange(len(node.weight), dtype=np.int32)
        )
    return Leaf(node.classes, node.weight[:0], node.bias, node.k, np.zeros(0, np.int32))
