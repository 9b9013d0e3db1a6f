"""Softmax trees with full and with sparse weights, their hyperplanes drawn."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from contract import Case
from torch import nn

from structnet.routing import Samples
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


def softmax_batch(count: int) -> Samples:
    generator = torch.Generator().manual_seed(0)
    return Samples(torch.randn(count, 5, generator=generator), torch.arange(count) % 3)


def case(name: str, children: list[tuple[int, ...]], sparse: bool = False) -> Case:
    return Case(
        f"softmax tree, {name}",
        partial(softmax_tree, children, sparse),
        softmax_batch,
        3,
        lambda batch: [batch.x, batch.targets],
        lambda batch: Samples(batch.x.double(), batch.targets),
    )


CASES = [
    case("a leaf", [()]),
    case("branches", [(1, 2), (3, 4), (), (), ()]),
    case("sparse weights", [(1, 2), (), ()], sparse=True),
]
