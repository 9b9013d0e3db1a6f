"""Modules of the user's own, as they are written for anything else."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from small_estimators import SMALL
from torch import nn

from structnet.datasets import digits
from structnet.neural_tree import NeuralTreeClassifier, NeuralTreeRegressor, Primitives


class Block(nn.Module):
    def __init__(self, shape: tuple[int, ...], channels: int = 8):
        super().__init__()
        self.convolution = nn.Conv2d(shape[0], channels, 3, padding=1)
        self.rest = nn.Sequential(
            nn.BatchNorm2d(channels), nn.ReLU(inplace=True), nn.Dropout(0.1), nn.MaxPool2d(2)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rest(self.convolution(x))


class Head(nn.Module):
    def __init__(self, shape: tuple[int, ...], outputs: int):
        super().__init__()
        self.linear = nn.Linear(shape[0], outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x.mean(dim=(2, 3)))


def cnn(outputs: int) -> Primitives:
    return Primitives(lambda shape: Head(shape, 1), Block, lambda shape: Head(shape, outputs))


def lazy(outputs: int) -> Primitives:
    """Modules that find out what they meet for themselves."""
    return Primitives(
        router=lambda shape: nn.Sequential(nn.Flatten(), nn.LazyLinear(1)),
        transformer=lambda shape: nn.Sequential(nn.LazyConv2d(8, 3), nn.LazyBatchNorm2d()),
        solver=lambda shape: nn.Sequential(nn.Flatten(), nn.LazyLinear(outputs)),
    )


@pytest.fixture(scope="module")
def images() -> tuple[np.ndarray, np.ndarray]:
    data = digits.load()
    return data.x_train[:400], data.y_train[:400]


ANYTHING = {**SMALL, "min_gain": -1e9, "gain_errors": 0.0, "prune": None, "max_transformers": 5}


@pytest.mark.parametrize("primitives", [cnn, lazy, cnn(10)])
def test_a_network_of_ones_own_fits(primitives: object, images: tuple) -> None:
    X, y = images
    model = NeuralTreeClassifier(primitives, **ANYTHING).fit(X, y)
    tried = {kind for each in model.members_[0].decisions for kind in each.candidates}
    assert tried == {"split", "deepen"} and model.score(X, y) > 0.5


def test_functions_within_a_function_are_no_hindrance_to_pickle(images: tuple) -> None:
    model = NeuralTreeClassifier(cnn, **SMALL, max_depth=0).fit(*images)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(images[0]), model.predict_proba(images[0]))
    assert model.tree_.primitives is not None
    assert len(again.tree_.split(0)) == 2  # it can go on growing


def test_of_numbers_too(images: tuple) -> None:
    X, y = images
    # At the rate of the others, so few epochs end anywhere: 0.6 to -4 by seed and processor.
    model = NeuralTreeRegressor(cnn, **ANYTHING | {"learning_rate": 0.01})
    assert model.fit(X, y).score(X, y) > 0.2


@pytest.mark.parametrize("name", ["router", "transformer", "solver"])
def test_modules_themselves_are_refused(name: str) -> None:
    functions = {"router": None, "transformer": None, "solver": Block, name: nn.Linear(2, 1)}
    said = rf"The '{name}' parameter of Primitives must be a function shape -> .* Got Linear"
    with pytest.raises(TypeError, match=said):
        Primitives(**functions)


def test_a_network_is_no_choice_of_primitives(images: tuple) -> None:
    with pytest.raises(TypeError, match=r"num_outputs -> Primitives\. Got Linear"):
        NeuralTreeClassifier(nn.Linear(2, 1)).fit(*images)
