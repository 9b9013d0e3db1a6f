"""Softmax trees with full and with sparse weights, their hyperplanes drawn."""

from __future__ import annotations

from functools import partial

import numpy as np
from contract import Case, samples_case
from torch import nn

from structnet.softmax_tree import SoftmaxTree
from structnet.softmax_tree.draft import Draft
from structnet.softmax_tree.nodes import Hyperplane, Leaf


def softmax_tree(children: list[tuple[int, ...]], sparse: bool, seed: int) -> nn.Module:
    """A tree with drawn weights whose leaves have all classes."""
    rng = np.random.default_rng(seed)
    columns = np.arange(5, dtype=np.int32) if sparse else None

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    nodes = [
        Hyperplane(draw(5), 0.0, columns)
        if below
        else Leaf(np.arange(3), draw(5, 3), draw(3), 3, columns)
        for below in children
    ]
    return SoftmaxTree.from_draft(Draft(children, nodes), 5, 3)


def case(name: str, children: list[tuple[int, ...]], sparse: bool = False) -> Case:
    return samples_case(f"softmax tree, {name}", partial(softmax_tree, children, sparse), 3, 5)


CASES = [
    case("a leaf", [()]),
    case("branches", [(1, 2), (3, 4), (), (), ()]),
    case("sparse weights", [(1, 2), (), ()], sparse=True),
]
