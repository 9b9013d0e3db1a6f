"""Other models of the rows of SARCOS, from scikit-learn, for Table 3."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from structnet.recipes.neural_tree.settings import NeuralTreeRunSettings
from structnet.recipes.recipe import Place, Say, settings_from, values_of


@dataclass(frozen=True)
class Settings:
    """Which model learns from which rows; they are those of a tree with the same seed.

    Args:
        data: data set of rows with numbers to predict.
        model: "linear", "mlp", "forest" or "boosting".
        train_size, test_size: rows; None for all.
        seed: seed of the model's random numbers, and of the choice of rows.
        place: folder of the files, and device.
    """

    data: str
    model: str
    train_size: int | None = None
    test_size: int | None = None
    seed: int = 0
    place: Place = field(default_factory=Place)


def train(settings: Settings, say: Say) -> dict[str, Any]:
    """Trains and tests one model on a run's data, validation rows included, and gives a result."""
    import numpy as np
    import torch

    from structnet.recipes.neural_tree.answers import score
    from structnet.recipes.neural_tree.data import load_data

    say(f"fitting {settings.model} ...")
    data = load_data(settings_from(NeuralTreeRunSettings, values_of(settings)))
    parts, begin = (data.train, data.validation), time.perf_counter()
    x, y = (np.concatenate([getattr(part, what) for part in parts]) for what in ("x", "targets"))
    model = _models(settings.seed)[settings.model]().fit(x, y)
    seconds = time.perf_counter() - begin
    predicted = torch.from_numpy(model.predict(data.test.x.numpy()))
    return {
        "model": settings.model,
        "data": data.arrays.name,
        "sizes": {"train": len(x), "validation": 0, "test": len(data.test)},
        "test": {"mse": score(predicted, data.test.targets, data.describe())},
        "settings": values_of(settings),
        "seconds": round(seconds, 1),
        "details": {"parameters": _parameters(model)},
    }


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
    import numpy as np

    if hasattr(model, "coefs_"):
        return sum(part.size for part in (*model.coefs_, *model.intercepts_))
    if hasattr(model, "coef_"):
        return model.coef_.size + model.intercept_.size
    # Boosting has one array of trees for each of its outputs.
    parts = (np.ravel(getattr(part, "estimators_", part)) for part in model.estimators_)
    trees = [tree.tree_ for tree in np.concatenate(list(parts))]
    numbers = (2 * (t.node_count - t.n_leaves) + t.n_leaves * t.value.shape[1] for t in trees)
    return int(sum(numbers))  # scikit-learn may count in int64, which is no JSON
