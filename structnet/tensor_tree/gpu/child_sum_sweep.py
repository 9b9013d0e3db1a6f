"""The sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM` on a GPU.

Each direction is one call, with its matrix products; nodes of one height are a phase of it. Nothing
waits for the GPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from structnet.message_passing.gpu.rows import ROWS, grid
from structnet.message_passing.transfer import moved
from structnet.tensor_tree.gpu.kernels import child_sum as kernels
from structnet.tensor_tree.gpu.tasks import counters, make_tasks, tiles
from structnet.training.backward import by_hand
from structnet.trees._kernels import grouped
from structnet.trees.end_to_end import offsets_of
from structnet.trees.forest import Forest

EDGES = 512  # summed by one program for the gradients of places


class Plan(NamedTuple):
    """A forest in the form that the kernels need, on its device.

    Attributes:
        up, down: tasks in both directions; see :func:`.tasks.make_tasks`.
        leaves: number of leaves, which come first.
        offsets: first edge of each node's children, and the end.
        back_offsets: first entry of each node in ``back_edges``, and the end.
        children, parents, places: ends of each edge, and the place of the child.
        back_edges: edges in the order of their children.

    Shapes:
        offsets, back_offsets ``[num_nodes + 1]``; the other arrays ``[num_edges]``; int32.
    """

    up: Tensor
    down: Tensor
    leaves: int
    offsets: Tensor
    back_offsets: Tensor
    children: Tensor
    parents: Tensor
    places: Tensor
    back_edges: Tensor


def make_plan(forest: Forest, places: int, device: torch.device) -> Plan:
    """Plans a sweep.

    Args:
        forest: the trees.
        places: number of places; children in later ones share the last.
        device: device of the sweep.
    """
    starts = offsets_of(np.bincount(forest.height))
    levels = np.arange(len(starts))
    up, down = make_tasks((starts, (levels[:-1] > 0).astype(np.int64), levels))
    parents = np.repeat(np.arange(forest.num_nodes), np.diff(forest.offsets))
    back_edges, back_offsets = grouped(forest.children, forest.num_nodes)
    arrays = (
        up.ravel(), down.ravel(), forest.offsets, back_offsets, forest.children, parents,
        np.minimum(forest.pos, places - 1), back_edges,
    )  # fmt: skip
    there = moved(device, *(x.astype(np.int32) for x in arrays))
    return Plan(
        there[0].view(up.shape), there[1].view(down.shape), int(starts[1]),
        *there[2:],
    )  # fmt: skip


def sweep(forest: Forest, y: Tensor, p: Tensor, *weights: Tensor) -> Tensor:
    """The hidden states of all nodes, ``[num_nodes, c]``.

    Args:
        forest: the trees.
        y: contributions of the nodes' labels to their gates i, o, u, concatenated.
        p: contributions of nodes with children to the forget gates of these children.
        weights: U, U_f, and the gates g and the biases of places.

    Shapes:
        y ``[num_nodes, 3 c]``; p ``[nodes with children, c]``; U ``[c, 3 c]``; U_f ``[c, c]``; g
        and its biases ``[places, c]``.
    """
    return _Sweep.apply(make_plan(forest, len(weights[2]), y.device), y, p, *weights)


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, plan: Plan, y: Tensor, p: Tensor, U: Tensor, V: Tensor, g: Tensor, s: Tensor
    ) -> Tensor:
        p, U, V, g, s = (x.contiguous() for x in (p, U, V, g, s))
        n, leaves, Y = len(U), plan.leaves, y.clone(memory_format=torch.contiguous_format)
        H, C, Q = (Y.new_empty(len(Y), n) for _ in range(3))
        A, K = (Y.new_empty(len(Y) - leaves, n) for _ in range(2))
        with torch.cuda.device_of(Y):
            kernels.up[(len(plan.up),)](
                plan.up, counters(plan.up), plan.offsets, plan.children, plan.places, U, V,
                g, s, p, Y, H, C, Q, A, K, leaves, n=n, **tiles(n),
            )  # fmt: skip
        ctx.plan = plan
        ctx.save_for_backward(p, U, V, g, Y, A, H, C, Q)
        return H

    @staticmethod
    @by_hand("the levels backend", "backend='dgl'")
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        plan, (p, U, V, g, Y, A, H, C, Q) = ctx.plan, ctx.saved_tensors
        n, leaves, places = len(U), plan.leaves, len(g)
        dH = gradient.clone(memory_format=torch.contiguous_format)
        dY, dA, dC, dQ, dp = map(torch.empty_like, (Y, A, C, Q, p))
        with torch.cuda.device_of(Y):
            kernels.down[(len(plan.down),)](
                plan.down, counters(plan.down), plan.back_offsets, plan.back_edges,
                plan.parents, plan.places, U, V, g, p, Y, C, Q, dA, dC, dQ, dH, dY, leaves, n=n,
                **tiles(n),
            )  # fmt: skip
            edges = len(plan.children)
            runs = -(-edges // EDGES)
            dg, ds = (Y.new_zeros(runs, places, n) for _ in range(2))
            if edges:
                programs, width = grid(len(A), n)
                shape = {"ROWS": ROWS, "WIDTH": width}
                kernels.forget_backward[programs](
                    plan.offsets, plan.children, p, C, Q, dC, dp, leaves, n, **shape
                )
                kernels.places_backward[(runs, places, programs[1])](
                    plan.children, plan.parents, plan.places, H, dA, dg, ds, edges, leaves, n,
                    places, EDGES=EDGES, **shape,
                )  # fmt: skip
        dU, dV = A.T @ dY[leaves:], H.T @ dQ
        return None, dY, dp, dU, dV, dg.sum(0), ds.sum(0)


def covers(forest: Forest, *tensors: Tensor) -> bool:
    """Whether :func:`sweep` takes these tensors, ``[...]`` each, provided that Triton works."""
    first = tensors[0]
    return not torch.is_autocast_enabled(forest.device.type) and all(
        x.dtype == first.dtype and x.device == first.device for x in tensors
    )
