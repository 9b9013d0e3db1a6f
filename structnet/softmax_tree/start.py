"""The trees from which training starts.

The paper starts from random hyperplanes or from a tree of its own; balanced 2-means is ours. At a
node, it divides the means of the classes into two groups of about equal weight; the hyperplane is
normal to the line between the groups' means, with the median of the points as threshold. Other
starts are 2-means on the rows, and a decision tree on single features, for data that follow such
decisions.
"""

from __future__ import annotations

import math
import threading
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from structnet.estimators.scale import fractions
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane, Leaf, first_leaf, sparse_hyperplane
from structnet.softmax_tree.objective import Objective
from structnet.softmax_tree.points import LARGEST as LARGEST_INDEX
from structnet.softmax_tree.points import Points, narrow
from structnet.softmax_tree.settings import ChosenSettings, GrowthSettings, SoftmaxTreeSettings
from structnet.softmax_tree.solved_leaf import solved_draft

MEANS_STEPS = 10
DRAWN = 8  # trees to choose from, as some are far better than others
LARGEST = 100  # largest number of weights of an initial hyperplane on sparse rows
QUIET = threading.Lock()
CODES = 32  # random numbers of a class by which trees on single features tell many classes apart
WIDE = 10  # smallest default limit on the classes of a leaf


def width(num_classes: int, depth: int) -> int:
    """The default limit on the classes of a leaf: four times the classes that fall to each leaf.

    It is at least 10, if there are so many classes.

    Example:
        >>> width(1000, 0), width(1000, 5), width(3, 5)
        (1000, 125, 3)
    """
    return min(num_classes, max(WIDE, math.ceil(4 * num_classes / 2**depth)))


def best_draft(points: Points, settings: ChosenSettings, growth: GrowthSettings | None) -> Draft:
    """The initial tree with the lowest objective, out of eight.

    Training node by node, or growth, seldom reunites what hyperplanes near the root divide, and the
    harm shows before training. If leaves may have all classes, a good start matters less, and
    random directions are drawn as in the papers: there, the first tree is taken.
    """
    depth, k = _shape(points, settings, growth)
    if not depth or k >= points.num_classes or settings.start not in ("centroids", "rows"):
        return first_draft(points, settings, growth)
    objective = Objective.from_settings(settings, points.num_classes)
    seeds = np.random.SeedSequence(settings.seed).generate_state(DRAWN).tolist()
    drafts = (complete_draft(points, depth, k, settings.start, seed) for seed in seeds)
    return min(drafts, key=lambda draft: objective.of(draft, points))


def first_draft(
    points: Points, settings: SoftmaxTreeSettings, growth: GrowthSettings | None
) -> Draft:
    """The initial tree, of the final depth or of the depth from which growth starts.

    In the latter case, :func:`most_classes` limits the classes of a leaf.
    """
    assert settings.start is not None
    if (given := ChosenSettings.of(settings)).is_solved:
        return solved_draft(points, given.solved, given.parts, given.seed)
    depth, k = _shape(points, settings, growth)
    if settings.start == "axes":
        return axes_draft(points, depth, k, settings.seed)
    return complete_draft(points, depth, k, settings.start, settings.seed)


def _shape(
    points: Points, settings: SoftmaxTreeSettings, growth: GrowthSettings | None
) -> tuple[int, int]:
    """The initial depth, and the largest number of classes in a leaf there."""
    depth, k = settings.depth, settings.k
    if growth is not None:
        assert growth.start_depth is not None
        depth = growth.start_depth
        k = most_classes(growth, points.num_classes, depth)
    assert depth is not None and k is not None
    return depth, k


def most_classes(growth: GrowthSettings, num_classes: int, depth: int) -> int:
    """The largest number of classes in a leaf at a depth of a tree that grows.

    Growth starts with ``start_k``; by default, with as many classes as if the tree had grown from a
    single leaf with all classes, but no fewer than half the default of a tree of that depth, as
    growth covers more classes. Each step from there multiplies the number by alpha.
    """
    assert growth.start_depth is not None and growth.alpha is not None
    start, alpha = growth.start_depth, growth.alpha
    least = max(alpha**start * num_classes, width(num_classes, start + 1))
    k = math.floor(min((alpha if start else 1.0) * num_classes, least))
    if growth.start_k is not None:
        k = min(growth.start_k, num_classes)
    else:
        k = max(k, min(growth.least_k, num_classes))
    for _ in range(start, depth, growth.step):
        k = growth.narrowed(k, k)
    return max(1, k)


def same_shape(draft: Draft, points: Points, seed: int) -> Draft:
    """A new initial tree with the shape of another, whose leaves may have as many classes.

    If the points at a node cannot be divided, it keeps the other tree's hyperplane.
    """
    rng, new = np.random.default_rng(seed), draft.copy()
    reach = {0: np.arange(len(points))}
    for node, below in enumerate(draft.children):
        here, old = reach.get(node, np.zeros(0, np.int64)), draft.nodes[node]
        if not below:
            k = len(old.classes) if isinstance(old, Leaf) else 1
            counts = points.counts(here)
            new.nodes[node] = first_leaf(counts, k, points.num_features, points.sparse)
            continue
        assert isinstance(old, Hyperplane)
        if old.columns is not None and not points.sparse:  # dense, like the new ones
            old = Hyperplane(old.full(points.num_features), old.bias)
        plane = _plane(points, here, "centroids", rng) or old
        new.nodes[node] = plane
        right = plane.goes_right(points, here)
        reach |= dict(zip(below, (here[~right], here[right]), strict=True))
    return new


