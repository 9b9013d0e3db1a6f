"""Other models of the rows of SARCOS, from scikit-learn, for Table 3."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from structnet.cli.neural_tree.data import load_data
from structnet.cli.neural_tree.measure import error
from structnet.cli.neural_tree.settings import Settings


def train(name: str, seed: int, settings: Settings) -> dict[str, Any]:
    """Trains and tests one model on a run's data, validation rows included.

    Args:
        name: "linear", "mlp", "forest" or "boosting".
        seed: of its random numbers.
        settings: of a run of a tree, whose data these are.
    """
    data = load_data(settings)
    parts, begin = (data.train, data.validation), time.perf_counter()
    x, y = (np.concatenate([getattr(part, what) for part in parts]) for what in ("x", "targets"))
    model = _models(seed)[name]().fit(x, y)
    seconds = time.perf_counter() - begin
    predicted = torch.from_numpy(model.predict(data.test.x.numpy()))
    return {
        "model": name,
        "data": data.arrays.name,
        "test_error": error(predicted, data.test.targets, data.describe()),
        "parameters": _parameters(model),
        "train_size": len(x),
        "validation_size": 0,
        "test_size": len(data.test),
        "seed": seed,
        "settings": data_settings(settings),
        "seconds": round(seconds, 1),
    }


def data_settings(settings: Settings) -> dict[str, Any]:
    """The settings that say which rows a model learns and is tested by.

    Example:
        >>> data_settings({"data": "sarcos", "train_size": 90, "test_size": None, "seed": 0})
        {'data': 'sarcos', 'train_size': 90, 'test_size': None, 'seed': 0}
    """
    return {name: settings[name] for name in ("data", "train_size", "test_size", "seed")}


def _models(seed: int) -> dict[str, Any]:
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.multioutput import MultiOutputRegressor
    from sklearn.neural_network import MLPRegressor

    # The paper says how many layers, units and trees there are, not how deep boosting's trees are.
    return {
        "linear": LinearRegression,
        "mlp": lambda: MLPRegressor(
            hidden_layer_sizes=(256, 256, 256),
            activation="tanh",
            early_stopping=True,
            n_iter_no_change=20,
            max_iter=500,
            random_state=seed,
        ),
        "forest": lambda: RandomForestRegressor(200, random_state=seed),
        "boosting": lambda: MultiOutputRegressor(
            GradientBoostingRegressor(n_estimators=100, max_depth=8, random_state=seed)
        ),
    }


def _parameters(model: Any) -> int:
    """The numbers that a model has learnt: weights; of a tree, thresholds, features and leaves."""
    if hasattr(model, "coefs_"):
        return sum(part.size for part in (*model.coefs_, *model.intercepts_))
    if hasattr(model, "coef_"):
        return model.coef_.size + model.intercept_.size
    # Boosting has one array of trees for each of its outputs.
    parts = getattr(model, "estimators_", [])
    trees = [tree for part in parts for tree in np.ravel(getattr(part, "estimators_", part))]
    return sum(_tree_parameters(tree.tree_) for tree in trees)


def _tree_parameters(tree: Any) -> int:
    leaves = int(tree.n_leaves)
    return 2 * (tree.node_count - leaves) + leaves * tree.value.shape[1]
