"""How unevenly bundles are elected, as a loss with a gradient for the gates."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from structnet.naru.capsules import Capsules
from structnet.naru.network import Routed


def imbalance(network: Capsules, routed: Routed) -> Tensor:
    """How unevenly bundles are elected: 1 if evenly. ``[]``

    For each capsule this is ``n sum_b f_b P_b``, where f_b is the share of the elections that
    bundle b won, and P_b the mean over all elections of its share of the elector's gates. With
    ``memory`` a bundle has no gate to those that it does not elect, and P_b is b's share of all
    gates through which electors are read. The result is the mean over the capsules with several
    bundles.

    Args:
        network: network that elected.
        routed: its results.

    Reference:
        Fedus, Zoph and Shazeer, Switch Transformers, JMLR 2022, Eq. (4).
    """
    terms: list[Tensor] = []
    for p, n in enumerate(network.wiring.sizes[1:]):
        electors, elected = routed.record[:, :-1, p], routed.record[:, 1:, p + 1]
        both = (electors >= 0) & (elected >= 0)
        if n == 1 or not both.any():
            continue
        share = _of_routes if network.wiring.memory is None else _of_readers
        P = share(network, routed, p, both)
        f = torch.bincount(elected[both], minlength=n).to(P) / both.sum()
        terms.append(n * (f * P).sum())
    return torch.stack(terms).mean() if terms else routed.predictions.new_ones(())


def _of_routes(network: Capsules, routed: Routed, p: int, both: Tensor) -> Tensor:
    """The mean share of the electors' gates, of each bundle of the next capsule. ``[bundles]``"""
    targets, counts = network.routes(p)
    a = routed.record[:, :-1, p][both]
    g = routed.gates[p][:, :-1][both][:, : targets.shape[1]]
    g = g.where(torch.arange(g.shape[1], device=g.device) < counts[a][:, None], 0)
    g = g / g.sum(1, keepdim=True)
    total = g.new_zeros(network.wiring.sizes[p + 1])
    return total.index_add(0, targets[a].clamp(min=0).flatten(), g.flatten()) / len(a)


def _of_readers(network: Capsules, routed: Routed, p: int, both: Tensor) -> Tensor:
    """The share of the gates to electors, of each bundle of the next capsule. ``[bundles]``"""
    others, _, foreign, _ = network.connections(p + 1)
    a, b = routed.record[:, :-1, p][both], routed.record[:, 1:, p + 1][both]
    # A bundle's sources are followed by itself, which belongs to another capsule.
    most = foreign.max()
    sources = np.where(np.arange(most) < foreign[:, None], others[:, :most], -1)
    g = routed.gates[p + 1][:, 1:][both][:, : sources.shape[1]]
    g = g.where(torch.from_numpy(sources).to(a.device)[b] == a[:, None], 0).sum(1)
    return g.new_zeros(len(others)).index_add(0, b, g) / g.sum()
