"""``torch.compile`` leaves the sweeps of models as they are; ``torch.func`` cannot follow them."""

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
    "nodes": lambda: NodePredictor(child_sum(), 3, top_down=True),
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


class OwnCell(Sum):
    """A user's module that calls propagate."""

    def forward(self, forest: Forest) -> torch.Tensor:
        return propagate(forest, self)["h"]


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacrev, torch.func.vmap])
@pytest.mark.parametrize("name", [*MAKERS, "own"])
def test_transforms_are_refused(name: str, transform: Callable) -> None:
    model = (MAKERS | {"own": OwnCell})[name]()

    def total(weights: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.func.functional_call(model, weights, (FORESTS[0],)).sum()

    weights = {key: weight.detach() for key, weight in model.named_parameters()}
    total(weights)
    if transform is torch.func.vmap:
        weights = {key: weight[None] for key, weight in weights.items()}
    with pytest.raises(RuntimeError, match=r"computes its own gradients, which .* cannot follow"):
        transform(total)(weights)
