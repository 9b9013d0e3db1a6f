"""Aggregators of the user's own, as the cell of estimators, and what is said of wrong ones."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from structnet import TreeLSTMClassifier, TreeLSTMNodeClassifier, TreeLSTMRegressor
from structnet.datasets import listops
from structnet.tensor_tree import Aggregator, RecursiveNetwork, TreeLSTM, WeightedSum
from structnet.trees.forest import Forest
from structnet.trees.vocabulary import Vocabulary


class Mean(Aggregator):
    """The mean of the children's states, times a matrix for each type."""

    positional = False

    def __init__(self, *args: int, scale: float = 1.0, **sizes: int):
        super().__init__(*args, **sizes)
        c, self.scale = self.hidden_size, scale
        self.weight = nn.Parameter(torch.randn(self.num_types, c, self.gates * c) / c**0.5)

    def message_weight(self) -> None:
        return None

    def reduce(self, nodes, received, x):
        h = self.scale * nodes.split(received).mean(2)
        return nodes.product(h, self.weight).unflatten(-1, (self.gates, -1)).unbind(-2)


TREES = listops.generate(300, seed=3, max_depth=3)
VALUES = [listops.evaluate_expression(tree) for tree in TREES]
FEW = {"hidden_size": 8, "epochs": 2, "random_state": 0}


def aggregator_of(model) -> Aggregator:
    return next(part for part in model.model_.modules() if isinstance(part, Aggregator))


def test_an_estimator_takes_an_aggregator(tmp_path: Path):
    model = TreeLSTMClassifier(cell=Mean, **FEW).fit(TREES, VALUES)
    assert isinstance(aggregator_of(model), Mean)
    assert model.summary().startswith("Mean cell of hidden size 8, ")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(TREES), model.predict_proba(TREES))
    with pytest.raises(TypeError, match=r"'cell' parameter must be one of \['tucker', .* Got Mean"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_one_with_arguments_answers_all_questions_and_resumes(tmp_path: Path):
    cell = partial(Mean, scale=0.5)
    model = TreeLSTMRegressor(cell=cell, folder=tmp_path, **FEW).fit(TREES, VALUES)
    assert aggregator_of(model).scale == 0.5
    resumed = TreeLSTMRegressor(cell=cell, folder=tmp_path, **FEW).fit(TREES, VALUES)
    np.testing.assert_array_equal(resumed.predict(TREES), model.predict(TREES))
    labels = [[node.label == "MAX" for node in tree.preorder()] for tree in TREES]
    nodes = TreeLSTMNodeClassifier(cell=cell, **FEW).fit(TREES, labels)
    assert len(nodes.predict(TREES[:1])[0]) == TREES[0].size


@pytest.mark.parametrize("method", ["message_weight", "reduce"])
def test_a_method_that_lacks_is_named(method: str):
    cell = type("Half", (Mean,), {method: getattr(Aggregator, method)})
    with pytest.raises(NotImplementedError, match=f"Half has no method {method}; expected one"):
        TreeLSTMClassifier(cell=cell, **FEW).fit(TREES, VALUES)


def test_the_library_s_own_may_be_given_by_their_classes():
    by_name, by_class = (
        TreeLSTMRegressor(cell=cell, **FEW).fit(TREES, VALUES) for cell in ("sum", WeightedSum)
    )
    np.testing.assert_array_equal(by_name.predict(TREES), by_class.predict(TREES))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cell": "Tucker"}, r"'cell' parameter must be one of \['tucker'"),
        ({"cell": 3}, "'cell' parameter must be one of .* Got 3"),
        ({"cell": Mean, "rank": 3}, "'rank' parameter must be None, as the cell 'Mean' has no"),
        ({"cell": Mean, "words": True}, "'words' parameter .* for the cell 'Mean'"),
        ({"cell": Mean, "dropout": 0.5}, "'dropout' parameter must be 0 for the cell 'Mean'"),
        (
            {"cell": lambda *sizes, **more: nn.Linear(1, 1)},
            "must be a subclass of Aggregator, or a",
        ),
    ],
)
def test_what_is_no_cell_is_refused(given: dict, said: str):
    with pytest.raises(ValueError, match=said):
        TreeLSTMClassifier(**FEW | given).fit(TREES, VALUES)


class Joined(Mean):
    def reduce(self, nodes, received, x):
        return nodes.split(received).mean(2)


class Number(Mean):
    def reduce(self, nodes, received, x):
        return received.mean()


class TwiceTheGates(Mean):
    def reduce(self, nodes, received, x):
        return super().reduce(nodes, received, x) * 2


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        (Joined, r"one of shape \(\d+, \d+, 8\)"),
        (Number, r"one of shape \(\)"),
        (TwiceTheGates, r"\[\("),
    ],
)
@pytest.mark.parametrize(("encoder", "gates"), [(TreeLSTM, 3), (RecursiveNetwork, 1)])
def test_gates_of_another_shape_are_refused(wrong: Callable, got: str, encoder: type, gates: int):
    vocabulary = Vocabulary.from_trees(TREES)
    model = encoder(8, vocabulary.num_types, vocabulary.arity, torch.eye(10), wrong)
    said = rf"{wrong.__name__}\.reduce must give a sequence of {gates} tensors, .*; got {got}"
    with pytest.raises(ValueError, match=said):
        model(Forest.from_trees(TREES, vocabulary))


@pytest.mark.parametrize("encoder", [TreeLSTM, RecursiveNetwork])
@pytest.mark.parametrize(
    "given", [nn.Linear, lambda *sizes, **more: nn.Linear(1, 1), Mean(8, 2, 1)]
)
def test_an_encoder_says_what_an_aggregator_is(encoder: type, given: Callable):
    said = f"'aggregator' parameter of {encoder.__name__} must be a subclass of Aggregator, or a"
    with pytest.raises(ValueError, match=said):
        encoder(8, 1, 2, torch.eye(10), given)
