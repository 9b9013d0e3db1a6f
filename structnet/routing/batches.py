"""Calls a model for many samples, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from structnet.routing.on_demand import OnDemand
from structnet.training.metrics import batch_starts, evaluating, in_order, most_at_once
from structnet.training.modules import device_of

BATCH = 1000  # samples in a batch by default
Answer = TypeVar("Answer")


def answers(
    model: Any, x: Any, question: Callable[[Any], Answer], batch_size: int | None = None
) -> Iterator[tuple[slice, Answer]]:
    """The rows of each batch, and the result of a function of the model for them.

    A module is in evaluation mode meanwhile and computes no gradients; batches of tensors are moved
    to its device.

    Args:
        model: tree or other model.
        x: samples as the model takes them: a tensor, an array, a sparse matrix, or inputs on demand
            (:class:`.OnDemand`).
        question: function to call with the samples of each batch.
        batch_size: number of samples in a batch; by default ``BATCH``.

    Shapes:
        x ``[n, *shape]``.

    Raises:
        ValueError: there are no samples, or the batch size is below 1.
    """
    batch_size = most_at_once(x, BATCH if batch_size is None else batch_size)
    is_module, device = isinstance(model, nn.Module), None
    if is_module and isinstance(x, Tensor | OnDemand):
        device = device_of(model)
    starts = batch_starts(range(x.shape[0]), batch_size)
    places = [slice(start, start + batch_size) for start in starts]
    for rows, batch in zip(places, in_order(x, places), strict=True):
        with evaluating(model) if is_module else nullcontext():
            answer = question(batch if device is None else batch.to(device))
        yield rows, answer


def ask(
    model: Any, x: Any, question: Callable[[Any], Tensor], batch_size: int | None = None
) -> Tensor:
    """The results of a function of the model for all samples in order, on the CPU.

    Args:
        model, x, question, batch_size: arguments of :func:`answers`.

    Shapes:
        ``[n, ...]``, if the function returns ``[batch, ...]``.

    Raises:
        ValueError: there are no samples, or the batch size is below 1.

    Example:
        >>> from structnet.neural_tree import NeuralTree, presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(3,))
        >>> ask(tree, torch.rand(5, 3), tree.output, batch_size=2).shape
        torch.Size([5, 2])
    """
    return torch.cat([each.cpu() for _, each in answers(model, x, question, batch_size)])
