"""What is chosen from the data where nothing is said."""

from __future__ import annotations

import random

import pytest
from random_trees import random_dependency_tree, random_tree

from structnet import TreeLSTMClassifier
from structnet.tensor_tree.settings import CELLS, TreeLSTMSettings
from structnet.training.modules import count_parameters


@pytest.mark.parametrize("kind", ["classes", "labels", "nodes", "numbers"])
def test_numbers_alone_are_held_down_by_more_decay(kind: str) -> None:
    chosen = TreeLSTMSettings().resolved(1000, 500, kind)
    assert chosen.weight_decay == (0.3 if kind == "numbers" else 0.01)
    assert chosen.resolved(10, 5, "classes").weight_decay == chosen.weight_decay
    for told in (0.0, 0.1):
        settings = TreeLSTMSettings(weight_decay=told)
        assert settings.resolved(1000, 500, kind).weight_decay == told


@pytest.mark.parametrize("draw", [random_tree, random_dependency_tree])
@pytest.mark.parametrize("arity", [1, 2, 3])
def test_a_full_tensor_is_small_enough_unless_a_size_is_asked_for(arity: int, draw) -> None:
    rng = random.Random(arity)
    X, y = [draw(rng, arity=arity) for _ in range(40)], [0, 1] * 20
    model = TreeLSTMClassifier(cell="full", epochs=1, random_state=0).fit(X, y)
    tensor = model.model_.tree.readout.encoder.aggregator.tensor
    found = model.settings_.hidden_size
    assert tensor.numel() <= 2_000_000 and found <= 64
    if found < 64:  # one more would be too much
        modes, (types, *_) = tensor.dim() - 2, tensor.shape
        assert types * 3 * (found + 1) * (found + 2) ** modes > 2_000_000
    small = TreeLSTMClassifier(cell="full", hidden_size=5, epochs=1, random_state=0).fit(X, y)
    assert small.settings_.hidden_size == 5
    assert count_parameters(small.model_) < count_parameters(model.model_)


@pytest.mark.parametrize(
    "cell", [None, *(cell for cell in CELLS if cell not in ("full", "automaton"))]
)
def test_other_cells_have_states_of_one_size(cell: str | None) -> None:
    X = ["(f a (g b))", "(f (g a) b)"] * 10
    model = TreeLSTMClassifier(cell=cell, epochs=1, random_state=0).fit(X, [0, 1] * 10)
    assert model.settings_.hidden_size == 64
