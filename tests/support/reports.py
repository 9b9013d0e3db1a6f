"""Neural trees to tell of: random ones, and some that all samples pass in the same way."""

from __future__ import annotations

import random

import torch
from torch import nn
from tree_shapes import LEFT_LEAF, grown, small_primitives

from structnet.neural_tree import presets
from structnet.neural_tree.tree import NeuralTree


def tree_of(shape: tuple = LEFT_LEAF, seed: int = 0, likelihood: object = None) -> NeuralTree:
    return grown(shape, random.Random(seed), small_primitives(4), likelihood)


def draw(n: int = 40) -> torch.Tensor:
    return torch.randn(n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def constant(tree: NeuralTree, logit: float) -> NeuralTree:
    with torch.no_grad():
        for parameter in tree.parameters():
            parameter.zero_()
        for node in tree.nodes:
            if node.router is not None:
                node.router.bias.fill_(logit)
    return tree


def deep(depth: int) -> NeuralTree:
    tree, leaf = NeuralTree(small_primitives(4).without(transformers=True), (3,)), 0
    for _ in range(depth):
        leaf = tree.split(leaf)[1]
    return constant(tree, -1.0)


def by_sign() -> tuple[NeuralTree, torch.Tensor]:
    """A tree that sends positive numbers to the left; five samples, two of them positive.

    At its leaves the number has no effect.
    """
    tree = NeuralTree(presets.mlp(3).without(transformers=True), (1,))
    tree.split(0)
    nn.init.ones_(tree.nodes[0].router.weight)
    nn.init.zeros_(tree.nodes[0].router.bias)
    for leaf in (1, 2):
        nn.init.zeros_(tree.nodes[leaf].solver.weight)
    return tree, torch.tensor([[1.0], [-1.0], [2.0], [-2.0], [-3.0]])
