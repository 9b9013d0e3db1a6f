"""Neural trees of several shapes, for vectors and for images."""

from __future__ import annotations

from functools import partial

import torch
from contract import Case, samples_case
from torch import nn

from structnet.neural_tree import NeuralTree, Primitives, presets


def neural_tree(primitives: Primitives, shape: tuple[int, ...], grown: str, seed: int) -> nn.Module:
    """A root, and what has been done to its newest leaf: "s" splits it, "d" deepens it."""
    torch.manual_seed(seed)
    tree, leaf = NeuralTree(primitives, shape), 0
    for step in grown:
        if step == "s":
            leaf = tree.split(leaf)[1]
        else:
            tree.deepen(leaf)
    return tree


def neural(name: str, grown: str, primitives: Primitives, shape: tuple[int, ...] = (6,)) -> Case:
    return samples_case(name, partial(neural_tree, primitives, shape, grown), 3, *shape)


CASES = [
    neural("neural tree, a root", "", presets.mlp(3, width=5)),
    neural("neural tree, branches", "sdsdd", presets.mlp(3, width=5, router_width=4)),
    neural("neural tree, no transformers", "sss", presets.mlp(3).without(transformers=True)),
    neural("neural tree, a chain", "ddd", presets.mlp(3, width=5).without(routers=True)),
    neural("neural tree, images", "sdsd", presets.conv(3, width=4, kernel=3), (2, 12, 12)),
]
