"""Label trees: on rows, on rows through vectors of their columns, deep and flat."""

from __future__ import annotations

from functools import partial

import torch
from contract import Case, samples_case
from torch import nn

from structnet.label_tree import LabelTree, random_tree

CLASSES = 9


def label_tree(arity: int, size: int | None, seed: int) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    model = LabelTree(6, CLASSES, size, tree=random_tree(CLASSES, arity), seed=seed)
    with torch.no_grad():
        model.softmax.weight.normal_(0, 0.5, generator=generator)
    return model


def case(name: str, arity: int, size: int | None = None) -> Case:
    return samples_case(name, partial(label_tree, arity, size), CLASSES, 6)


CASES = [
    case("label tree, two children", 2),
    case("label tree, empty slots", 4),
    case("label tree, one node", 9),
    case("label tree, vectors", 3, 4),
]
