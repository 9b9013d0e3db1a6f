"""What estimators of neural trees refuse, and say of it."""

from __future__ import annotations

import copy

import pytest
from small_estimators import classifier, regressor
from torch import nn

from structnet.neural_tree import presets
from structnet.neural_tree.estimator import NeuralTreeClassifier


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epochs": 0}, r"'epochs' .* int in the range \[1, inf\)\. Got 0"),
        ({"max_leaves": 2.5}, r"'max_leaves' .* \[1, inf\) or None\. Got 2.5"),
        ({"n_members": True}, r"'n_members' .* Got True"),
        ({"learning_rate": -1}, r"'learning_rate' .* \(0, inf\)\. Got -1"),
        ({"validation_fraction": 0}, r"'validation_fraction' .* \(0, 1\)\. Got 0"),
        ({"prune": 2}, r"'prune' .* \[0, 1\] or None\. Got 2"),
        ({"min_gain": float("nan")}, r"'min_gain' .* Got nan"),
        ({"loss": "squared_error"}, r"'loss' .* \['log_loss'\]\. Got 'squared_error'"),
        ({"path": "up"}, r"'path' .* one of \['multi', .* Got 'up'"),
        ({"primitives": "vgg"}, r"'primitives' .* one of \['table', .* Got 'vgg'"),
        ({"primitives": presets.mlp(4)}, "gives 4 outputs; expected 3"),
        ({"device": "abacus"}, r"'device' .* Got 'abacus'"),
        ({"routers": "no"}, r"'routers' .* True or False\. Got 'no'"),
        ({"standardize": 1}, r"'standardize' .* True or False\. Got 1 "),
        ({"routers": False, "transformers": False}, "together leave nothing to grow"),
        ({"folder": "runs", "random_state": None}, r"'random_state' .* an int .* Got None"),
    ],
)
def test_bad_parameters(parameters: dict, message: str, blobs: tuple) -> None:
    with pytest.raises(ValueError, match=message):
        classifier().set_params(**parameters).fit(*blobs)


def test_a_device_that_is_not_here(fitted: NeuralTreeClassifier, blobs: tuple) -> None:
    model = copy.copy(fitted).set_params(device="abacus")
    for ask in (model.predict, model.apply):
        with pytest.raises(ValueError, match=r"^The 'device' parameter .* Got 'abacus' \(.*\)\.$"):
            ask(blobs[0])


def test_bad_primitives_and_losses(blobs: tuple, lines: tuple) -> None:
    for wrong in (3, lambda outputs: nn.Linear(1, outputs)):
        with pytest.raises(TypeError, match=r"'primitives' .* Got (int|Linear)"):
            classifier().set_params(primitives=wrong).fit(*blobs)
    with pytest.raises(ValueError, match=r"'loss' .* \['squared_error', 'gaussian'\]. Got 'l1'"):
        regressor(loss="l1").fit(*lines)
