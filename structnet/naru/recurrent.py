"""The baseline: a recurrent network that takes as many multiplications a token, all of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from structnet.naru.network import Routed


class RecurrentNetwork(nn.Module):
    """A GRU and a linear layer, asked as a routed network is.

    Args:
        dim: numbers in a token, and in a prediction.
        multiply_adds: multiplications a token, at most: ``3 h (dim + h) + h dim`` for a hidden
            state of h numbers.

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
        """Multiplications a token."""
        hidden, dim = self.gru.hidden_size, self.dims[0]
        return 3 * hidden * (dim + hidden) + hidden * dim

    def route(self, x: Tensor, lengths: Tensor | None = None) -> Routed:
        """Its predictions, those behind the end of a sentence included; it has no paths.

        Shapes:
            ``[sentences, tokens, dim]`` -> predictions ``[sentences, tokens - 1, dim]``
        """
        empty = x.shape[1] < 2 or not len(x)
        y = x[:, 1:] if empty else self.last(self.gru(x[:, :-1])[0])
        return Routed(y, torch.empty(len(x), 0, 0, dtype=torch.long), [])