def axes_draft(points: Points, depth: int | None, k: int, seed: int) -> Draft:
    """A decision tree on single features, grown by scikit-learn.

    If there are more entries than 32 bits can count, it learns from rows drawn at random.

    Args:
        points: samples to learn from.
        depth: largest number of decisions on a path; None for no limit.
        k: largest number of classes in a leaf.
        seed: seed of the random numbers.
    """
    if depth == 0:
        return complete_draft(points, 0, k, "centroids", seed)
    some = _in_32_bits(points, seed)
    weights = some.weights / some.weights.max()  # scikit-learn has absolute thresholds for them
    how: dict[str, Any] = {"max_depth": depth, "random_state": seed}
    grower, targets = DecisionTreeClassifier(**how), some.y
    if points.num_classes > CODES:
        grower, targets = DecisionTreeRegressor(**how), _codes(points.num_classes, seed)[some.y]
    # scikit-learn takes many classes for numbers; the filters of warnings are those of all threads.
    with QUIET, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        found = grower.fit(some.x, targets, weights).tree_
    left, right = found.children_left, found.children_right
    draft = Draft([(a, b) if a > 0 else () for a, b in zip(left, right, strict=True)], [])
    shape = found.node_count, points.num_classes
    counts = csr_matrix((weights, (found.apply(some.x), some.y)), shape)
    for node, below in enumerate(draft.children):
        if below:
            draft.nodes.append(_axis(points, found.feature[node], found.threshold[node]))
            continue
        here = counts[node].toarray()[0]
        draft.nodes.append(first_leaf(here, k, points.num_features, points.sparse))
    return draft


def _codes(num_classes: int, seed: int) -> np.ndarray:
    """Random signs for each class, ``[K, CODES]``, of which a tree of many classes is grown.

    They nearly keep the distances of classes, so that the squared error of a tree that predicts
    them is nearly the Gini impurity, at the cost of few classes.

    Reference:
        Joly, Geurts, Wehenkel, "Random Forests with Random Projections of the Output Space for High
        Dimensional Multi-label Classification", ECML PKDD 2014.
    """
    return np.random.default_rng(seed).choice([-1.0, 1.0], (num_classes, CODES))


def _in_32_bits(points: Points, seed: int) -> Points:
    """The points, or some of them if they have too many entries for scikit-learn's trees."""
    if not points.sparse or points.x.nnz <= LARGEST_INDEX:
        return points
    drawn = np.random.default_rng(seed).permutation(len(points))
    entries = np.cumsum(np.diff(points.x.indptr)[drawn])
    some = points.take(np.sort(drawn[entries <= LARGEST_INDEX]))
    return replace(some, x=narrow(some.x))


def _axis(points: Points, feature: int, threshold: float) -> Hyperplane:
    """The hyperplane of ``x[feature] > threshold``."""
    bias = -float(np.nextafter(np.float32(threshold), np.float32(np.inf)))
    if np.float32(threshold) > threshold:
        bias = -float(np.float32(threshold))
    if points.sparse:
        return Hyperplane(np.ones(1, np.float32), bias, np.array([feature], np.int32))
    weight = np.zeros(points.num_features, np.float32)
    weight[feature] = 1
    return Hyperplane(weight, bias)


def complete_draft(points: Points, depth: int, k: int, start: str, seed: int) -> Draft:
    """A complete tree, whose leaves predict the frequencies of their most frequent classes.

    Args:
        points: samples to learn from.
        depth: number of decisions on each path; a node whose points have one class, or cannot be
            divided, becomes a leaf.
        k: largest number of classes in a leaf.
        start: "centroids", "rows" or "random", as in :class:`.SoftmaxTreeSettings`.
        seed: seed of the random numbers.
    """
    rng = np.random.default_rng(seed)
    draft = Draft([], [])
    waiting = [(np.arange(len(points)), depth)]
    for here, left in waiting:
        plane = _plane(points, here, start, rng) if left else None
        if plane is not None:
            right = plane.goes_right(points, here)
            if right.any() and not right.all():
                draft.nodes.append(plane)
                draft.children.append((len(waiting), len(waiting) + 1))
                waiting += [(here[~right], left - 1), (here[right], left - 1)]
                continue
        counts = points.counts(here)
        draft.nodes.append(first_leaf(counts, k, points.num_features, points.sparse))
        draft.children.append(())
    return draft


