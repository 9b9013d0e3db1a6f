"""Constants of modules that are made on "meta" and loaded, or that begin anew."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from random_trees import TOKENS, TYPES, VOCABULARY, random_trees
from torch import nn

from structnet.tensor_tree import (
    ChildSumTreeLSTM,
    RecursiveNetwork,
    TreeLSTM,
    TreePredictor,
    TreeReadout,
    WeightedSum,
)
from structnet.trees.examples import TreeExamples
from structnet.trees.forest import Forest

FOREST = Forest.from_trees(random_trees(random.Random(3)), VOCABULARY)
WEIGHT = torch.tensor([1.0, 0.25, 3.0])


def predictor() -> TreePredictor:
    encoder = ChildSumTreeLSTM(4, len(TYPES), len(TOKENS))
    return TreePredictor(TreeReadout(encoder, 3), class_weight=WEIGHT)


def learned(kind: type[nn.Module]) -> nn.Module:
    return kind(4, len(TYPES), 3, nn.Embedding(len(TOKENS), 4), WeightedSum)


MAKERS: dict[str, Callable[[], nn.Module]] = {
    "tree-lstm": lambda: learned(TreeLSTM),
    "recursive": lambda: learned(RecursiveNetwork),
    "child-sum": lambda: ChildSumTreeLSTM(4, len(TYPES), len(TOKENS), order=False),
    "predictor": predictor,
}
every_model = pytest.mark.parametrize("name", MAKERS)


def on_meta(make: Callable[[], nn.Module]) -> nn.Module:
    with torch.device("meta"):
        return make()


def emptied(make: Callable[[], nn.Module]) -> nn.Module:
    """A module with nothing but uninitialised numbers."""
    model = on_meta(make).to_empty(device="cpu")
    for each in (*model.parameters(), *model.buffers()):
        each.detach().fill_(7)
    return model


def assert_equal(found: nn.Module, wanted: nn.Module) -> None:
    torch.testing.assert_close(dict(found.named_buffers()), dict(wanted.named_buffers()))
    torch.testing.assert_close(found(FOREST), wanted(FOREST), rtol=0, atol=0)
    if isinstance(found, TreePredictor):
        batch = TreeExamples(FOREST, [i % 3 for i in range(len(FOREST))])
        torch.testing.assert_close(found.loss(batch), wanted.loss(batch), rtol=0, atol=0)


@every_model
def test_a_loaded_state_sets_the_constants(name: str):
    trained = MAKERS[name]()
    model = emptied(MAKERS[name])
    assert not model.load_state_dict(trained.state_dict(), strict=True).unexpected_keys
    assert_equal(model, trained)


@every_model
def test_a_state_that_is_assigned_sets_the_constants(name: str):
    trained = MAKERS[name]()
    model = on_meta(MAKERS[name])
    model.load_state_dict(trained.state_dict(), strict=True, assign=True)
    assert_equal(model, trained)


@pytest.mark.parametrize("name", ["tree-lstm", "recursive", "child-sum"])
def test_reset_parameters_sets_the_constants(name: str):
    model, wanted = emptied(MAKERS[name]), MAKERS[name]()
    model.reset_parameters()
    torch.testing.assert_close(dict(model.named_buffers()), dict(wanted.named_buffers()))
