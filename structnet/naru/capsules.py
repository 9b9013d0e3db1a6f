"""The parts of a network: its bundles, and arrays of what each of them reads."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from structnet.naru.bundle import Bundle
from structnet.naru.wiring import Wiring

# Scales of the initial weights, see Capsules.draw.
FORWARD, BACK, FIRST, LAST, OWN = 1.3, 0.05, 2.0, 0.3, 0.5


class Connections(NamedTuple):
    """What the bundles of a capsule may read: routes' targets, then sources, then themselves.

    Attributes:
        others: bundle that each connection reads, padded with -1.
        routes, foreign, reads: number of connections to targets, to other bundles, and in all.

    Shapes:
        others ``[bundles, most connections]``, the others ``[bundles]``, of int64.
    """

    others: np.ndarray
    routes: np.ndarray
    foreign: np.ndarray
    reads: np.ndarray


class Readers(NamedTuple):
    """The gates through which the targets of a capsule's bundles would read these.

    Attributes:
        targets: targets of each bundle, padded with -1.
        numbers: number of the targets of each bundle.
        read_gate, own_gate: weights of the gate of each target; 0 where there is none.

    Shapes:
        targets ``[bundles, most routes]``, numbers ``[bundles]``, read_gate ``[bundles, most
        routes, dim]``, own_gate ``[bundles, most routes, dim of the next]``.
    """

    targets: Tensor
    numbers: Tensor
    read_gate: Tensor
    own_gate: Tensor


class Capsules(nn.Module):
    """All bundles of a network.

    Args:
        wiring: capsules, bundles and links.

    Attributes:
        bundles: capsule -> bundle -> :class:`.Bundle`.
        common: weight that the connections to a capsule from the one before have in common, if it
            is read with ``memory``, by the capsule's number: their own are added to it. What one
            path learns is then known to all of them.

    Example:
        >>> capsules = Capsules(Wiring(sizes=(1, 2, 1), dims=(4, 5, 4)))
        >>> capsules.connections(1)[0].tolist()  # the last capsule's, then the first's
        [[0, 0], [0, 0]]
        >>> Capsules(Wiring((1, 2, 1), (4, 5, 4), memory=(1,))).connections(1).others.tolist()
        [[0, 0], [0, 1]]
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
        self.common = nn.ParameterDict(
            {
                str(p): nn.Parameter(torch.empty(wiring.dims[p - 1], wiring.dims[p]))
                for p in range(1, wiring.depth)
                if wiring.memory is not None and max(wiring.sizes[p - 1 : p + 1]) > 1
            }
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
        its readers make up for that. With ``memory`` a bundle reads a single source at a time.
        """
        wiring = self.wiring
        first = max(len(wiring.reads(0, 0)), 1)
        single = wiring.memory is not None
        for p in range(wiring.depth):
            for a, bundle in enumerate(self.capsule(p)):
                sources = 1 if single else len(wiring.sources[p][a])
                gains = []
                for q, _ in wiring.reads(p, a):
                    gain = FORWARD / sources**0.25 if q < p else OWN if q == p else BACK
                    gain *= FIRST * first if q == 0 < p else 1 / first if p == 0 else 1
                    gains.append(gain * (LAST if p == wiring.depth - 1 else 1))
                bundle.draw(gains, competing=single)
        with torch.no_grad():
            for name, weight in self.common.items():
                bundles = self.capsule(int(name))
                weight.copy_(bundles[0].connection(0)[0])
                for bundle in bundles:
                    bundle.weight[: self._behind(int(name), bundle)] = 0

    def weights(self, p: int) -> list[Tensor]:
        """The weights of all connections of a capsule's bundles, ``[sum of reads, dim]`` each."""
        common, found = self.common.get(str(p), None), []
        for bundle in self.capsule(p):
            weight: Tensor = bundle.weight
            if common is not None:
                behind = self._behind(p, bundle)
                repeated = common.repeat(behind // len(common), 1)
                weight = weight + pad(repeated, (0, 0, 0, len(weight) - behind))
            found.append(weight)
        return found

    def _behind(self, p: int, bundle: Bundle) -> int:
        """The total length of the sources of a bundle that reads no targets."""
        return len(bundle.weight) - self.wiring.remembers(p) * self.wiring.dims[p]

    def connections(self, p: int) -> Connections:
        """What the bundles of a capsule may read, as arrays."""
        return self._connections[p]

    def dims_around(self, p: int) -> tuple[int, int]:
        """The lengths of a state in the next and in the previous capsule; 0 if there is none."""
        dims = (0, *self.wiring.dims, 0)
        return dims[p + 2], dims[p]

    def most_connections(self, p: int) -> int:
        """The largest number of connections of a bundle of a capsule."""
        return self._connections[p].others.shape[1]

    def routes(self, p: int) -> tuple[Tensor, Tensor]:
        """The targets of a capsule's bundles, padded with -1, and their numbers.

        Shapes:
            ``[bundles, most routes]`` and ``[bundles]``.
        """
        device, links = self.capsule(p)[0].weight.device, self.wiring.links[p]
        targets = pad_sequence([torch.tensor(each) for each in links], True, -1)
        return targets.to(device), torch.tensor([len(each) for each in links], device=device)

    def readers(self, p: int) -> Readers:
        """The gates through which a capsule's bundles would be read, without gradients."""
        targets, numbers = self.routes(p)
        ahead, like = self.capsule(p + 1), self.capsule(p)[0].weight
        shape = targets.shape
        read = like.new_zeros(*shape, self.wiring.dims[p])
        own = like.new_zeros(*shape, self.wiring.dims[p + 1])
        with torch.no_grad():
            for a, links in enumerate(self.wiring.links[p]):
                for i, b in enumerate(links):
                    _, read[a, i], own[a, i] = ahead[b].connection(
                        self.wiring.sources[p + 1][b].index(a)
                    )
        return Readers(targets, numbers, read, own)

    def gates_of(self, p: int) -> tuple[Tensor, Tensor]:
        """The gate weights of a capsule's bundles, stacked, padded with 0, and without gradients.

        Shapes:
            ``[bundles, most numbers read]`` and ``[bundles, most connections, dim]``.
        """
        reads = [bundle.read_gate.detach() for bundle in self.capsule(p)]
        owns = [bundle.own_gate.detach() for bundle in self.capsule(p)]
        return pad_sequence(reads, batch_first=True), pad_sequence(owns, batch_first=True)

    def _connections_of(self, p: int) -> Connections:
        reads = [[b for _, b in self.wiring.reads(p, a)] for a in range(self.wiring.sizes[p])]
        most = max(map(len, reads))
        others = np.array([read + [-1] * (most - len(read)) for read in reads], np.int64)
        ahead = self.wiring.memory is None  # targets are read
        routes = np.array([len(self.wiring.routes_of(p, a)) * ahead for a in range(len(reads))])
        count = np.array(list(map(len, reads)))
        return Connections(others, routes, count - self.wiring.remembers(p), count)
