"""Cells as a user would write them, and plain recursion to hold them to."""

from __future__ import annotations

import torch
from random_trees import VOCABULARY
from torch import Tensor, nn

from structnet.message_passing.cell import Edges, Nodes, Rows, State
from structnet.message_passing.scheduling import Layout
from structnet.trees.tree import Tree


class Sum(nn.Module):
    """A recursive network: ``h = tanh(W_t sum_j h_j)``, one W a type, one vector a token."""

    layout = Layout(num_types=2, arity=3, positional=False, pads=False)
    sums = frozenset(["h"])

    def __init__(self, size: int = 4):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(3, size))
        self.weight = nn.Parameter(torch.randn(2, size, size) * 0.5 * size**-0.5)

    def leaf(self, nodes: Nodes) -> State:
        return {"h": torch.tanh(self.embedding[nodes.tokens])}

    def bottom(self) -> State:
        return {"h": torch.zeros_like(self.embedding[:1])}

    def message(self, edges: Edges) -> State:
        return {"h": edges.src["h"]}

    def reduce(self, nodes: Nodes) -> State:
        return {"h": torch.tanh(times(nodes, nodes.mailbox["h"], self.weight))}

    def inner(self, t: int, below: list[Tensor]) -> Tensor:
        """The same for one node."""
        return torch.tanh(sum(below) @ self.weight[t])


class Gated(Sum):
    """``h = tanh(sum_j sigmoid(b_t + W_t h_j) * h_j)``, gated by the parent when it receives."""

    sums = frozenset()

    def __init__(self, size: int = 4):
        super().__init__(size)
        self.bias = nn.Parameter(torch.randn(2, size))

    def message(self, edges: Edges) -> State:
        return {"h": edges.src["h"], "gate": times(edges, edges.src["h"], self.weight)}

    def reduce(self, nodes: Nodes) -> State:
        length = nodes.split(nodes.tokens).shape[1]
        bias = nodes.join(nodes.select(self.bias).unsqueeze(1).expand(-1, length, -1))
        gate = torch.sigmoid(nodes.mailbox["gate"] + bias[nodes.owner])
        return {"h": torch.tanh(nodes.sum(gate * nodes.mailbox["h"]))}

    def inner(self, t: int, below: list[Tensor]) -> Tensor:
        gated = [torch.sigmoid(h @ self.weight[t] + self.bias[t]) * h for h in below]
        return torch.tanh(sum(gated))


class Concatenate(Sum):
    """``h = tanh(W_t [V_t0 h_0; V_t1 h_1; V_t2 h_2])`` with a learned state for a missing child."""

    layout = Layout(num_types=2, arity=3, positional=True, pads=True)
    sums = frozenset()

    def __init__(self, size: int = 4):
        super().__init__(size)
        self.missing = nn.Parameter(torch.randn(1, size))
        self.place = nn.Parameter(torch.randn(2 * 3, size, size) * size**-0.5)
        self.weight = nn.Parameter(torch.randn(2, 3 * size, size) * size**-0.5)

    def bottom(self) -> State:
        return {"h": self.missing}

    def message(self, edges: Edges) -> State:
        return {"h": times(edges, edges.src["h"], self.place)}

    def reduce(self, nodes: Nodes) -> State:
        return {"h": torch.tanh(times(nodes, nodes.mailbox["h"].flatten(1), self.weight))}

    def inner(self, t: int, below: list[Tensor]) -> Tensor:
        places = below + [self.missing[0]] * (3 - len(below))
        sent = [h @ self.place[3 * t + j] for j, h in enumerate(places)]
        return torch.tanh(torch.cat(sent) @ self.weight[t])


class Mean(Sum):
    """``h = tanh(W_t mean_j h_j)``."""

    sums = frozenset(["h", "one"])

    def message(self, edges: Edges) -> State:
        h = edges.src["h"]
        return {"h": h, "one": h.new_ones(len(h), 1)}

    def reduce(self, nodes: Nodes) -> State:
        mean = nodes.mailbox["h"] / nodes.mailbox["one"]
        return {"h": torch.tanh(times(nodes, mean, self.weight))}


class Counter:
    """Nodes, leaves and height of every tree; a plain object without parameters."""

    layout = Layout(num_types=2, arity=3, positional=False, pads=True)
    sums = frozenset(["size", "leaves"])

    def __init__(self, dtype: torch.dtype, shape: tuple[int, ...] = (1,)):
        self.dtype, self.shape = dtype, shape

    def leaf(self, nodes: Nodes) -> State:
        one = torch.ones(len(nodes.tokens), *self.shape, dtype=self.dtype)
        return {"size": one, "leaves": one, "depth": one - one}

    def bottom(self) -> State:
        zero = torch.zeros(1, *self.shape, dtype=self.dtype)
        return {"size": zero, "leaves": zero, "depth": zero - 1}

    def message(self, edges: Edges) -> State:
        return dict(edges.src)

    def reduce(self, nodes: Nodes) -> State:
        return {
            "size": nodes.mailbox["size"] + 1,
            "leaves": nodes.mailbox["leaves"],
            "depth": nodes.mailbox["depth"].amax(1) + 1,
        }


def times(rows: Rows, x: Tensor, weight: Tensor) -> Tensor:
    """Each row times its own key's matrix."""
    return rows.join(rows.product(rows.split(x), weight))


def by_recursion(cell: Sum, tree: Tree) -> Tensor:
    """h of the root, one node at a time."""
    t, token = VOCABULARY.encode(tree)
    if t < 0:
        return torch.tanh(cell.embedding[token])
    return cell.inner(t, [by_recursion(cell, child) for child in tree.children])
