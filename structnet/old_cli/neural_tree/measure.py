"""What is measured of a neural tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from structnet.neural_tree import NeuralTree
from structnet.neural_tree.tree import PATHS
from structnet.routing import Samples
from structnet.routing.batches import BATCH, ask


def output(
    tree: NeuralTree, samples: Samples, path: str = "multi", batch_size: int = BATCH
) -> Tensor:
    """What a tree predicts, on the CPU: log-probabilities of classes, or means.

    The stochastic path is drawn with a seed of its own, always the same.
    """
    generator = _generator(tree)
    return ask(tree, samples.x, lambda x: tree.output(x, path, generator), batch_size)


def leaves(tree: NeuralTree, samples: Samples, path: str) -> Tensor:
    """The leaf that each sample ends in, by a path that takes one; as in :func:`output`."""
    generator = _generator(tree)
    return ask(tree, samples.x, lambda x: tree.apply_path(x, path, generator))


def _generator(tree: NeuralTree) -> torch.Generator:
    return torch.Generator(next(tree.parameters()).device).manual_seed(0)


def error(predicted: Tensor, targets: Tensor, data: Mapping[str, Any]) -> float:
    """How wrong predictions are: percent of wrong classes, or the mean squared error.

    The squared error is in the units of the data set's file, and the mean is that over all columns.

    Args:
        predicted: log-probabilities of classes, or means.
        targets: the classes, or the numbers as the tree is trained on them.
        data: as ``config.json`` describes them.
    """
    if data["classes"] is not None:
        return 100 * (predicted.argmax(1) != targets).double().mean().item()
    sd = torch.tensor(data["y_scale"]["sd"])
    return ((predicted - targets).double() * sd).square().mean().item()


def errors(
    tree: NeuralTree,
    samples: Samples,
    data: Mapping[str, Any],
    paths: Sequence[str] = PATHS,
    batch_size: int = BATCH,
) -> dict[str, float]:
    """The error of each way to go through a tree."""
    return {
        path: error(output(tree, samples, path, batch_size), samples.targets, data)
        for path in paths
    }


def unit(data: Mapping[str, Any]) -> str:
    """What :func:`error` counts."""
    return "mean squared error" if data["classes"] is None else "percent wrong"


def ensemble_error(outputs: Sequence[Tensor], targets: Tensor, data: Mapping[str, Any]) -> float:
    """The error of several trees, their probabilities or means averaged."""
    stack = torch.stack(list(outputs))
    # The likeliest class is the same without the logarithm of how many trees there are.
    mean = stack.mean(0) if data["classes"] is None else stack.logsumexp(0)
    return error(mean, targets, data)
