"""A bundle: all connections that write to one state (Eq. 1-5)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class Bundle(nn.Module):
    """The parameters of one bundle, first those of its routes, then those of its sources.

    A connection of this bundle, with state h, to a neighbour with state b computes (Eq. 1-4)::

        z = b W_b,    g = sigmoid((h . w_gh + b . w_gb) / 2),    c = g z

    The neighbours' states are concatenated, so that all connections together are one product:
    ``sum_i g_i b_i W_i = [g_1 b_1, g_2 b_2, ...] [W_1; W_2; ...]``.

    Args:
        dim: length of its state.
        reads: length of the state of each of its neighbours.

    Shapes:
        weight ``[sum of reads, dim]``, read_gate ``[sum of reads]``, own_gate ``[connections,
        dim]``.

    Example:
        >>> bundle = Bundle(2, [3, 3, 4])
        >>> [tuple(part.shape) for part in bundle.connection(2)]
        [(4, 2), (4,), (2,)]
    """

    def __init__(self, dim: int, reads: list[int]):
        super().__init__()
        self.reads = list(reads)
        self.weight = nn.Parameter(torch.empty(sum(reads), dim))
        self.read_gate = nn.Parameter(torch.empty(sum(reads)))
        self.own_gate = nn.Parameter(torch.empty(len(reads), dim))
        self.draw([1.0] * len(reads))

    def draw(self, gains: list[float], competing: bool = False) -> None:
        """Draws new weights.

        A mean over n connections, only one of which carries a signal, through a gate of 1/2, makes
        a state 2n times smaller, so weights are drawn 2n times larger. Gates start with own weights
        of 0 and positive read weights, so they depend on the neighbour alone and favour active
        ones: its content sends a token on its way, and similar tokens take the same path again.
        With read weights of either sign, tokens wander, and what a bundle reads is mostly old.

        If the readers of a state compete for it, their read weights have a sum of 0, so that what
        all states have in common elects none of them.

        Args:
            gains: scale of the initial weights of each connection; 1 keeps the size of what it
                carries.
            competing: True if bundles are elected by the gates through which they would read.
        """
        n = len(self.reads)
        with torch.no_grad():
            for i, gain in enumerate(gains):
                W, w_gb, w_gh = self.connection(i)
                W.normal_(0, gain * 2 * n / math.sqrt(len(W)))
                w_gb.normal_(0, 1 / math.sqrt(len(W)))
                w_gb.copy_(w_gb - w_gb.mean() if competing else w_gb.abs())
                w_gh.zero_()

    def connection(self, i: int) -> tuple[Tensor, Tensor, Tensor]:
        """Views of W_b ``[read, dim]``, w_gb ``[read]`` and w_gh ``[dim]`` of one connection.

        Of W_b, what :class:`.Capsules` have in ``common`` is not part.

        Args:
            i: number of the connection; -1 is the last one.
        """
        i += len(self.reads) * (i < 0)
        start = sum(self.reads[:i])
        end = start + self.reads[i]
        return self.weight[start:end], self.read_gate[start:end], self.own_gate[i]
