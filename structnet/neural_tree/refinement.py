"""Refinement: all parameters of a grown tree, trained together (Sec. 4 of the paper).

The paper does no more. Here, a running mean of the weights is validated and kept, and
:func:`finish` continues with the samples that were held out until then. Of trees of tables,
:func:`sure_accuracy` may tell which epoch is kept.
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
AVERAGE = 1.0  # epochs over which weights are averaged
NAT = 0.3  # share of right predictions that outweighs a loss lower by one nat


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
    """Trains a tree as a whole, and keeps its best epoch on the validation samples.

    If no epoch is better on the validation samples than the tree was before, it is left unchanged.

    Args:
        tree: tree, which is trained in place.
        train, validation: samples for training, and for choosing the epoch; or torch Datasets or
            DataLoaders of them, as for :class:`.Growth`.
        epochs: number of epochs; 300 for SARCOS, 100 for MNIST and 200 for CIFAR-10 in the paper.
        batch_size: number of samples in each step.
        optimizer: function that makes the optimizer of the parameters.
        schedule: function that makes the learning rate scheduler; by default the rate is divided by
            10 after every 50 epochs.
        monitor: validation value by which the best epoch is chosen: "loss", "accuracy" for a tree
            that predicts classes, or the name of a metric. None takes the accuracy if there are
            classes: the loss of a tree that has become overconfident may rise while its accuracy
            rises too.
        metrics: name -> ``metric(tree, batch)``; for classes, the accuracy is always included.
        average: number of epochs over which a running mean of the weights is taken; the mean is
            validated and kept. While the learning rate is high, the last weights have the noise of
            the last batches, which the mean lacks. None takes the last weights.
        fitting: other arguments of :func:`structnet.fit`: seed, device, checkpoint, resume,
            callbacks, ...

    Returns:
        A record for each epoch; its ``best`` is None if the tree was left unchanged.

    Raises:
        ValueError: the monitored value does not exist, or the tree has no output for a class.

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


def sure_accuracy(scores: Mapping[str, float]) -> float:
    """The accuracy of a batch, less a share of its loss: a metric by which an epoch is chosen.

    On a few hundred samples, the accuracies of two epochs differ by chance more than they differ.
    The highest of fifty is often that of a late epoch, whose loss has risen again by a tenth. By
    the loss alone, an epoch is chosen before the tree is as accurate as it becomes.

    Args:
        scores: loss and accuracy; the metric is an :class:`.OfScores`.

    Example:
        >>> round(sure_accuracy({"loss": 0.5, "accuracy": 0.9}), 2)
        0.75
    """
    return scores["accuracy"] - NAT * scores["loss"]


def finish(
    tree: NeuralTree, samples: Samples | Dataset | DataLoader, *, epochs: int, **fitting: Any
) -> History:
    """Trains a tree as a whole on all samples, including those by which its growth was decided.

    No samples are left for validation, so the learning rate falls to 0 and the last weights are
    kept.

    Args:
        tree: tree, which is trained in place.
        samples: samples to train on; or a torch Dataset or DataLoader of them.
        epochs: number of epochs, over which the learning rate falls evenly.
        fitting: other arguments of :func:`structnet.fit`: batch_size, optimizer, seed, device, ...

    Returns:
        A record for each epoch.

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
