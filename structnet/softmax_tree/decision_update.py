"""The update of a decision node: a hyperplane that sends points to the side of lower loss.

The pseudo-label of a point is the child whose subtree has the lower loss for it; its weight is the
difference of the losses, and points without one drop out. Up to a constant, the weighted 0/1 loss
on the other points is the tree's loss as a function of this node. A new hyperplane must lower its
sum with the penalty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structnet.softmax_tree._decision_kernels import best_plane
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane, sparse_hyperplane
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points, parts, used_columns
from structnet.softmax_tree.solver import multinomial

Plane = tuple[np.ndarray, np.float32]  # weights [D], float32, and a bias


def updated_hyperplane(
    draft: Draft, node: int, points: Points, rows: np.ndarray, objective: Objective
) -> Hyperplane:
    """A better hyperplane for a node, or its own if none is found.

    Args:
        draft: tree, already updated below the node.
        node: node to update.
        points: samples to learn from.
        rows: rows that reach the node.
        objective: objective of the training.

    Shapes:
        rows ``[m]``, their places among the points.
    """
    plane = draft.plane(node)
    left, right = (
        draft.losses(points, objective.missing_loss, rows, v) for v in draft.children[node]
    )
    weight, bias = better_plane(
        points,
        rows,
        (left - right) * points.weights[rows],
        (plane.full(points.num_features), np.float32(plane.bias)),
        objective.decision_penalty,
        objective.solver_steps,
    )
    if points.sparse:
        return sparse_hyperplane(weight, float(bias), np.arange(len(weight), dtype=np.int32))
    return Hyperplane(weight, float(bias))


def better_plane(
    points: Points,
    rows: np.ndarray,
    gains: np.ndarray,
    begin: Plane,
    penalty: float,
    steps: int,
) -> Plane:
    """A hyperplane with a lower value on some rows, or the same one if none is found.

    The value is the weighted 0/1 loss plus the penalty times the L1 norm.

    Args:
        points: samples to learn from.
        rows: rows to consider.
        gains: loss of each row on the left minus that on the right, times its weight.
        begin: weights and bias to start from.
        penalty: weight of the L1 norm.
        steps: largest number of steps of the solver.

    Shapes:
        rows, gains ``[m]``; weights ``[D]``, also for sparse rows, and a bias.
    """
    there = gains != 0
    rows, gains = rows[there], gains[there]
    if not len(rows):
        return begin
    new = surrogate(points.x[rows], gains, begin, penalty, steps)
    return best_plane(*parts(points.x), rows, gains, *begin, *new, penalty)


def surrogate(x: Any, gains: np.ndarray, begin: Plane, penalty: float, steps: int) -> Plane:
    """The logistic regression on the pseudo-labels, the signs of the gains.

    If all are of one side, all weights are 0.

    Shapes:
        gains ``[m]``; weights ``[D]`` and a bias.
    """
    right, (weight, bias) = gains > 0, begin
    found = np.zeros_like(weight)
    if right.all() or not right.any():
        return found, np.float32(1 if right[0] else -1)
    x, columns = used_columns(x)
    used = slice(None) if columns is None else columns
    start = weight[used][:, None], np.full(1, bias, np.float32)
    thin, biases = multinomial(x, right, np.abs(gains), start, penalty, steps)
    found[used] = thin[:, 0]
    return found, biases[0]
