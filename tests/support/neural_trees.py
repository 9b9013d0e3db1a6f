"""Neural trees of every likelihood, samples for them, and routers set by hand."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from tree_shapes import LEFT_LEAF, SMALL, grown, small_primitives

from structnet.neural_tree.likelihood import Categorical, GaussianMixture, SquaredError
from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples

LIKELIHOODS = {
    "categorical": (Categorical(), 4, None),
    "tempered": (Categorical(0.4, 0.7), 4, None),
    "squared error": (SquaredError(), 2, 2),
    "gaussian mixture": (GaussianMixture(), 4, 2),
}

ONE_LEAF = ("greedy", "stochastic", "most_likely", "least_likely")

every_likelihood = pytest.mark.parametrize("name", LIKELIHOODS)

every_small_shape = pytest.mark.parametrize("shape", SMALL, ids=str)


def tree_of(
    name: str = "categorical",
    shape: tuple = ((LEFT_LEAF, ()), LEFT_LEAF),
    seed: int = 0,
    transformers: bool = True,
) -> NeuralTree:
    likelihood, outputs, _ = LIKELIHOODS[name]
    primitives = small_primitives(outputs).without(transformers=not transformers)
    torch.manual_seed(seed)
    return grown(shape, random.Random(seed), primitives, likelihood)


def draw(name: str, n: int, seed: int = 1) -> Samples:
    generator = torch.Generator().manual_seed(seed)
    _, outputs, columns = LIKELIHOODS[name]
    x = torch.randn(n, 3, dtype=torch.float64, generator=generator)
    if columns is None:
        return Samples(x, torch.randint(outputs, (n,), generator=generator))
    return Samples(x, torch.randn(n, columns, dtype=torch.float64, generator=generator))


def close(ours: Tensor, theirs: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def routers(tree: NeuralTree) -> list[int]:
    return [v for v, each in enumerate(tree.topology.to_lists()) if each]


def set_logits(tree: NeuralTree, logit: Callable[[int], float]) -> NeuralTree:
    """Routers that give every sample the same logit."""
    with torch.no_grad():
        for v in routers(tree):
            tree.nodes[v].router.weight.zero_()
            tree.nodes[v].router.bias.fill_(logit(v))
    return tree
