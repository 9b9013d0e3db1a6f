"""Small neural tree estimators for tests, and data that they learn at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from structnet.neural_tree import presets
from structnet.neural_tree.estimator import NeuralTreeClassifier, NeuralTreeRegressor

SMALL = {
    "epochs": 5,
    "refine_epochs": 2,
    "max_leaves": 3,
    "max_transformers": 1,
    "warm_start_solvers": True,
    "batch_size": 32,
    "learning_rate": 0.05,
    "random_state": 0,
}


NARROW = partial(presets.mlp, width=6)


X4 = np.arange(12.0).reshape(6, 2)
Y4 = np.array([0, 1, 0, 1, 0, 1])
classifier = partial(NeuralTreeClassifier, NARROW, **SMALL)


regressor = partial(NeuralTreeRegressor, NARROW, **SMALL)


@pytest.fixture(scope="session")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Three clusters of points with three columns, and their names."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 40)
    return rng.normal(size=(120, 3)) + 6 * np.eye(3)[codes], np.array(["b", "a", "c"])[codes]


@pytest.fixture(scope="session")
def lines() -> tuple[np.ndarray, np.ndarray]:
    """Two columns, and two numbers that depend on them, of other sizes."""
    X = np.random.default_rng(0).normal(size=(150, 2))
    return X, np.stack([1e4 + 300 * X[:, 0], 0.01 * np.abs(X[:, 1] + 0.8)], axis=1)


@pytest.fixture(scope="session")
def fitted(blobs: tuple) -> NeuralTreeClassifier:
    return classifier().fit(*blobs)


@pytest.fixture(scope="session")
def pair(blobs: tuple) -> NeuralTreeClassifier:
    return classifier(n_members=2).fit(*blobs)


def held_out(data: tuple | None) -> dict[str, Any]:
    """A validation set as ``fit`` takes it: samples, targets and, if there are any, weights."""
    return dict(zip(("X_val", "y_val", "sample_weight_val"), data or (), strict=False))


def weights_of(estimator: Any) -> torch.Tensor:
    trees = [member.tree for member in estimator.members_]
    return torch.cat([p.detach().flatten() for tree in trees for p in tree.parameters()])
