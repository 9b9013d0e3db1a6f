"""Units with ceilings: a layer of these can compute steps, which rise at thresholds of columns."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn


class Clipped(nn.ReLU):
    """ReLU with a ceiling for each unit: a steep unit with a ceiling is a step.

    Args:
        units: number of units.

    Attributes:
        most: ceilings, infinite at first; training does not change them.

    Shapes:
        ``[n, units] -> [n, units]``; most ``[units]``.
    """

    most: torch.Tensor

    def __init__(self, units: int):
        super().__init__()
        self.register_buffer("most", torch.full((units,), math.inf))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return torch.minimum(super().forward(input), self.most)


def units_of(layer: nn.Module) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The weights, the biases and the ceilings of a layer's units; None for another transformer.

    Args:
        layer: transformer; only a linear map with ceilings has such units.

    Shapes:
        ``-> [units, columns], [units], [units]``, float64.
    """
    parts = [*layer] if isinstance(layer, nn.Sequential) else []
    if len(parts) != 2 or type(parts[0]) is not nn.Linear or type(parts[1]) is not Clipped:
        return None
    weights, biases, most = (
        part.detach().double().cpu().numpy()
        for part in (parts[0].weight, parts[0].bias, parts[1].most)
    )
    return weights, biases, most
