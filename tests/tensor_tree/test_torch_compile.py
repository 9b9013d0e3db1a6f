"""``torch.compile`` of models of trees: the sweeps are left as they are, with equal results."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
import torch
from configurations import gradients
from random_trees import TOKENS, TYPES, VOCABULARY, random_trees
from torch import nn
from user_cells import Sum

from structnet.message_passing.propagation import propagate
from structnet.tensor_tree import (
    ChildSumTreeLSTM,
    NodePredictor,
    RecursiveNetwork,
    TreeClassifier,
    TreeLSTM,
    TreePredictor,
    TreeReadout,
)
from structnet.trees.forest import Forest

# torch's own, whose tracer asks each tensor for its gradient
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")

FORESTS = [Forest.from_trees(random_trees(random.Random(seed)), VOCABULARY) for seed in (3, 4)]


def child_sum() -> ChildSumTreeLSTM:
    return ChildSumTreeLSTM(4, len(TYPES), len(TOKENS))


MAKERS: dict[str, Callable[[], nn.Module]] = {
    "tree-lstm": lambda: TreeClassifier(TreeLSTM(4, len(TYPES), 3, torch.eye(3)), 3),
    "recursive": lambda: TreeClassifier(RecursiveNetwork(4, len(TYPES), 3, torch.eye(3)), 3),
    "child-sum": lambda: TreePredictor(TreeReadout(child_sum(), 3)),
    "nodes": lambda: NodePredictor(child_sum(), 3, context=True),
}


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("backend", ["levels", "dgl"])
@pytest.mark.parametrize("name", MAKERS)
def test_compiled_models(name: str, backend: str):
    model = MAKERS[name]().double()
    compiled = torch.compile(model, backend="eager")
    for forest in FORESTS:
        found, wanted = compiled(forest, backend=backend), model(forest, backend=backend)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(
            gradients(found.square().sum(), model), gradients(wanted.square().sum(), model)
        )


def test_a_function_around_a_cell_of_ones_own():
    cell = Sum().double()
    run = torch.compile(lambda forest: 2 * propagate(forest, cell)["h"], backend="eager")
    for forest in FORESTS:
        torch.testing.assert_close(run(forest), 2 * propagate(forest, cell)["h"])
