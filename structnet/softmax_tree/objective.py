"""What training lowers: losses and penalties, and what a sample costs whose class is missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.points import Points
from structnet.softmax_tree.settings import SoftmaxTreeSettings


class Objective(NamedTuple):
    """``E = sum_n L(y_n, tree(x_n)) + lambda sum ||w_i||_1 + mu sum ||W_j||_1``.

    Attributes:
        decision_penalty: lambda.
        leaf_penalty: mu.
        missing_loss: loss of a sample whose class its leaf lacks.
        solver_steps: most steps of the solver for one node.
    """

    decision_penalty: float
    leaf_penalty: float
    missing_loss: float
    solver_steps: int

    @classmethod
    def told(cls, settings: SoftmaxTreeSettings, num_classes: int) -> Objective:
        """That of some settings, whose penalties are numbers."""
        assert settings.decision_penalty is not None and settings.leaf_penalty is not None
        missing = settings.loss_of_missing(num_classes)
        # As floats: for numbers of another kind, loops would be compiled once more.
        penalties = float(settings.decision_penalty), float(settings.leaf_penalty)
        return cls(*penalties, float(missing), settings.solver_steps)

    def of(self, draft: Draft, points: Points) -> float:
        """Its value for a tree, from scratch."""
        return self.loss(draft, points) + draft.penalty(self.decision_penalty, self.leaf_penalty)

    def loss(
        self, draft: Draft, points: Points, rows: np.ndarray | None = None, root: int = 0
    ) -> float:
        """The weighted sum of the losses of all rows, or of some ``[m]`` that start at a node."""
        weights = points.weights if rows is None else points.weights[rows]
        return float(weights @ draft.losses(points, self.missing_loss, rows, root))
