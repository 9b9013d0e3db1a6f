"""The update of a leaf: a softmax over the most frequent classes of its points."""

from __future__ import annotations

from typing import Any

import numpy as np

from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Leaf, first_leaf
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points, used_columns
from structnet.softmax_tree.solver import in_range, multinomial

BLOCK = 1024  # columns whose slopes are held at a time


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
    """The leaf with weights that are fitted to rows of its classes.

    Of sparse rows, most columns have too little to do with the classes to get a weight. Those where
    0 is the best weight now are left out; a later update looks at them again.
    """
    x, weight = points.x[rows], leaf.weight
    columns = None
    if points.sparse:
        needed = _needed(leaf, x, y, points.weights[rows], objective.leaf_penalty)
        x, columns = used_columns(x[:, needed])
        columns = needed[columns]
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


def _needed(leaf: Leaf, x: Any, y: np.ndarray, counts: np.ndarray, penalty: float) -> np.ndarray:
    """Columns with weights, or where the loss falls by more than a first weight costs. ``[kept]``.

    Shapes:
        x ``[n, D]``, CSR; y, counts ``[n]``.
    """
    shares, penalty = in_range(counts, penalty)
    slopes = np.exp(leaf.log_probs(x)).astype(np.float32)
    slopes[np.arange(len(y)), y] -= 1
    slopes *= shares[:, None]
    turned, steepest = x.T.tocsr(), np.zeros(x.shape[1], np.float32)
    used = np.flatnonzero(np.diff(turned.indptr))
    for low in range(0, len(used), BLOCK):
        some = used[low : low + BLOCK]
        steepest[some] = np.abs(turned[some] @ slopes).max(axis=1)
    steepest[leaf.columns] = np.inf
    return np.flatnonzero(~(steepest <= penalty)).astype(np.int32)  # also where sums overflow


def _at(weight: np.ndarray, columns: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The weights of wanted columns, 0 for missing ones. ``[columns, k] -> [wanted, k]``."""
    found = np.zeros((len(wanted), weight.shape[1]), np.float32)
    place = np.minimum(np.searchsorted(columns, wanted), len(columns) - 1)
    if len(columns):
        there = columns[place] == wanted
        found[there] = weight[place[there]]
    return found
