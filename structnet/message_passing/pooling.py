"""Pools rows of numbers over all nodes of each tree: sums, means, maxima and attention.

A subtree that several trees share has its rows only once, so a pool cannot just add up rows: like
other messages, it is carried from the leaves to the roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.checks import check_one_of
from structnet.message_passing import _pooling_kernels as kernels
from structnet.message_passing.cell import Edges, Nodes, State
from structnet.message_passing.gpu.triton import runs_triton
from structnet.message_passing.propagation import propagate
from structnet.message_passing.rows import with_own_rows
from structnet.message_passing.scheduling import Layout, check_forest
from structnet.training.backward import by_hand
from structnet.training.modules import not_compiled
from structnet.trees._kernels import add_rows
from structnet.trees.forest import Forest

POOLS = ("root", "sum", "mean", "max", "attention")


@not_compiled
def pooled(
    forest: Forest,
    x: Tensor,
    how: str | Sequence[str],
    backend: str = "levels",
    score: Tensor | None = None,
) -> Tensor:
    """Pools the rows of all nodes of each tree; a row counts as often as its node is in the tree.

    Args:
        forest: trees to pool over.
        x: row of each node of the forest.
        how: "root", for the row of the root; "sum", "mean" or "max"; "attention", for the mean with
            weights ``exp(x score)``; or several of these, whose results are side by side. The
            weights are relative to the highest of the batch, so a tree whose scores are all far
            below it loses its weights; states between -1 and 1 are safe.
        backend: backend of :func:`structnet.message_passing.propagate`; on a CPU, "levels" runs
            compiled loops.
        score: vector of the scores for "attention".

    Shapes:
        x ``[num_nodes, c]``, score ``[c]`` -> ``[len(forest), c]``, or ``[len(forest), k c]`` for k
        pools.

    Raises:
        TypeError: ``forest`` is not a Forest.
        ValueError: a pool or the backend is unknown, x has not one row for each node, the score for
            "attention" is missing or has another length, or a tree that shares nodes has more of
            them than a number of x's dtype can count.

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
    names = (how,) if isinstance(how, str) else tuple(how)
    if not names:
        raise ValueError(f"how must name at least one pool of {', '.join(POOLS)}; got none")
    for name in names:
        check_one_of("how", name, POOLS, "pooled")
    check_one_of("backend", backend, ("levels", "dgl"), "pooled")
    check_forest(forest)
    if x.dim() != 2 or len(x) != forest.num_nodes:
        raise ValueError(
            f"x must have a row for each node, [{forest.num_nodes}, c]; got shape {list(x.shape)}"
        )
    if "attention" in names and (score is None or score.shape != x.shape[1:]):
        got = None if score is None else f"shape {list(score.shape)}"
        raise ValueError(f"attention needs a score of shape [{x.shape[1]}]; got {got}")
    if backend == "levels" and x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64):
        return _Pools.apply(forest, names, x, score if score is None else score.to(x))
    if backend == "levels" and runs_triton(x):
        from structnet.message_passing.gpu import pools

        if pools.covers(forest):
            weight = None if score is None else _weights(x @ score.to(x))
            return pools.pooled_rows(forest, x, names, weight)
    return torch.cat([_plain(forest, x, name, backend, score) for name in names], -1)


def _weights(scores: Tensor) -> Tensor:
    """Weights ``exp(score)``, shifted by the highest score of the batch: one shift is enough for
    states between -1 and 1, whose scores are not far apart."""
    return (scores - scores.detach().max()).exp()


def _plain(forest: Forest, x: Tensor, how: str, backend: str, score: Tensor | None) -> Tensor:
    """One pool in plain torch operations, on any device."""
    if how == "root":
        return x.index_select(0, torch.from_numpy(forest.roots).to(x.device))
    if how in ("mean", "attention"):
        weight = x.new_ones(len(x)) if how == "mean" else _weights(x @ score.to(x))  # type: ignore[union-attr]  # checked
        weight = weight.unsqueeze(1)
        sums = _plain(forest, torch.cat([weight * x, weight], -1), "sum", backend, None)
        return sums[:, :-1] / sums[:, -1:].clamp_min(torch.finfo(x.dtype).tiny)
    return propagate(with_own_rows(forest), _Pool(x, how), backend=backend)["pool"]


class _Pool:
    """A sum or maximum as a cell, for any device."""

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
        x, received = self.x.index_select(0, nodes.tokens), nodes.mailbox["pool"]
        if self.how == "sum":
            return {"pool": x + received}
        assert nodes.owner is not None  # as nothing pads
        index = nodes.owner.unsqueeze(1).expand_as(received)
        return {"pool": x.scatter_reduce(0, index, received, "amax")}


class _Pools(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, forest: Forest, names: tuple[str, ...], x: Tensor, score: Tensor | None
    ) -> Tensor:
        X, tree = x.detach().contiguous().numpy(), (forest.offsets, forest.children, forest.roots)
        out, kept = [], []
        for name in names:
            rows, of_pool = np.empty((len(forest), X.shape[1]), X.dtype), None
            if name == "root":
                rows = X[forest.roots]
            elif name == "max":
                of_pool = kernels.max_up(*tree, X, rows)
            else:
                if name == "attention":
                    E = _weights(torch.mv(x.detach(), score.detach())).numpy()  # type: ignore[union-attr]  # checked
                else:
                    E = np.ones(len(X), X.dtype)
                total = kernels.sum_up(*tree, X, E, rows)[:, None]
                if name != "sum" and np.isinf(total).any():
                    raise ValueError(
                        f"tree {np.isinf(total).argmax()} has more nodes, shared ones counted as "
                        f"often as they occur, than {X.dtype} holds; expected fewer for a mean"
                    )
                total = np.maximum(total, np.finfo(X.dtype).tiny)
                total = np.ones_like(total) if name == "sum" else total
                rows /= total
                of_pool = (E, total)
            out.append(rows)
            kept.append(of_pool)
        ctx.forest, ctx.names, ctx.kept, ctx.out = forest, names, kept, out
        # Saved this way, x can be freed after the backward pass even if the loss is kept.
        ctx.save_for_backward(x, score)
        return torch.from_numpy(np.concatenate(out, 1))

    @staticmethod
    @by_hand("the levels backend", "backend='dgl'")
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        forest, (x, score) = ctx.forest, ctx.saved_tensors
        X, tree = x.detach().contiguous().numpy(), (forest.offsets, forest.children, forest.roots)
        DX, dw = np.zeros_like(X), None if score is None else np.zeros(X.shape[1], X.dtype)
        shape = (len(forest), len(ctx.names), X.shape[1])
        gradients = np.ascontiguousarray(gradient.numpy().reshape(shape).swapaxes(0, 1))
        for name, of_pool, out, d_out in zip(ctx.names, ctx.kept, ctx.out, gradients, strict=True):
            if name == "root":
                add_rows(DX, forest.roots, d_out)
            elif name == "max":
                kernels.max_down(of_pool, d_out, DX)
            else:
                E, total = of_pool
                d_out = d_out / total
                d_total = -np.einsum("rj,rj->r", d_out, out)  # gradient of the sum of the weights
                DS, DT = np.zeros_like(X), np.zeros_like(E)
                kernels.sum_down(*tree, d_out, d_total, DS, DT)
                if name == "attention":
                    w = score.detach().contiguous().numpy()
                    kernels.scores_backward(X, E, w, DS, DT, dw)
                DX += DS
        return None, None, torch.from_numpy(DX), None if dw is None else torch.from_numpy(dw)
