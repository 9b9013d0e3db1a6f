"""What the tests of aggregators share: random ones, and one aggregation on its own."""

from __future__ import annotations

import string

import pytest
import torch
from configurations import AGGREGATORS
from torch import Tensor

from structnet.message_passing.cell import Edges, Nodes
from structnet.message_passing.scheduling import Stack
from structnet.tensor_tree import Aggregator

every_aggregator = pytest.mark.parametrize("name", AGGREGATORS)
with_and_without_input = pytest.mark.parametrize("input_size", [0, 2])


def made(name: str, input_size: int = 0, c: int = 3, arity: int = 3, types: int = 2) -> Aggregator:
    """An aggregator whose parameters are all random, biases too."""
    aggregator = AGGREGATORS[name](c, arity, types, gates=2, input_size=input_size).double()
    for parameter in aggregator.parameters():
        parameter.data.normal_()
    return aggregator


def data(aggregator: Aggregator, n: int = 5) -> tuple[Tensor, Tensor | None]:
    """States of all children, ``[n, L, c]``, and inputs, ``[n, input_size]``."""
    h = torch.randn(n, aggregator.arity, aggregator.hidden_size, dtype=torch.float64)
    size = aggregator.input_size
    return h, torch.randn(n, size, dtype=torch.float64) if size else None


def one_run(length: int, key: int) -> Stack:
    return Stack(1, length, torch.tensor([key]), 0)


def aggregated(aggregator: Aggregator, t: int, h: Tensor, x: Tensor | None) -> Tensor:
    """What nodes of type t get from message and reduce, ``[n, G, c]``."""
    n = len(h)
    received = []
    for j in range(aggregator.arity):
        key = t * aggregator.arity + j if aggregator.positional else t
        edges = Edges(one_run(n, key), {})
        weight = aggregator.message_weight()
        z = edges.split(h[:, j])
        z = z if weight is None else edges.product(z, weight)
        received.append(edges.join(aggregator.message(edges, z)))
    mailbox = torch.stack(received, 1)
    mailbox = mailbox.sum(1) if aggregator.summed else mailbox
    nodes = Nodes(one_run(n, t), torch.full((n,), -1), {})
    return torch.stack([nodes.join(y) for y in aggregator.reduce(nodes, mailbox, x)], 1)


def contracted(aggregator: Aggregator, t: int, h: Tensor, x: Tensor | None) -> Tensor:
    """The same by one einsum with the dense tensor."""
    modes = ([] if x is None else [x]) + list(h.unbind(1))
    modes = [torch.cat([m, m.new_ones(len(m), 1)], 1) for m in modes]
    letters = string.ascii_letters[: len(modes)]
    terms = ",".join("N" + letter for letter in letters)
    return torch.einsum(f"{terms},G{letters}K->NGK", *modes, aggregator.to_full()[t])
