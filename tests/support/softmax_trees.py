"""Data, and the softmax tree as the papers write it: one point at a time, in double precision."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_matrix, issparse

from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import Points


def clusters(
    number: int, classes: int = 12, modes: int = 2, features: int = 6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows around several means a class, and their classes; all classes occur."""
    rng = np.random.default_rng(seed)
    means = 3 * rng.normal(size=(classes, modes, features))
    y = np.append(np.arange(classes), rng.integers(classes, size=number - classes))
    x = means[y, rng.integers(modes, size=number)] + rng.normal(size=(number, features))
    return x.astype(np.float32), y


def thinned(x: np.ndarray) -> csr_matrix:
    """The same rows with most of their entries left out."""
    return csr_matrix(np.where(np.abs(x) > 2, x, 0).astype(np.float32))


def points_of(number: int = 300, sparse: bool = False, **how: int) -> Points:
    x, y = clusters(number, **how)
    return Points.made(thinned(x) if sparse else x, y, int(y.max()) + 1)


def objective(
    decision: float = 1.0,
    leaf: float = 1.0,
    classes: int = 12,
    steps: int = 20,
    ridge: float = 0.0,
) -> Objective:
    return Objective(decision, leaf, 2 * math.log(classes), steps, ridge)


# ---- the oracle


def value_of(draft: Draft, points: Points, objective: Objective) -> float:
    """The objective, point by point; where routing hangs on rounding, as the library routes."""
    x = points.x.toarray() if issparse(points.x) else points.x
    total = 0.0
    ends = {
        row: node
        for node, rows in draft.reach(points).items()
        for row in rows
        if not draft.children[node]
    }
    for i, row in enumerate(np.float64(x)):
        leaf = draft.nodes[ends[i]]
        weight = np.float64(leaf.weight)
        scores = (
            np.float64(leaf.bias) + (row if leaf.columns is None else row[leaf.columns]) @ weight
        )
        loss = objective.missing_loss
        if points.y[i] in leaf.classes:
            place = list(leaf.classes).index(points.y[i])
            loss = math.log(sum(math.exp(s - scores[place]) for s in scores))
        total += points.weights[i] * loss
    for node in draft.nodes:
        is_plane = isinstance(node, Hyperplane)
        factor = objective.decision_penalty if is_plane else objective.leaf_penalty
        total += factor * np.abs(np.float64(node.weight)).sum()
        if not is_plane:
            total += objective.leaf_ridge / 2 * (np.float64(node.weight) ** 2).sum()
    return total
