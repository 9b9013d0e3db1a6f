"""Softmax trees with full and with sparse weights, their hyperplanes drawn."""

from __future__ import annotations

from functools import partial

import numpy as np
from contract import Case, samples_case
from torch import nn

from structnet.softmax_tree import SoftmaxTree
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane, Leaf


def softmax_tree(
    children: list[tuple[int, ...]], sparse: bool, classes: int, seed: int
) -> nn.Module:
    """A tree with drawn weights whose leaves have some or all of three classes."""
    rng = np.random.default_rng(seed)
    columns = np.arange(5, dtype=np.int32) if sparse else None

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    nodes = [
        Hyperplane(draw(5), 0.0, columns)
        if below
        else Leaf(
            np.arange(classes), draw(5, classes), draw(classes), 3, columns, 0.1 * (classes < 3)
        )
        for below in children
    ]
    return SoftmaxTree.from_draft(Draft(children, nodes, np.array([0.5, 0.3, 0.2])), 5, 3)


def case(
    name: str, children: list[tuple[int, ...]], sparse: bool = False, classes: int = 3
) -> Case:
    made = partial(softmax_tree, children, sparse, classes)
    return samples_case(f"softmax tree, {name}", made, 3, 5)


CASES = [
    case("a leaf", [()]),
    case("branches", [(1, 2), (3, 4), (), (), ()]),
    case("sparse weights", [(1, 2), (), ()], sparse=True),
    case("narrow leaves", [(1, 2), (), ()], classes=2),
]
