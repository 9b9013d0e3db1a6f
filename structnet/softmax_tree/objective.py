"""The objective of training: losses, with one for samples of missing classes, and penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.softmax_tree.draft import Draft, Node
from structnet.softmax_tree.nodes import Leaf
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import ChosenSettings, SoftmaxTreeSettings


class Objective(NamedTuple):
    """``E = sum_n a_n L(y_n, tree(x_n)) + lambda sum_i ||w_i||_1 + sum_j P(W_j)``.

    a_n is the weight of sample n; the penalty of a leaf is ``P(W) = mu ||W||_1 + nu / 2 ||W||^2``.

    Attributes:
        decision_penalty: weight lambda of the L1 norms of hyperplanes.
        leaf_penalty: weight mu of the L1 norms of leaves.
        missing_loss: loss of a sample whose class is missing from its leaf.
        solver_steps: largest number of steps of the solver for one node.
        leaf_ridge: weight nu of half the squared L2 norms of leaves.

    Reference:
        Zharmagambetov, Gabidolla, Carreira-Perpinan, "Softmax Tree", EMNLP 2021, Sec. 3.
    """

    decision_penalty: float
    leaf_penalty: float
    missing_loss: float
    solver_steps: int
    leaf_ridge: float = 0.0

    @classmethod
    def from_settings(cls, settings: SoftmaxTreeSettings, num_classes: int) -> Objective:
        """The objective of settings whose penalties are numbers."""
        assert settings.decision_penalty is not None and settings.leaf_penalty is not None
        missing = settings.loss_of_missing(num_classes)
        # As floats, since loops would be compiled once more for other types.
        penalties = float(settings.decision_penalty), float(settings.leaf_penalty)
        rest = settings.solver_steps, float(ChosenSettings.of(settings).leaf_ridge)
        return cls(*penalties, float(missing), *rest)

    @classmethod
    def of_leaves(cls, settings: SoftmaxTreeSettings, num_classes: int) -> Objective | None:
        """The objective by which leaves are trained; None if there are no iterations."""
        return cls.from_settings(settings, num_classes) if settings.max_iter else None

    def of(self, draft: Draft, points: Points) -> float:
        """The value of the objective for a tree."""
        return self.loss(draft, points) + self.penalty(draft)

    def penalty(self, draft: Draft) -> float:
        """The sum of the penalties of all nodes."""
        return sum(map(self.penalty_of, draft.nodes))

    def penalty_of(self, node: Node) -> float:
        """The penalty of one node."""
        if isinstance(node, Leaf):
            return self.leaf_penalty * node.norm + self.leaf_ridge / 2 * node.square
        return self.decision_penalty * node.norm

    def loss(
        self, draft: Draft, points: Points, rows: np.ndarray | None = None, root: int = 0
    ) -> float:
        """The weighted sum of the losses of all rows, or of rows ``[m]`` that start at a node."""
        weights = points.weights if rows is None else points.weights[rows]
        return float(weights @ draft.losses(points, self.missing_loss, rows, root))
