"""The element-wise part of the Tree-LSTM."""

from __future__ import annotations

import torch
from torch import Tensor


def lstm_state(i: Tensor, o: Tensor, u: Tensor, kept: Tensor | None) -> tuple[Tensor, Tensor]:
    """``c = sigmoid(i) tanh(u) + kept``, ``h = sigmoid(o) tanh(c)``: c and h of Eq. (11).

    Shapes:
        i, o, u, kept: ``[.., c]``, all of the same shape; kept may be None.
        output: h and c.
    """
    c = torch.sigmoid(i) * torch.tanh(u)
    c = c if kept is None else c + kept
    return torch.sigmoid(o) * torch.tanh(c), c
