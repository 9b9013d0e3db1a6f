"""The decisions on the paths of a batch's targets, with gradients written by hand.

A row is one decision: an example at a node of its target's code. Autograd would keep a copy of the
node's weights for each row; here the rows of a node are computed together, and gradients only for
nodes that occur.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from structnet.training.backward import by_hand
from structnet.trees import _kernels

FEW = 8_000  # multiplications for the rows of a node that cost less than a call for them


def path_log_prob(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    example: Tensor,
    node: Tensor,
    slot: Tensor,
    sparse: bool = False,
) -> tuple[Tensor, Tensor]:
    """The log-probability of each row's slot, and the probabilities of all slots.

    ``log softmax(W_n x_e + b_n)_j`` for the example e, the node n and the slot j of a row.

    Args:
        x: representations of the examples.
        weight, bias: weights and biases of the nodes.
        example, node, slot: numbers that say what each row decides.
        sparse: compute sparse gradients of the weights.

    Shapes:
        x ``[n, size]``; weight ``[nodes, arity, size]``; bias ``[nodes, arity]``; example, node,
        slot ``[rows]`` -> ``[rows]`` with gradients, ``[rows, arity]`` without.
    """
    return _PathLogProb.apply(x, weight, bias, example, node, slot, sparse)


class _PathLogProb(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, example: Tensor, node: Tensor,
        slot: Tensor, sparse: bool,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        order = node.argsort(stable=True)  # so that a node's rows are one slice
        met, sizes = node[order].unique_consecutive(return_counts=True)
        r, chosen, place = x[example[order]], slot[order, None], order.argsort()
        together = x.device.type == "cpu" and len(node) * weight.shape[1:].numel() > FEW * len(met)
        ctx.groups = (met.tolist(), sizes.tolist()) if together else None
        if together:
            nodes, lengths = ctx.groups
            parts = zip(nodes, r.split(lengths), strict=True)
            logits = torch.cat([part @ weight[v].T for v, part in parts])
        else:
            logits = (weight[node[order]] @ r.unsqueeze(-1)).squeeze(-1)
        log_p = (logits + bias[node[order]]).log_softmax(-1)
        ctx.save_for_backward(x, weight, example, node, order, r, chosen, log_p, met, sizes)
        ctx.sparse = sparse
        p = log_p.exp()[place]
        ctx.mark_non_differentiable(p)
        return log_p.gather(1, chosen).squeeze(1)[place], p

    @staticmethod
    @by_hand("TreeSoftmaxLoss", "the loss of its log_prob")
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, example, node, order, r, chosen, log_p, met, sizes = ctx.saved_tensors
        gradient = gradient[order, None]
        g = -log_p.exp() * gradient
        g.scatter_add_(1, chosen, gradient)  # d log p_j = 1[j] - p
        of_weight = x.new_zeros(len(met), *weight.shape[1:])
        place = torch.arange(len(met), device=x.device).repeat_interleave(sizes)
        if ctx.groups is None:
            back = (g.unsqueeze(1) @ weight[node[order]]).squeeze(1)
            add_rows(of_weight, place, g.unsqueeze(2) * r.unsqueeze(1))
        else:
            nodes, lengths = ctx.groups
            parts = list(zip(nodes, g.split(lengths), r.split(lengths), strict=True))
            back = torch.cat([part @ weight[v] for v, part, _ in parts])
            for number, (_, part, inputs) in enumerate(parts):
                torch.mm(part.T, inputs, out=of_weight[number])
        of_x = add_rows(torch.zeros_like(x), example[order], back)
        of_bias = add_rows(g.new_zeros(len(met), g.shape[1]), place, g)
        of_weight = _spread(of_weight, met, weight.shape, ctx.sparse)
        of_bias = _spread(of_bias, met, weight.shape[:2], False)
        wanted = zip((of_x, of_weight, of_bias), ctx.needs_input_grad, strict=False)
        return *(each if needs else None for each, needs in wanted), None, None, None, None


def _spread(rows: Tensor, places: Tensor, shape: torch.Size, sparse: bool) -> Tensor:
    """The gradients of all nodes, from those of some; 0 for the others."""
    if sparse:
        return torch.sparse_coo_tensor(
            places[None], rows, shape, is_coalesced=True, check_invariants=False
        )
    return rows.new_zeros(shape).index_copy_(0, places, rows)


def add_rows(table: Tensor, places: Tensor, rows: Tensor) -> Tensor:
    """Adds rows to those of a table at some places, in place, and returns the table.

    Shapes:
        table ``[n, ...]``; places ``[rows]``; rows ``[rows, ...]``, of the table's type.
    """
    if table.device.type != "cpu" or table.dtype not in (torch.float32, torch.float64):
        return table.index_add_(0, places, rows)
    width = table[:1].numel()
    flat = table.view(len(table), width)  # never a copy, to which rows would be added instead
    _kernels.add_rows(flat.numpy(), places.numpy(), rows.reshape(len(rows), width).numpy())
    return table
