"""Units with ceilings: a layer of these can compute steps, which rise at thresholds of columns."""

from __future__ import annotations

import math

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
