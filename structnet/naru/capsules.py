"""The parts of a network: its bundles, and arrays of what each of them reads."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from structnet.naru.bundle import Bundle
from structnet.naru.wiring import Wiring

# Scales of the initial weights, see Capsules.draw.
FORWARD, BACK, FIRST, LAST = 1.3, 0.05, 2.0, 0.3


class Capsules(nn.Module):
    """All bundles of a network.

    Args:
        wiring: capsules, bundles and links.

    Attributes:
        bundles: capsule -> bundle -> :class:`.Bundle`.

    Example:
        >>> capsules = Capsules(Wiring(sizes=(1, 2, 1), dims=(4, 5, 4)))
        >>> capsules.connections(1)[0].tolist()  # the last capsule's, then the first's
        [[0, 0], [0, 0]]
    """

    def __init__(self, wiring: Wiring):
        super().__init__()
        self.wiring = wiring
        self.bundles = nn.ModuleList(
            nn.ModuleList(
                Bundle(wiring.dims[p], [wiring.dims[q] for q, _ in wiring.reads(p, a)])
                for a in range(size)
            )
            for p, size in enumerate(wiring.sizes)
        )
        self.draw()
        self._connections = [self._connections_of(p) for p in range(wiring.depth)]

    def capsule(self, p: int) -> list[Bundle]:
        """The bundles of a capsule."""
        return [cast(Bundle, bundle) for bundle in cast(nn.ModuleList, self.bundles[p])]

    @property
    def dims(self) -> tuple[int, int]:
        """The lengths of a token and of a prediction."""
        return self.wiring.dims[0], self.wiring.dims[-1]

    def draw(self) -> None:
        """Draws initial weights that keep states at one scale in all capsules, at all lengths.

        Weights from sources are smaller the more sources there are. Weights from routes are small,
        as states would otherwise grow without bound in the loop of two bundles that read each
        other. The first bundle divides the token by the number of its connections; the weights of
        its readers make up for that.
        """
        wiring = self.wiring
        first = len(wiring.reads(0, 0))
        for p in range(wiring.depth):
            for a, bundle in enumerate(self.capsule(p)):
                sources = len(wiring.sources[p][a])
                gains = []
                for q, _ in wiring.reads(p, a):
                    gain = FORWARD / sources**0.25 if q < p else BACK
                    gain *= FIRST * first if q == 0 else 1 / first if p == 0 else 1
                    gains.append(gain * (LAST if p == wiring.depth - 1 else 1))
                bundle.draw(gains)

    def connections(self, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the bundles of a capsule read, as arrays.

        Returns:
            The bundle that each connection reads, routes first, ``[bundles, most connections]``,
            padded with -1; and the numbers of routes and of connections, ``[bundles]`` each.
        """
        return self._connections[p]

    def dims_around(self, p: int) -> tuple[int, int]:
        """The lengths of a state in the next and in the previous capsule; 0 if there is none."""
        dims = (0, *self.wiring.dims, 0)
        return dims[p + 2], dims[p]

    def most_connections(self, p: int) -> int:
        """The largest number of connections of a bundle of a capsule."""
        return self._connections[p][0].shape[1]

    def routes(self, p: int) -> tuple[Tensor, Tensor]:
        """The targets of a capsule's bundles, padded with -1, and their numbers.

        Shapes:
            ``[bundles, most routes]`` and ``[bundles]``.
        """
        others, num_routes, _ = self._connections[p]
        device = self.capsule(p)[0].weight.device
        most = int(num_routes.max())
        # A bundle's routes are followed by its sources, which belong to another capsule.
        targets = np.where(np.arange(most) < num_routes[:, None], others[:, :most], -1)
        return (
            torch.from_numpy(targets).to(device),
            torch.from_numpy(num_routes).to(device),
        )

    def gates_of(self, p: int) -> tuple[Tensor, Tensor]:
        """The gate weights of a capsule's bundles, stacked, padded with 0, and without gradients.

        Shapes:
            ``[bundles, most numbers read]`` and ``[bundles, most connections, dim]``.
        """
        reads = [bundle.read_gate.detach() for bundle in self.capsule(p)]
        owns = [bundle.own_gate.detach() for bundle in self.capsule(p)]
        return pad_sequence(reads, batch_first=True), pad_sequence(owns, batch_first=True)

    def _connections_of(self, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        reads = [[b for _, b in self.wiring.reads(p, a)] for a in range(self.wiring.sizes[p])]
        most = max(map(len, reads))
        others = np.array([read + [-1] * (most - len(read)) for read in reads])
        routes = [len(self.wiring.routes_of(p, a)) for a in range(len(reads))]
        return others, np.array(routes), np.array(list(map(len, reads)))
