"""Small trees of softmaxes with random weights, and examples for them."""

from __future__ import annotations

import torch
from torch import Tensor

from structnet.label_tree import TreeSoftmaxLoss


def made(labels: int = 23, size: int = 6, arity: int = 4, seed: int = 0, **more) -> TreeSoftmaxLoss:
    generator = torch.Generator().manual_seed(seed)
    loss = TreeSoftmaxLoss(size, labels, arity, **more)
    with torch.no_grad():
        loss.weight.normal_(generator=generator)
        loss.bias += torch.randn(loss.bias.shape, generator=generator)
    return loss


def batch(labels: int = 23, size: int = 6, number: int = 40) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(number, size, generator=generator)
    return x, torch.randint(labels, (number,), generator=generator)
