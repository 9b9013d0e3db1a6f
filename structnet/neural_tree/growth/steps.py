"""Regions of a table in each of which the residuals are constant, as where rules have thresholds.

They are the leaves of a regression tree with as many cuts as have the best :class:`.Criterion`. A
constant is cheaper than a line in each column: where residuals fall and rise in steps,
there are enough samples for more and smaller regions than :mod:`.regions` can tell apart.

Reference:
    Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984.
"""

from __future__ import annotations

import numpy as np

from structnet.neural_tree.growth.criterion import Criterion
from structnet.neural_tree.growth.regions import Cut, Regions, border_at, with_best

HARD = 64.0  # slope of a hard border, by that of a soft one: few samples are undecided


def find_steps(
    x: np.ndarray, residuals: np.ndarray, weights: np.ndarray, most: int, least: float
) -> Regions:
    """The regions with the best criterion, possibly a single one.

    Args:
        x, residuals, weights, most, least: see :func:`.find_regions`.

    Shapes:
        x ``[n, columns]``, residuals ``[n, outputs]``, weights ``[n]``.

    Example:
        >>> x = np.linspace(-1, 1, 200)[:, None]
        >>> found = find_steps(x, np.abs(x) > 0.5, np.ones(200), most=4, least=8)
        >>> sorted(round(cut.threshold, 1) for cut in found.cuts if cut)
        [-0.5, 0.5]
    """
    from sklearn.tree import DecisionTreeRegressor

    total, columns = float(weights.sum()), x.shape[1]
    if most < 2 or total < 2 * least:
        return Regions([()], [None], np.zeros((0, columns)))
    model = DecisionTreeRegressor(
        max_leaf_nodes=most, min_weight_fraction_leaf=least / total, random_state=0
    )
    grown = model.fit(x, residuals, sample_weight=weights).tree_
    members = model.decision_path(x).toarray().astype(bool) & (weights > 0)[:, None]
    squares = grown.impurity * grown.weighted_n_node_samples * residuals.shape[1]
    children: list[tuple[int, ...]] = [()] * len(squares)
    cuts: list[Cut | None] = [None] * len(squares)
    left, used = [float(squares[0])], np.unique(grown.feature[grown.children_left > 0])
    axes = np.zeros((len(used), columns))  # of all columns, they would not fit into memory
    axes[np.arange(len(used)), used] = 1.0
    for first in range(1, len(squares), 2):  # in the order in which the tree was grown
        parent = int(np.flatnonzero(grown.children_left == first)[0])
        gain = float(squares[parent] - squares[first] - squares[first + 1])
        column, threshold = int(grown.feature[parent]), float(grown.threshold[parent])
        children[parent] = first, first + 1
        threshold, reach = border_at(x[members[:, parent], column], threshold)
        along = int(np.searchsorted(used, column))
        cuts[parent] = Cut(gain, along, threshold, members[:, parent], reach)
        left.append(left[-1] - gain)
    regions = Regions(children, cuts, axes, steps=True)
    criterion = Criterion.of(residuals, weights)
    prices = [criterion.price_of_constant(columns)] * (len(left) - 1)
    return with_best(regions, left, criterion, prices)
