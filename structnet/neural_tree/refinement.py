"""Refinement: all parameters of a grown tree, trained together (Sec. 4 of the paper).

The paper leaves it at that. Here, validated and kept is a running mean of the weights, and
:func:`finish` goes on with the samples that were held out until then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch.optim.lr_scheduler import LinearLR, StepLR
from torch.utils.data import DataLoader, Dataset

from structnet.neural_tree.tree import NeuralTree
from structnet.routing.samples import Samples, as_samples
from structnet.training.fitting import ADAM, fit
from structnet.training.history import History
from structnet.training.metrics import Metric, accuracy

STEPS = partial(StepLR, step_size=50, gamma=0.1)
AVERAGE = 1.0  # epochs whose weights are averaged


def refine(
    tree: NeuralTree,
    train: Samples | Dataset | DataLoader,
    validation: Samples | Dataset | DataLoader,
    *,
    epochs: int = 100,
    batch_size: int = 512,
    optimizer: Callable = ADAM,
    schedule: Callable | None = STEPS,
    monitor: str | None = None,
    metrics: Mapping[str, Metric] | None = None,
    average: float | None = AVERAGE,
    **fitting: Any,
) -> History:
    """Trains a tree as a whole, and leaves its best validation epoch in it.

    If no epoch is better on the validation samples than the tree was before, it is left as it was.

    Args:
        train, validation: samples to learn from, and to choose the epoch by; or torch Datasets or
            DataLoaders of them, as for :class:`.Growth`.
        epochs: the paper takes 300 for SARCOS, 100 for MNIST, 200 for CIFAR-10.
        batch_size: samples a step.
        optimizer: gives the optimizer of the parameters.
        schedule: gives the learning rate scheduler; by default a tenth of the rate after every 50
            epochs.
        monitor: validation value that says which epoch is best: "loss", "accuracy" of a tree that
            predicts classes, or the name of a metric. None goes by the accuracy where there are
            classes: the loss of a tree that has grown sure of itself may rise while right answers
            do, too.
        metrics: name -> ``metric(tree, batch)``; with classes, the accuracy is always one.
        average: epochs whose steps a running mean of the weights remembers; the mean is validated
            and kept. At a rate that stays high the last weights are off by the noise of their last
            batches, which the mean has not. None takes the last weights.
        fitting: others of :func:`structnet.fit`: seed, device, checkpoint, resume, callbacks, ...

    Returns:
        A record an epoch; its ``best`` is None if the tree was left as it was.

    Raises:
        ValueError: there is nothing to monitor by that name, or a class has no output of the tree.

    Example:
        >>> import torch
        >>> from structnet.training.metrics import evaluate
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(2), shape=(3,))
        >>> samples = Samples(torch.rand(20, 3), torch.arange(20) % 2)
        >>> before = evaluate(tree, samples)["loss"]
        >>> history = refine(tree, samples, samples, epochs=2, monitor="loss", progress=False)
        >>> evaluate(tree, samples)["loss"] <= before
        True
    """
    train, validation = (as_samples(each, tree.num_classes) for each in (train, validation))
    metrics = dict(metrics or {})
    if tree.num_classes is not None:
        metrics = {"accuracy": accuracy} | metrics
    return fit(
        tree,
        train,
        validation,
        epochs=epochs,
        batch_size=batch_size,
        optimizer=optimizer,
        schedule=schedule,
        monitor=monitor or ("loss" if tree.num_classes is None else "accuracy"),
        metrics=metrics,
        keep_start=True,
        average=average,
        **fitting,
    )


def finish(
    tree: NeuralTree, samples: Samples | Dataset | DataLoader, *, epochs: int, **fitting: Any
) -> History:
    """Trains a tree as a whole on all samples, those too by which its growth was decided.

    Nothing is left to choose by, so the learning rate falls to 0 and the last weights stay.

    Args:
        samples: samples to learn from; or a torch Dataset or DataLoader of them.
        epochs: epochs, over which the learning rate falls evenly.
        fitting: others of :func:`structnet.fit`: batch_size, optimizer, seed, device, ...

    Returns:
        A record an epoch.

    Example:
        >>> import torch
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(2), shape=(3,))
        >>> samples = Samples(torch.rand(20, 3), torch.arange(20) % 2)
        >>> history = finish(tree, samples, epochs=2, batch_size=5, progress=False)
        >>> history["learning_rate"]
        [0.001, 0.0005]
    """
    schedule = partial(LinearLR, start_factor=1.0, end_factor=0.0, total_iters=epochs)
    samples = as_samples(samples, tree.num_classes)
    return fit(tree, samples, epochs=epochs, schedule=schedule, **fitting)
