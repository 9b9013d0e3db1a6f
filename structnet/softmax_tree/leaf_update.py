"""The update of a leaf: a softmax over the most frequent classes of its points."""

from __future__ import annotations

import numpy as np

from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Leaf, first_leaf
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points, used_columns
from structnet.softmax_tree.solver import multinomial


def updated_leaf(leaf: Leaf, points: Points, rows: np.ndarray, objective: Objective) -> Leaf:
    """A softmax over the k most frequent classes at a leaf, or the leaf if that is no better.

    Args:
        leaf: leaf, from whose weights the solver starts.
        points: samples to learn from.
        rows: rows that reach the leaf.
        objective: objective of the training.

    Shapes:
        rows ``[m]``, their places among the points.
    """
    new = warm_started(leaf, points, rows)
    place, there = new.places(points.y[rows])
    used = rows[there]
    if len(new.classes) > 1:
        new = _solved(new, points, used, place[there], objective)
    values = [
        objective.loss(Draft([()], [each]), points, rows) + objective.penalty_of(each)
        for each in (leaf, new)
    ]
    return new if values[1] < values[0] else leaf


def warm_started(leaf: Leaf, points: Points, rows: np.ndarray) -> Leaf:
    """A leaf with the k most frequent classes of rows ``[m]``, and the weights of a given leaf.

    Classes that the given leaf lacks have weights of 0, and a bias by their frequency.
    """
    new = first_leaf(points.counts(rows), leaf.k, points.num_features, points.sparse)
    place, known = leaf.places(new.classes)
    if len(new.classes) < 2 or not known.any():
        return new
    weight = np.zeros((len(leaf.weight), len(new.classes)), np.float32)
    weight[:, known] = leaf.weight[:, place[known]]
    bias = new.bias.copy()
    # New classes start with a bias that is in proportion to the known ones by their frequency.
    bias[known] = leaf.bias[place[known]]
    bias[~known] += (leaf.bias[place[known]] - new.bias[known]).mean()
    return Leaf(new.classes, weight, bias, leaf.k, leaf.columns)


def _solved(
    leaf: Leaf, points: Points, rows: np.ndarray, y: np.ndarray, objective: Objective
) -> Leaf:
    """The leaf with weights that are fitted to rows of its classes."""
    x, columns = used_columns(points.x[rows])
    weight = leaf.weight
    if columns is not None and leaf.columns is not None:
        weight = _at(weight, leaf.columns, columns)
    found, bias = multinomial(
        x,
        y,
        points.weights[rows],
        (weight, leaf.bias),
        objective.leaf_penalty,
        objective.solver_steps,
        objective.leaf_ridge,
    )
    if columns is not None:
        kept = found.any(axis=1)
        found, columns = np.ascontiguousarray(found[kept]), columns[kept]
    return Leaf(leaf.classes, found, bias, leaf.k, columns)


def _at(weight: np.ndarray, columns: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The weights of wanted columns, 0 for missing ones. ``[columns, k] -> [wanted, k]``."""
    found = np.zeros((len(wanted), weight.shape[1]), np.float32)
    place = np.minimum(np.searchsorted(columns, wanted), len(columns) - 1)
    if len(columns):
        there = columns[place] == wanted
        found[there] = weight[place[there]]
    return found
