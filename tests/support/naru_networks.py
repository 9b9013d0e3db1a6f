"""Small routed networks and sentences for them."""

from __future__ import annotations

import torch
from torch import Tensor

from structnet.naru import RoutedNetwork, Wiring

BACKENDS = ["sweep", "autograd"]
SMALL = Wiring((1, 3, 4, 1), (3, 4, 5, 2), max_cone=3)
LENGTHS = torch.tensor([7, 1, 4, 12, 4, 0, 9])


def small(**options) -> RoutedNetwork:
    torch.manual_seed(0)
    network = RoutedNetwork(SMALL, **options).double()
    with torch.no_grad():  # so that gates differ and choices vary
        for name, parameter in network.named_parameters():
            if "gate" in name:
                parameter.normal_(0, 10)
    return network


def sentences(seed: int = 0, lengths: Tensor = LENGTHS) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    size = len(lengths), int(lengths.max()), 3
    return torch.randn(*size, generator=generator, dtype=torch.float64)
