"""What a tree says of many samples, asked a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from structnet.neural_tree.tree import NeuralTree
from structnet.training.metrics import batch_starts, evaluating

BATCH = 1000  # samples computed at a time
Answer = TypeVar("Answer")


def answers(
    tree: NeuralTree, x: Tensor, question: Callable[[Tensor], Answer], batch_size: int | None = None
) -> Iterator[tuple[slice, Answer]]:
    """Each batch's rows, and what a question to the tree gives for them.

    The tree answers in evaluation mode and without gradients, on the device that it is on.

    Args:
        tree: the tree.
        x: the samples.
        question: is called with the samples of a batch.
        batch_size: samples a batch; ``BATCH`` by default.

    Shapes:
        x ``[n, *shape]``.

    Raises:
        ValueError: there are no samples, or the batch size is below 1.
    """
    batch_size = BATCH if batch_size is None else batch_size
    device = next(tree.parameters(), x).device
    for start in batch_starts(x, batch_size):
        rows = slice(start, start + batch_size)
        with evaluating(tree):
            answer = question(x[rows].to(device))
        yield rows, answer


def ask(
    tree: NeuralTree, x: Tensor, question: Callable[[Tensor], Tensor], batch_size: int | None = None
) -> Tensor:
    """The answers for all samples in order, on the CPU; arguments as in :func:`answers`.

    Shapes:
        ``[n, ...]``, where the question gives ``[batch, ...]``.

    Example:
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(num_outputs=2, width=8), shape=(3,))
        >>> ask(tree, torch.rand(5, 3), tree.output, batch_size=2).shape
        torch.Size([5, 2])
    """
    return torch.cat([each.cpu() for _, each in answers(tree, x, question, batch_size)])


def greedy_leaves(tree: NeuralTree, x: Tensor) -> np.ndarray:
    """The node in which each sample's greedy path ends. ``[n, *shape] -> [n]``."""
    return ask(tree, x, tree.apply_path).numpy()
