"""What a case of the contract suite says of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from structnet.routing import Samples


class Case(NamedTuple):
    """A model and data for it.

    ``make_model(seed)`` gives a model with ``loss``, ``predict``, ``predict_proba`` and
    ``predict_log_proba``; ``make_batch(count)`` data that can be indexed by a list and that uses
    all of the model's parameters; ``inputs(batch)`` the tensors and arrays in it; ``double(batch)``
    the same for a model in double precision.
    """

    name: str
    make_model: Callable[[int], nn.Module]
    make_batch: Callable[[int], Any]
    num_classes: int
    inputs: Callable[[Any], list]
    double: Callable[[Any], Any] = lambda batch: batch

    def __str__(self) -> str:
        return self.name


def samples_case(
    name: str, make_model: Callable[[int], nn.Module], num_classes: int, *shape: int
) -> Case:
    """A case of a model of samples of a shape, which are drawn."""

    def batch(count: int) -> Samples:
        x = torch.randn(count, *shape, generator=torch.Generator().manual_seed(0))
        return Samples(x, torch.arange(count) % num_classes)

    def double(batch: Samples) -> Samples:
        return Samples(batch.x.double(), batch.targets)

    return Case(
        name, make_model, batch, num_classes, lambda batch: [batch.x, batch.targets], double
    )
