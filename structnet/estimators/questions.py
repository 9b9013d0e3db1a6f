"""What the questions of a random tree, each about a single column, explain of unseen rows.

Reference:
    Geurts, Ernst, Wehenkel, "Extremely Randomized Trees", Machine Learning, 2006; Li, Wang, Basu,
    Kumbier, Yu, "A Debiased MDI Feature Importance Measure for Random Forests", NeurIPS 2019.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structnet.estimators.checked import Checked

GROWN = 0.8  # share of the rows from which a tree grows; the others tell what its questions explain

SMALL = 2**14  # size of a dense matrix that is multiplied sooner than a sparse one is made


def grown_tree(rows: Checked, seed: int) -> tuple[Any, np.ndarray]:
    """A tree that grows from most rows, and the variance of the others that each column explains.

    Of the rows that it grows from, deep questions about noise would explain as much: the more, the
    more values a column has. Rows of one group may be on both sides.

    Args:
        rows: rows with weights, and with float32 columns.
        seed: seed of the choice of rows and of the questions.

    Shapes:
        output[1] ``[columns]``.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
        >>> _, gains = grown_tree(Checked(x, x[:, [1]], np.ones(200)), seed=0)
        >>> gains.argmax()
        np.int64(1)
    """
    import sklearn
    from sklearn.tree import ExtraTreeRegressor

    order = np.random.default_rng(seed).permutation(len(rows.y))
    grown, held = map(rows.take, np.split(order, [math.ceil(GROWN * len(order))]))
    assert grown.weights is not None and held.weights is not None
    model = ExtraTreeRegressor(min_samples_leaf=2, random_state=seed)
    # Checks, and products of sparse matrices, would take as long as these small trees.
    weights = None if np.all(grown.weights == 1) else grown.weights
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        tree = model.fit(grown.x, grown.y, weights, check_input=False).tree_
    inner = np.flatnonzero(tree.children_left >= 0)
    up = np.concatenate([inner, inner])
    down = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
    reached, weights = tree.decision_path(held.x).T, held.weights
    if np.prod(reached.shape) < SMALL:
        reached = reached.toarray()
    values = tree.value[:, :, 0]
    rests = (reached @ (weights[:, None] * held.y))[down]
    rests -= (reached @ weights)[down, None] * values[up]
    gains = ((values[down] - values[up]) * rests).sum(1) / weights.sum()
    return model, np.bincount(tree.feature[up], gains, rows.x.shape[1])
