"""A decision node's part of an iteration: a hyperplane that sends points where they lose less.

A point's pseudo-label is the child whose subtree has the lower loss for it, its weight the
difference; where there is none, the point drops out. The weighted 0/1 loss on the rest is, but for
a constant, the tree's loss as a function of this node, and what a new hyperplane must lower.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane, sparse_hyperplane
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points, used_columns
from structnet.softmax_tree.solver import binary


class Task(NamedTuple):
    """What a decision node has to part.

    Attributes:
        rows: rows that lose more on one side than on the other.
        gains: loss on the left less that on the right, times the count of each row.
        penalty: lambda.
    """

    rows: np.ndarray
    gains: np.ndarray
    penalty: float

    def mistakes(self, plane: Hyperplane, points: Points) -> float:
        """The weighted 0/1 loss of a hyperplane."""
        wrong = plane.goes_right(points, self.rows) != (self.gains > 0)
        return float(np.abs(self.gains[wrong]).sum())

    def value(self, plane: Hyperplane, points: Points) -> float:
        """The weighted 0/1 loss and the penalty."""
        return self.mistakes(plane, points) + self.penalty * plane.norm


def updated_hyperplane(
    draft: Draft, node: int, points: Points, rows: np.ndarray, objective: Objective
) -> Hyperplane:
    """A better hyperplane for a node, or its own if none is found.

    Args:
        draft: the tree; what is below the node is as it will be.
        node: the node.
        rows: rows that come there.

    Shapes:
        rows ``[m]``, their places among the points.
    """
    plane = draft.plane(node)
    left, right = (
        draft.losses(points, objective.missing_loss, rows, child) for child in draft.children[node]
    )
    gains = (left - right) * points.weights[rows]
    cares = gains != 0
    task = Task(rows[cares], gains[cares], objective.decision_penalty)
    if not len(task.rows):
        return plane
    return _sparser(_better(plane, task, points, objective), task, points)


def _better(plane: Hyperplane, task: Task, points: Points, objective: Objective) -> Hyperplane:
    """A hyperplane of a lower value, or the same if none is found."""
    now = task.value(plane, points)
    new = _surrogate(plane, task, points, objective)
    for found in (new, _at_norm(new, plane.norm)):
        if found is not None and task.value(found, points) < now:
            return found
    other = _other(new, plane, task, points)
    return other if task.value(other, points) < now else plane


def _sparser(plane: Hyperplane, task: Task, points: Points) -> Hyperplane:
    """The best of the hyperplane and of its largest weights alone, each with its own threshold.

    Many features often tell the same, as far as clusters lie apart: what a prediction need not look
    at costs no mistake. The surrogate keeps them, as they give it wider margins.
    """
    best, value = plane, task.value(plane, points)
    order = np.argsort(-np.abs(plane.weight), kind="stable")
    number = 1
    while number < np.count_nonzero(plane.weight):
        weight = np.zeros_like(plane.weight)
        weight[order[:number]] = plane.weight[order[:number]]
        fewer = replace(plane, weight=weight)
        if plane.columns is not None:
            fewer = sparse_hyperplane(weight, plane.bias, plane.columns)
        found = _threshold(fewer, task, points)
        if found is not None and (cost := task.value(found[1], points)) < value:
            best, value = found[1], cost
        number *= 2
    return best


def _other(new: Hyperplane, plane: Hyperplane, task: Task, points: Points) -> Hyperplane:
    """The best of the exact thresholds on both directions, and of all to one side."""
    wrong_left = float(np.maximum(task.gains, 0).sum())
    wrong_right = float(np.maximum(-task.gains, 0).sum())
    found = [(wrong_right, _constant(plane, 1.0)), (wrong_left, _constant(plane, -1.0))]
    found += [each for each in (_threshold(way, task, points) for way in (new, plane)) if each]
    norm = plane.norm or np.inf
    smaller = [(cost, _at_norm(each, norm) or each) for cost, each in found]
    return min(smaller, key=lambda each: each[0] + task.penalty * each[1].norm)[1]


def _surrogate(plane: Hyperplane, task: Task, points: Points, objective: Objective) -> Hyperplane:
    """The logistic regression on the pseudo-labels; one side of them alone needs no weights."""
    signs = np.where(task.gains > 0, 1.0, -1.0)
    if (signs == signs[0]).all():
        return _constant(plane, signs[0])
    counts = np.abs(task.gains)
    x, columns = used_columns(points.x[task.rows])
    weight = plane.weight if columns is None else plane.full(points.num_features)[columns]
    start = weight[:, None], np.array([plane.bias])
    steps = objective.solver_steps
    found, bias = binary(x, signs, counts, start, task.penalty, steps)
    weight = np.ascontiguousarray(found[:, 0])
    if columns is not None:
        return sparse_hyperplane(weight, float(bias[0]), columns)
    return Hyperplane(weight, float(bias[0]))


def _at_norm(plane: Hyperplane, norm: float) -> Hyperplane | None:
    """The same decisions at a smaller norm; None if that cannot be."""
    if not 0 < norm < plane.norm:
        return None
    scale = norm / plane.norm
    weight = (plane.weight * scale).astype(np.float32)
    return replace(plane, weight=weight, bias=float(np.float32(plane.bias * scale)))


def _constant(plane: Hyperplane, sign: float) -> Hyperplane:
    """All to one side: right for 1, left for -1."""
    if plane.columns is None:
        return Hyperplane(np.zeros_like(plane.weight), sign)
    return Hyperplane(plane.weight[:0], sign, plane.columns[:0])


def _threshold(plane: Hyperplane, task: Task, points: Points) -> tuple[float, Hyperplane] | None:
    """The lowest weighted 0/1 loss of any bias on a direction or its opposite, and the hyperplane.

    None if there is no direction.
    """
    if not plane.weight.any():
        return None
    scores = points.projections(task.rows, plane.full(points.num_features), 0.0)
    order = np.argsort(scores)
    scores = scores[order]
    # Where the first i rows go left, they lose what they would have gained on the right.
    lost = np.append(0, np.cumsum(task.gains[order]))
    ends = np.append(scores[1:] != scores[:-1], True)  # equal scores are not parted
    places = np.append(0, np.flatnonzero(ends) + 1)
    low, high = places[lost[places].argmin()], places[lost[places].argmax()]
    wrong_right = float(np.maximum(-task.gains, 0).sum())
    cost, opposite = wrong_right + lost[low], lost[-1] + wrong_right - lost[high]
    if cost <= opposite:
        return cost, replace(plane, bias=_bias(scores, low))
    bias = _bias(-scores[::-1], len(scores) - high)
    return opposite, replace(plane, weight=-plane.weight, bias=bias)


def _bias(scores: np.ndarray, number: int) -> float:
    """The bias that sends the first rows to the left, so many of them, for ascending scores."""
    if number == 0:
        return float(-scores[0] + np.float32(1))
    last = scores[number - 1]
    if number == len(scores):
        return float(-np.nextafter(last, np.float32(np.inf)))
    middle = np.float32((float(last) + float(scores[number])) / 2)
    return float(-(middle if middle > last else scores[number]))
