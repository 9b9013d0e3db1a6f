"""What a case of the contract suite says of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn


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
