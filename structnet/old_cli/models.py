"""From settings to the model and its optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR

from structnet.cli.recipes import CLIP_NORM, WARM_UP
from structnet.cli.tasks import TASKS
from structnet.tensor_tree import (
    CP,
    ChildSum,
    FullTensor,
    TensorTrain,
    TreeClassifier,
    TreeLSTM,
    TreePairClassifier,
    Tucker,
    WeightedSum,
)
from structnet.trees.vocabulary import Vocabulary

AGGREGATORS = {
    "sum": WeightedSum,
    "child-sum": ChildSum,
    "full": FullTensor,
    "tucker": Tucker,
    "cp": CP,
    "tensor-train": TensorTrain,
}


def build_model(config: Mapping[str, Any]) -> nn.Module:
    """The untrained model that ``config.json`` describes.

    Args:
        config: the settings, the vocabulary and the classes.

    Raises:
        ValueError: settings that exclude each other.
    """
    settings = config["settings"]
    task = TASKS[settings["task"]]
    vocabulary = Vocabulary.from_dict(config["vocabulary"])
    aggregator = AGGREGATORS[settings["aggregator"]]
    if settings["rank"] is not None:
        aggregator = partial(aggregator, rank=settings["rank"])
    encoder = TreeLSTM(
        settings["hidden_size"],
        vocabulary.num_types,
        vocabulary.arity,
        task.inputs(),
        aggregator,
        settings["forget"],
        settings["bottom"],
    )
    head = TreeClassifier if task.num_trees == 1 else TreePairClassifier
    return head(encoder, len(config["classes"]))


def first_weights(config: Mapping[str, Any]) -> nn.Module:
    """The model as its run's seed initialises it."""
    with torch.random.fork_rng([]):
        torch.manual_seed(config["settings"]["seed"])
        return build_model(config)


def optimization(settings: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """The arguments of ``fit`` that say how the weights are changed.

    Args:
        settings: of the run.
        steps: how many there are in all epochs.
    """
    rate, decay = settings["learning_rate"], settings["weight_decay"]
    if settings["optimizer"] == "adadelta":
        return {"optimizer": partial(torch.optim.Adadelta, lr=rate, weight_decay=decay)}
    make: Callable = partial(torch.optim.AdamW, lr=rate, weight_decay=decay, fused=True)
    cycle = partial(OneCycleLR, max_lr=rate, total_steps=steps, pct_start=WARM_UP)
    return {
        "optimizer": make,
        "schedule": cycle,
        "schedule_per": "batch",
        "clip_norm": CLIP_NORM,
    }
