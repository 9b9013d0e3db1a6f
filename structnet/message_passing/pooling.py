"""What all nodes of a tree have together: sums, means and maxima of a row of numbers a node.

Subtrees that several trees share are computed once, so a pool cannot simply add up rows: it is
carried from the leaves to the roots like any other message.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from structnet.checks import check_one_of
from structnet.message_passing import _pooling_kernels as kernels
from structnet.message_passing.cell import Edges, Nodes, State
from structnet.message_passing.propagation import propagate
from structnet.message_passing.rows import with_own_rows
from structnet.message_passing.scheduling import Layout
from structnet.trees.forest import Forest

POOLS = ("sum", "mean", "max")


def pooled(forest: Forest, x: Tensor, how: str, backend: str = "levels") -> Tensor:
    """One row a tree, of the rows of all its nodes, each as often as it stands in the tree.

    Args:
        forest: the trees.
        x: a row a node of the forest.
        how: "sum", "mean" or "max".
        backend: that of :func:`structnet.message_passing.propagate`; on a CPU "levels" is compiled.

    Shapes:
        x ``[num_nodes, c]`` -> ``[len(forest), c]``.

    Raises:
        ValueError: an unknown pool or backend, or not one row a node.

    Example:
        >>> from structnet.trees.tree import Tree
        >>> from structnet.trees.vocabulary import Vocabulary
        >>> trees = [Tree("f", [Tree("x"), Tree("x")]), Tree("x")]
        >>> forest = Forest.from_trees(trees, Vocabulary.from_trees(trees))
        >>> forest.num_nodes  # x, f
        2
        >>> pooled(forest, torch.tensor([[1.0], [5.0]]), "sum").tolist()
        [[7.0], [1.0]]
    """
    check_one_of("how", how, POOLS, "pooled")
    check_one_of("backend", backend, ("levels", "dgl"), "pooled")
    if x.dim() != 2 or len(x) != forest.num_nodes:
        raise ValueError(
            f"x must have a row a node, [{forest.num_nodes}, c]; got shape {list(x.shape)}"
        )
    if how == "mean":
        sizes = torch.from_numpy(forest.sizes()).to(x)
        return pooled(forest, x, "sum", backend) / sizes.unsqueeze(1)
    if backend == "levels" and x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64):
        return (_Sum if how == "sum" else _Max).apply(forest, x)
    return propagate(with_own_rows(forest), _Pool(x, how), backend=backend)["pool"]


class _Pool:
    """The pool as messages: the plain form, on any device."""

    layout = Layout(1, 1, positional=False, pads=False)

    def __init__(self, x: Tensor, how: str):
        self.x, self.how = x, how
        self.sums = frozenset(["pool"] if how == "sum" else [])

    def leaf(self, nodes: Nodes) -> State:
        raise NotImplementedError  # every node has a type

    def bottom(self) -> State:
        return {"pool": self.x.new_zeros(1, self.x.shape[1])}

    def message(self, edges: Edges) -> State:
        return dict(edges.src)

    def reduce(self, nodes: Nodes) -> State:
        own, received = self.x.index_select(0, nodes.tokens), nodes.mailbox["pool"]
        if self.how == "sum":
            return {"pool": own + received}
        assert nodes.owner is not None  # as nothing pads
        index = nodes.owner.unsqueeze(1).expand_as(received)
        return {"pool": own.scatter_reduce(0, index, received, "amax")}


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, forest: Forest, x: Tensor) -> Tensor:
        ctx.forest = forest
        sums = x.detach().numpy().copy()
        kernels.sum_up(forest.offsets, forest.children, sums)
        return torch.from_numpy(sums[forest.roots])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        forest = ctx.forest
        found = gradient.new_zeros(forest.num_nodes, gradient.shape[1])
        found.index_add_(0, torch.from_numpy(forest.roots), gradient)
        kernels.sum_down(forest.offsets, forest.children, found.numpy())
        return None, found


class _Max(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, forest: Forest, x: Tensor) -> Tensor:
        most = x.detach().numpy().copy()
        where = np.empty(most.shape, np.int64)
        kernels.max_up(forest.offsets, forest.children, most, where)
        ctx.size, ctx.where = len(x), where[forest.roots]
        return torch.from_numpy(most[forest.roots])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        found = gradient.new_zeros(ctx.size, gradient.shape[1])
        kernels.max_down(ctx.where, gradient.contiguous().numpy(), found.numpy())
        return None, found
