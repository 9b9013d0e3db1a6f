"""The sweep of a :class:`~structnet.tensor_tree.ChildSumTreeLSTM` on a CPU, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from structnet.tensor_tree.compiled.kernels import child_sum as kernels
from structnet.tensor_tree.compiled.one_thread import ONE_THREAD
from structnet.trees.forest import Forest


def covers(forest: Forest, *tensors: Tensor) -> bool:
    """Whether :func:`sweep` can compute with these tensors."""
    return (
        forest.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
        and {x.device.type for x in tensors} == {"cpu"}
        and {x.dtype for x in tensors} in ({torch.float32}, {torch.float64})
    )


def sweep(forest: Forest, y: Tensor, p: Tensor, *parameters: Tensor) -> Tensor:
    """The hidden states of all nodes.

    Args:
        forest: the trees, their places not above those of the parameters.
        y: the gates i, o, u as far as the nodes' own labels give them.
        p: part of the children's forget gates that inner nodes' own labels give.
        parameters: U, V, g and s, which the kernels' header explains.

    Shapes:
        y ``[num_nodes, 3 c]``; p ``[inner nodes, c]``; U ``[c, 3 c]``, V ``[c, c]``, g and s
        ``[places, c]``; output ``[num_nodes, c]``.
    """
    return _Sweep.apply(forest, y, p, *parameters)


def _starts(forest: Forest) -> np.ndarray:
    """The first node of each height, and the end."""
    return np.concatenate(([0], np.cumsum(np.bincount(forest.height))))


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, forest: Forest, *inputs: Tensor) -> Tensor:
        p, U, V, G, S = (x.detach().contiguous().numpy() for x in inputs[1:])
        y, n = inputs[0].detach().clone(memory_format=torch.contiguous_format).numpy(), len(V)

        def empty(rows: int) -> np.ndarray:
            return np.empty((rows, n), y.dtype)

        A, Q, F, H, C, T = map(
            empty, (len(p), len(y), len(forest.children), len(y), len(y), len(y))
        )
        tree = (forest.offsets, forest.children, forest.pos, _starts(forest))
        with ONE_THREAD:
            kernels.sweep_up(*tree, p, U, V, G, S, y, A, Q, F, H, C, T)
        ctx.tree = tree
        states, *held = map(torch.from_numpy, (H, y, A, F, C, T))
        ctx.save_for_backward(*inputs[2:], states, *held)
        return states

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        if torch.is_grad_enabled():  # create_graph=True; otherwise a backward records nothing
            raise RuntimeError("the levels backend has no second derivatives; backend='dgl' has")
        saved = ctx.saved_tensors  # raises if a parameter was changed in place since
        U, V, G, _, states, *held = (x.detach() for x in saved)
        H, y, A, F, C, T = (x.numpy() for x in (states, *held))
        DH = gradient.numpy().copy()
        DC, DQ, DY = np.zeros_like(H), np.zeros_like(H), np.empty_like(y)
        DP, DG, DS = np.zeros_like(A), *np.zeros((2, *G.shape), y.dtype)
        back = (U.t().contiguous().numpy(), V.t().contiguous().numpy(), G.contiguous().numpy())
        with ONE_THREAD:
            kernels.sweep_down(*ctx.tree, *back, y, F, H, C, T, DH, DC, DQ, DY, DP, DG, DS)
        dy, dp, dg, ds, dq = map(torch.from_numpy, (DY, DP, DG, DS, DQ))
        du, dv = held[1].t() @ dy[len(H) - len(A) :], states.t() @ dq
        return None, dy, dp, du, dv, dg, ds
