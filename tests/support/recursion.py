"""Compares a model's states of forests with a recursion over single trees."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from random_trees import VOCABULARY, random_trees

from structnet.trees.forest import Forest
from structnet.trees.tree import Tree


def assert_follows(model: Any, state_of: Callable[[Tree], torch.Tensor], *about: Any) -> None:
    """Checks states and gradients of random trees on both backends.

    Args:
        model: model in double precision, for the vocabulary of random trees.
        state_of: function that computes the state of a root from the model's parameters.
        about: what :func:`random_trees` takes beside a source of numbers.
    """
    for seed in range(4):
        trees = random_trees(random.Random(seed), *about)
        forest = Forest.from_trees(trees, VOCABULARY)
        expected = torch.stack([state_of(tree) for tree in trees])
        weights = torch.randn(expected.shape, dtype=torch.float64)
        gradients = torch.autograd.grad((expected * weights).sum(), list(model.parameters()))
        for backend in ("levels", "dgl"):
            found = model(forest, backend=backend)
            torch.testing.assert_close(found, expected)
            again = torch.autograd.grad((found * weights).sum(), list(model.parameters()))
            torch.testing.assert_close(again, gradients)
