"""Adaptive neural trees in slow recursive Python: one sample and one node at a time.

Nothing here takes a logarithm before the end, knows of batches, or shares a computation between
leaves; only the modules are the library's.

Tanno et al., ICML 2019
=================================================  =====================================
Eq. (1), ``p(y|x) = sum_l pi_l(x) p_l(y|x)``       :func:`loss`, :func:`mixture`
Eq. (2), products of router outputs on the path    :func:`leaves`
its single path, the likelier side of each router  :func:`greedy`
=================================================  =====================================
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from structnet.neural_tree.likelihood import Categorical, GaussianMixture, SquaredError
from structnet.neural_tree.tree import NeuralTree


class Leaf(NamedTuple):
    """A leaf as one sample sees it: its node, ``pi_l(x)``, and what its solver gives."""

    node: int
    pi: Tensor
    output: Tensor


def leaves(tree: NeuralTree, x: Tensor, node: int = 0, pi: float = 1.0) -> list[Leaf]:
    """All leaves at or below a node, from left to right; x arrives there with probability pi."""
    here = tree.nodes[node]
    for transformer in here.transformers:
        x = transformer(x[None])[0]
    if not tree.topology.children_of(node):
        return [Leaf(node, torch.as_tensor(pi, dtype=x.dtype), here.solver(x[None])[0])]
    p = sigmoid(here.router(x[None]).sum())
    left, right = tree.topology.children_of(node)
    return leaves(tree, x, left, pi * p) + leaves(tree, x, right, pi * (1 - p))


def sigmoid(z: Tensor) -> Tensor:
    return 1 / (1 + (-z).exp())


def density(tree: NeuralTree, output: Tensor, y: Tensor) -> Tensor:
    """``p_l(y|x)``."""
    if isinstance(tree.likelihood, Categorical):
        return softmax(output)[y]
    columns = len(y)
    p = 1.0
    for c in range(columns):
        mean, sd = output[c], output[columns + c].exp()
        p = p * (-((y[c] - mean) ** 2) / (2 * sd**2)).exp() / (sd * math.sqrt(2 * math.pi))
    return p


def softmax(z: Tensor) -> Tensor:
    return z.exp() / z.exp().sum()


def prediction(tree: NeuralTree, output: Tensor) -> Tensor:
    """What one leaf predicts: the probabilities of the classes, or the means."""
    if isinstance(tree.likelihood, Categorical):
        return softmax(output)
    return output[: len(output) // 2] if isinstance(tree.likelihood, GaussianMixture) else output


def mixture(tree: NeuralTree, x: Tensor) -> Tensor:
    """What all leaves predict together."""
    found = leaves(tree, x)
    mixed = sum(leaf.pi * prediction(tree, leaf.output) for leaf in found)
    return tempered(tree, mixed, len(found))


def tempered(tree: NeuralTree, mixed: Tensor, of: int = 1) -> Tensor:
    """Probabilities by so many leaves, at their temperature; or numbers as they are."""
    temperature = tree.temperatures[of == 1]
    if temperature == 1:
        return mixed
    powers = mixed ** (1 / temperature)
    return powers / powers.sum()


def loss(tree: NeuralTree, x: Tensor, y: Tensor) -> Tensor:
    """Of one sample: ``-log p(y|x)``, or the mean squared error of the mixture's mean."""
    if isinstance(tree.likelihood, SquaredError):
        return ((mixture(tree, x) - y) ** 2).mean()
    if tree.temperatures != (1, 1):
        return -mixture(tree, x)[y].log()
    return -sum(leaf.pi * density(tree, leaf.output, y) for leaf in leaves(tree, x)).log()


def responsibilities(tree: NeuralTree, x: Tensor, y: Tensor) -> dict[int, Tensor]:
    """``p(l|x, y) = pi_l p_l(y|x) / p(y|x)`` of every leaf, by its node."""
    joint = {leaf.node: leaf.pi * density(tree, leaf.output, y) for leaf in leaves(tree, x)}
    return {node: each / sum(joint.values()) for node, each in joint.items()}


def greedy(tree: NeuralTree, x: Tensor, node: int = 0) -> list[int]:
    """The nodes that x passes when it takes the likelier side of each router, the left at 0.5."""
    here = tree.nodes[node]
    for transformer in here.transformers:
        x = transformer(x[None])[0]
    if not tree.topology.children_of(node):
        return [node]
    left, right = tree.topology.children_of(node)
    goes_left = sigmoid(here.router(x[None]).sum()) >= 0.5
    return [node, *greedy(tree, x, left if goes_left else right)]
