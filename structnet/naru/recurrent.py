"""The baseline: a GRU with as many multiplications per token, which uses all of its weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from structnet.naru.network import Routed


class RecurrentNetwork(nn.Module):
    """A GRU and a linear layer, with the interface of a routed network.

    Args:
        dim: length of a token, and of a prediction.
        multiply_adds: largest number of multiplications per token, which are ``3 h (dim + h) + h
            dim`` for a hidden state of length h; h is at least 1.

    Example:
        >>> network = RecurrentNetwork(50, 588_904)
        >>> network.gru.hidden_size, network.multiply_adds
        (410, 586300)
    """

    def __init__(self, dim: int, multiply_adds: int):
        super().__init__()
        hidden = int(((4 * dim) ** 2 + 12 * multiply_adds) ** 0.5 - 4 * dim) // 6
        self.gru = nn.GRU(dim, max(hidden, 1), batch_first=True)
        self.last = nn.Linear(max(hidden, 1), dim)
        self.dims = dim, dim

    @property
    def multiply_adds(self) -> int:
        """The number of multiplications per token."""
        hidden, dim = self.gru.hidden_size, self.dims[0]
        return 3 * hidden * (dim + hidden) + hidden * dim

    def route(self, x: Tensor, lengths: Tensor | None = None) -> Routed:
        """The predictions, including those after the end of a sentence; there are no paths.

        Shapes:
            ``[sentences, tokens, dim]`` -> predictions ``[sentences, tokens - 1, dim]``
        """
        empty = x.shape[1] < 2 or not len(x)
        y = x[:, 1:] if empty else self.last(self.gru(x[:, :-1])[0])
        return Routed(y, torch.empty(len(x), 0, 0, dtype=torch.long), [])
