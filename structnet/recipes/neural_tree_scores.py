"""What is measured of a neural tree, and what it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from structnet.neural_tree import NeuralTree
from structnet.recipes.neural_tree_settings import PATHS
from structnet.routing import Samples
from structnet.routing.batches import BATCH, ask
from structnet.training import evaluate
from structnet.training.processes import own_device

Described = Mapping[str, Any]  # data as config.json describes them


def output(
    tree: NeuralTree, samples: Samples, path: str = "multi", batch_size: int = BATCH
) -> Tensor:
    """What a tree predicts, on the CPU: log-probabilities of classes, or means, ``[n, outputs]``.

    The stochastic path is drawn with a seed of its own, always the same.
    """
    generator = _generator(tree)
    return ask(tree, samples.x, lambda x: tree.output(x, path, generator), batch_size)


def leaves(tree: NeuralTree, samples: Samples, path: str) -> Tensor:
    """Where each sample ends, ``[n]``, by a path that takes one; as in :func:`output`."""
    generator = _generator(tree)
    return ask(tree, samples.x, lambda x: tree.apply_path(x, path, generator))


def _generator(tree: NeuralTree) -> torch.Generator:
    return torch.Generator(next(tree.parameters()).device).manual_seed(0)


def metric_of(data: Described) -> str:
    """What is measured: accuracy of classes, the mean squared error of numbers."""
    return "mse" if data["classes"] is None else "accuracy"


def score(predicted: Tensor, targets: Tensor, data: Described) -> float:
    """How good predictions are: the share of right classes, or the mean squared error.

    The squared error is in the units of the data set's file, and the mean is that over all columns.

    Args:
        predicted: log-probabilities of classes, or means, ``[n, outputs]``.
        targets: the classes, or the numbers as the tree is trained on them.
        data: description of them, as in ``config.json``.
    """
    if data["classes"] is not None:
        return (predicted.argmax(1) == targets).double().mean().item()
    sd = torch.tensor(data["y_scale"]["sd"])
    return ((predicted - targets).double() * sd).square().mean().item()


def measured(
    tree: NeuralTree,
    samples: Samples,
    data: Described,
    paths: Sequence[str] = PATHS,
    batch_size: int = BATCH,
) -> dict[str, float]:
    """The score of each way to go through a tree; that of all leaves has the metric's bare name."""
    name = metric_of(data)
    return {
        name if path == "multi" else f"{name}_{path}": score(
            output(tree, samples, path, batch_size), samples.targets, data
        )
        for path in paths
    }


def of_ensemble(outputs: Sequence[Tensor], targets: Tensor, data: Described) -> float:
    """The score of several trees, their ``[n, outputs]`` probabilities or means averaged."""
    stack = torch.stack(list(outputs))
    # The likeliest class is the same without the logarithm of how many trees there are.
    mean = stack.mean(0) if data["classes"] is None else stack.logsumexp(0)
    return score(mean, targets, data)


def loss_of(tree: NeuralTree, samples: Samples, device: str) -> float:
    """The mean loss of a tree on some samples."""
    return evaluate(tree.to(own_device(device)), samples, device=device)["loss"]
