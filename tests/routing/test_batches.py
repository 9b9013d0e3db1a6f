"""A tree asked batch by batch says what it says of all samples at once."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from forests import exactly
from tree_shapes import LEFT_LEAF, grown, small_primitives

from structnet.neural_tree import NeuralTree
from structnet.routing import batches as batched
from structnet.routing.batches import answers, ask
from structnet.routing.visits import leaf_of, shares


@pytest.fixture
def tree() -> NeuralTree:
    return grown((LEFT_LEAF, LEFT_LEAF), random.Random(0), small_primitives(4))


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("size", [1, 7, 40, 100])
def test_batches_of_any_size(
    monkeypatch: pytest.MonkeyPatch, tree: NeuralTree, x: torch.Tensor, size: int
) -> None:
    known = {path: shares(tree, x, path) for path in ("greedy", "multi")}
    torch.testing.assert_close(ask(tree, x, tree.output, size), tree.output(x).detach())
    monkeypatch.setattr(batched, "BATCH", size)
    np.testing.assert_array_equal(leaf_of(tree, x), tree.apply_path(x))
    for path, expected in known.items():
        np.testing.assert_allclose(shares(tree, x, path), expected)


def test_only_the_tree_is_asked_without_gradients(tree: NeuralTree, x: torch.Tensor) -> None:
    modes, rows = [], []
    tree.train()
    for each, answer in answers(tree, x, lambda batch: modes.append(tree.training) or batch, 15):
        assert tree.training and torch.is_grad_enabled()  # between two batches, too
        torch.testing.assert_close(answer, x[each])
        rows += range(40)[each]
    assert modes == [False] * 3
    assert rows == list(range(40))


def test_there_must_be_batches(tree: NeuralTree, x: torch.Tensor) -> None:
    message = "The 'batch_size' parameter must be an int in the range [1, inf). Got 0 instead."
    with pytest.raises(ValueError, match=exactly(message)):
        ask(tree, x, tree.output, batch_size=0)
    with pytest.raises(ValueError, match="got 0 examples"):
        ask(tree, x[:0], tree.output)
