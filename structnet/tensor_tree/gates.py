"""The element-wise part of the Tree-LSTM: plain, and with backward passes written by hand.

For two formulas autograd would record some twenty small operations per level; on small batches
their bookkeeping costs more than the arithmetic. The reference uses the plain forms.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def lstm_state(
    i: Tensor, o: Tensor, u: Tensor, kept: Tensor | None, plain: bool = False
) -> tuple[Tensor, Tensor]:
    """``c = sigmoid(i) tanh(u) + kept``, ``h = sigmoid(o) tanh(c)``: c and h of Eq. (11).

    Shapes:
        i, o, u, kept: ``[.., c]``, all of the same shape; kept may be None.
        output: h and c.
    """
    if not plain:
        return LSTMState.apply(i, o, u, kept)
    c = torch.sigmoid(i) * torch.tanh(u)
    c = c if kept is None else c + kept
    return torch.sigmoid(o) * torch.tanh(c), c


def forget(
    z: Tensor, bias: Tensor, c: Tensor, joined: bool, plain: bool = False
) -> tuple[Tensor, ...]:
    """Splits a child's message to its parent, ``z = [z_a, z_f]``, and applies its forget gate.

    Shapes:
        z: ``[runs, length, w + c]``, overwritten if joined and not plain.
        bias: ``[runs, c]``.
        c: ``[runs, length, c]``, the child's cell state.
        output: ``z_a`` and ``sigmoid(z_f + bias) c``; side by side in one tensor if joined.
    """
    if not plain:
        found = Forget.apply(z, bias, c, joined)
        return (found,) if joined else found
    width = z.shape[-1] - c.shape[-1]
    kept = torch.sigmoid(z[..., width:] + bias.unsqueeze(1)) * c
    return (torch.cat([z[..., :width], kept], -1),) if joined else (z[..., :width], kept)


class LSTMState(torch.autograd.Function):
    """:func:`lstm_state` with its gradient.

    Shapes:
        ``[..., c]`` each; h and c contiguous.
    """

    @staticmethod
    def forward(
        ctx: Any, i: Tensor, o: Tensor, u: Tensor, kept: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        i, o, u = torch.sigmoid(i), torch.sigmoid(o), torch.tanh(u)
        c = (i * u).contiguous()
        if kept is not None:
            c += kept
        tanh_c = torch.tanh(c)
        ctx.has_kept = kept is not None
        ctx.save_for_backward(i, o, u, tanh_c)
        return (o * tanh_c).contiguous(), c

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dh: Tensor, dc: Tensor) -> tuple:
        i, o, u, tanh_c = ctx.saved_tensors
        through_h = dh * o  # h = o tanh(c): tanh' = 1 - tanh^2
        dc = torch.addcmul(dc + through_h, through_h * tanh_c, tanh_c, value=-1)
        d_o = torch.ops.aten.sigmoid_backward(dh * tanh_c, o)
        d_i = torch.ops.aten.sigmoid_backward(dc * u, i)
        d_u = torch.ops.aten.tanh_backward(dc * i, u)
        return d_i, d_o, d_u, dc if ctx.has_kept else None


class Forget(torch.autograd.Function):
    """:func:`forget` with its gradient.

    Shapes:
        z ``[runs, length, gates]``, bias ``[runs, k]``, c ``[runs, length, k]`` -> as there, one
        tensor if joined.
    """

    @staticmethod
    def forward(
        ctx: Any, z: Tensor, bias: Tensor, c: Tensor, joined: bool
    ) -> Tensor | tuple[Tensor, Tensor]:
        width = z.shape[-1] - c.shape[-1]
        f = torch.sigmoid(z[..., width:] + bias.unsqueeze(1))
        ctx.width, ctx.joined = width, joined
        ctx.save_for_backward(f, c)
        if joined:
            z[..., width:] = f * c
            ctx.mark_dirty(z)
            return z
        return z[..., :width].clone(), f * c

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple:
        f, c = ctx.saved_tensors
        # If joined, z was overwritten by the forward, and its gradient is overwritten here: it is
        # the only gradient of one buffer, and is not read again.
        gradient = torch.cat(gradients, -1) if len(gradients) == 2 else gradients[0]
        kept = gradient[..., ctx.width :]
        dc = kept * f
        d_f = torch.ops.aten.sigmoid_backward(kept * c, f)
        gradient[..., ctx.width :] = d_f
        return gradient, d_f.sum(1), dc, None
