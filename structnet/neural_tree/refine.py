"""Refinement: all parameters of a grown tree, trained together.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Sec. 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch.optim.lr_scheduler import StepLR

from structnet.checkpoint import copy_state
from structnet.history import History, Monitor
from structnet.metrics import Metric, evaluate
from structnet.neural_tree.likelihood import check_targets
from structnet.neural_tree.samples import Samples
from structnet.neural_tree.tree import NeuralTree
from structnet.train import ADAM, fit

STEPS = partial(StepLR, step_size=50, gamma=0.1)


def refine(
    tree: NeuralTree,
    train: Samples,
    validation: Samples,
    *,
    epochs: int = 100,
    batch_size: int = 512,
    optimizer: Callable = ADAM,
    schedule: Callable | None = STEPS,
    monitor: str = "loss",
    mode: str | None = None,
    metrics: Mapping[str, Metric] | None = None,
    device: str | torch.device = "cpu",
    history: History | None = None,
    **fitting: Any,
) -> History:
    """Trains a tree as a whole, and leaves its best validation epoch in it.

    If no epoch is better on the validation samples than the tree was before, it is left as it was.

    Args:
        tree: a grown tree.
        train, validation: samples to learn from, and to choose the epoch by.
        epochs: the paper takes 300 for SARCOS, 100 for MNIST, 200 for CIFAR-10.
        batch_size: samples a step.
        optimizer: gives the optimizer of the parameters.
        schedule: gives the learning rate scheduler; by default a tenth of the rate after every 50
            epochs.
        monitor, mode, metrics: what is best on the validation samples, as in ``structnet.fit``; the
            loss by default. ``monitor="accuracy", metrics={"accuracy": accuracy}`` goes by right
            answers: the loss of a tree that has grown sure of itself may rise while they do, too.
        device: "cpu", "cuda", ...
        history: an empty one to fill, for a caller who wants the records after an error too.
        fitting: what else ``structnet.fit`` takes: seed, checkpoint, resume, progress, ...

    Returns:
        A record an epoch.

    Raises:
        ValueError: there is nothing to monitor by that name, or a class has no output of the tree.

    Example:
        >>> from structnet.neural_tree import presets
        >>> tree = NeuralTree(presets.mlp(2), shape=(3,))
        >>> samples = Samples(torch.rand(20, 3), torch.arange(20) % 2)
        >>> before = evaluate(tree, samples)["loss"]
        >>> history = refine(tree, samples, samples, epochs=2, progress=False)
        >>> evaluate(tree, samples)["loss"] <= before
        True
    """
    names = ["loss", *(metrics or {})]
    if monitor not in names:
        raise ValueError(
            f"The 'monitor' parameter of refine must be one of {names}. Got {monitor!r} instead."
        )
    for samples in (train, validation):
        check_targets(tree.likelihood, samples.targets, tree.num_outputs)
    scores = evaluate(tree.to(device), validation, device=device, metrics=metrics)
    before, grown = scores[monitor], copy_state(tree)
    history = History() if history is None else history
    try:
        fit(
            tree,
            train,
            validation,
            epochs=epochs,
            batch_size=batch_size,
            optimizer=optimizer,
            schedule=schedule,
            monitor=monitor,
            mode=mode,
            metrics=metrics,
            device=device,
            history=history,
            **fitting,
        )
    finally:  # after a loss that is not finite, or an interruption, too
        best = history.best or {}
        reached = best.get(f"validation_{monitor}", math.nan)
        if not Monitor(monitor, mode).improves(reached, before):
            tree.load_state_dict(grown)
    return history
