"""Shapes of model trees, numbered as a model numbers them, and neural trees of those shapes.

A shape is a nested tuple of its children: ``()`` is a leaf, ``((), ((), ()))`` a tree whose left
child is a leaf and whose right child splits.
"""

from __future__ import annotations

import random

import torch
from hypothesis import strategies as st
from torch import nn

from structnet.neural_tree.likelihood import Likelihood
from structnet.neural_tree.primitives import Primitives
from structnet.neural_tree.tree import NeuralTree

Shape = tuple

# Every node has one to three children; hypothesis shrinks a failing one to the smallest.
shapes = st.recursive(
    st.just(()), lambda below: st.lists(below, min_size=1, max_size=3).map(tuple), max_leaves=12
)


def binary_shapes(leaves: int) -> list[Shape]:
    """Every binary shape with so many leaves."""
    if leaves == 1:
        return [()]
    return [
        (left, right)
        for here in range(1, leaves)
        for left in binary_shapes(here)
        for right in binary_shapes(leaves - here)
    ]


SMALL = [shape for leaves in range(1, 6) for shape in binary_shapes(leaves)]
LEFT_LEAF = ((), ((), ()))


def with_chains(shape: Shape, rng: random.Random) -> Shape:
    """The same with unary chains put in at random."""
    shape = tuple(with_chains(child, rng) for child in shape)
    while rng.random() < 0.3:
        shape = (shape,)
    return shape


def numbered(shape: Shape, rng: random.Random) -> list[tuple[int, ...]]:
    """Each node's children, the nodes numbered at random, but parents before their children."""
    children, open_nodes = [()], [(0, shape)]
    while open_nodes:
        v, below = open_nodes.pop(rng.randrange(len(open_nodes)))
        children[v] = tuple(range(len(children), len(children) + len(below)))
        open_nodes += zip(children[v], below, strict=True)
        children += [()] * len(below)
    return children


def turned(children: list[tuple[int, ...]], rng: random.Random) -> list[tuple[int, ...]]:
    """The same nodes, but children no longer in the order of their numbers."""
    return [tuple(rng.sample(each, len(each))) for each in children]


def small_primitives(classes: int) -> Primitives:
    """Linear modules whose width differs between transformers, so that mix-ups do not run."""
    return Primitives(
        router=lambda shape: nn.Linear(*shape, 1),
        transformer=lambda shape: nn.Sequential(nn.Linear(shape[0], 9 - shape[0]), nn.Tanh()),
        solver=lambda shape: nn.Linear(*shape, classes),
    )


def grown(
    shape: Shape,
    rng: random.Random,
    primitives: Primitives,
    likelihood: Likelihood | None = None,
    in_shape: tuple[int, ...] = (3,),
) -> NeuralTree:
    """A neural tree of a binary shape, split and deepened in a random order, in float64."""
    tree, open_nodes = NeuralTree(primitives, in_shape, likelihood), [(0, shape)]
    while open_nodes:
        v, below = open_nodes.pop(rng.randrange(len(open_nodes)))
        while primitives.transformer is not None and rng.random() < 0.4:
            tree.deepen(v)
        if below:
            open_nodes += zip(tree.split(v), below, strict=True)
    return scaled(tree.double())


def scaled(tree: NeuralTree) -> NeuralTree:
    """Weights that make decisions and predictions differ between samples, drawn anew."""
    with torch.no_grad():
        for parameter in tree.parameters():
            parameter.normal_()
    return tree