def _plane(
    points: Points, rows: np.ndarray, start: str, rng: np.random.Generator
) -> Hyperplane | None:
    """A hyperplane that divides rows; None if they have a single class, or none is found."""
    counts = points.counts(rows)
    classes = np.flatnonzero(counts)
    if len(classes) < 2:
        return None
    if start == "rows":
        return _between_rows(points, rows, rng)
    if start == "random":
        direction = rng.standard_normal(points.num_features).astype(np.float32)
    else:
        direction = _between(_means(points, rows, classes, counts), counts[classes], rng)
    plane = _through(points, direction, np.zeros_like(direction))
    if plane is None:
        return None
    bias = -_median(
        points.projections(rows, plane.full(points.num_features), 0.0), points.weights[rows]
    )
    return replace(plane, bias=bias)


def _through(points: Points, direction: np.ndarray, place: np.ndarray) -> Hyperplane | None:
    """The hyperplane normal to a direction at a place, both ``[D]``; None if that is 0.

    The absolute values of its weights sum to 1.
    """
    if points.sparse:  # only the largest entries are kept
        direction[np.argsort(-np.abs(direction))[LARGEST:]] = 0
    norm = np.abs(direction).sum()
    if not norm:
        return None
    direction = (direction / norm).astype(np.float32)
    bias = -float(np.float32(direction @ place))
    if points.sparse:
        return sparse_hyperplane(direction, bias, np.arange(len(direction), dtype=np.int32))
    return Hyperplane(direction, bias)


def _between_rows(points: Points, rows: np.ndarray, rng: np.random.Generator) -> Hyperplane | None:
    """The hyperplane half way between two clusters of rows; None if they have no two clusters."""
    x, exponent = _fractions(points.x[rows])
    share = _shares(points.weights[rows])
    direction, side = _scattered(x, share, rng), None
    middle = np.asarray(share @ x).ravel()
    threshold = float(middle @ direction)
    for _ in range(MEANS_STEPS):
        new = np.asarray(x @ direction).ravel() >= threshold
        if new.all() or not new.any():
            return None
        if side is not None and (new == side).all():
            break
        side = new
        parts = [np.where(each, share, 0) for each in (~side, side)]
        means = [np.asarray((part / part.sum()) @ x).ravel() for part in parts]
        direction = (means[1] - means[0]).astype(np.float32)
        middle = (means[0] + means[1]) / 2
        threshold = float(middle @ direction)
    return _through(points, direction, np.ldexp(middle, exponent))


def _median(scores: np.ndarray, weights: np.ndarray) -> float:
    """The threshold that divides scores into two parts of the most equal weight."""
    values, place = np.unique(scores, return_inverse=True)
    if len(values) < 2:
        return float(values[0])
    below = np.cumsum(np.bincount(place, weights))[:-1]  # at a threshold of the next value
    return float(values[1 + np.argmin(np.abs(below - weights.sum() / 2))])


def _means(points: Points, rows: np.ndarray, classes: np.ndarray, counts: np.ndarray) -> Any:
    """The mean of each class. ``[classes, D]``, CSR for sparse rows."""
    place = np.searchsorted(classes, points.y[rows])
    share = points.weights[rows] / counts[points.y[rows]]
    matrix = csr_matrix((share, (place, np.arange(len(rows)))), shape=(len(classes), len(rows)))
    return matrix.astype(np.float32) @ points.x[rows]


def _shares(counts: np.ndarray) -> np.ndarray:
    """The shares of counts above 0 in single precision; none underflows to 0."""
    return np.maximum(counts / counts.sum(), 1e-30).astype(np.float32)


def _fractions(x: Any) -> tuple[Any, Any]:
    """Rows divided by a power of two, so that squares stay in range, and its exponent."""
    if not issparse(x):
        return fractions(x)
    if not x.nnz:
        return x, 0
    data, exponent = fractions(x.data)
    return type(x)((data, x.indices, x.indptr), shape=x.shape), exponent


def _between(means: Any, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The vector between the centres of two groups of means of about equal weight. ``[D]``."""
    means, share = _fractions(means)[0], _shares(counts)
    direction = _scattered(means, share, rng)
    order = None
    for _ in range(MEANS_STEPS):
        new = np.argsort(means @ direction, kind="stable")
        if order is not None and (new == order).all():
            break
        order = new
        left = np.cumsum(share[order]) <= 0.5
        left[0], left[-1] = True, False
        groups = [np.where(side, share[order], 0) for side in (left, ~left)]
        ends = [(part / part.sum()).astype(np.float32) @ means[order] for part in groups]
        direction = np.asarray(ends[1] - ends[0]).ravel()
    return direction


def _scattered(means: Any, share: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A direction of large variance of the means, by a few steps of the power method. ``[D]``."""
    centre = np.asarray(share @ means).ravel()
    direction = rng.standard_normal(means.shape[1]).astype(np.float32)
    for _ in range(5):
        # BLAS was seen to flag a product of finite single precision numbers as invalid.
        with np.errstate(invalid="ignore"):
            along = share * np.asarray(means @ direction - centre @ direction).ravel()
        direction = np.asarray(along @ means).ravel() - along.sum() * centre
        norm = np.linalg.norm(direction)
        if not norm:
            return centre * 0
        direction = direction / norm
    return direction.astype(np.float32)
