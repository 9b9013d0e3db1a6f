"""Training of a tree on the data of a run, and of the models of a comparison."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from structnet.recipes.arrays import ArrayData
from structnet.recipes.softmax_tree.baselines import hierarchical, one_vs_all
from structnet.recipes.softmax_tree.settings import SoftmaxTreeRunSettings
from structnet.softmax_tree import leaves_trained, measured, retrained, train
from structnet.softmax_tree.points import stacked
from structnet.softmax_tree.training import Trained

BASELINES = {"one-vs-all": one_vs_all, "hierarchical": hierarchical}


def trained(settings: SoftmaxTreeRunSettings, data: ArrayData, **more: Any) -> Trained:
    """Trains a tree on a run's data; one that grows finally learns from held-out examples too.

    Args:
        settings: settings of the run.
        data: data of the run.
        more: further arguments of :func:`structnet.softmax_tree.train`.
    """
    held_out = data.validation
    return train(
        data.train.x,
        data.train.targets.numpy(),
        settings.training,
        settings.growth_told,
        num_classes=data.arrays.num_outputs,
        validation=(held_out.x, held_out.targets.numpy()) if len(held_out) else None,
        refit=True,
        **more,
    )


def fitted(
    kind: str, settings: SoftmaxTreeRunSettings, data: ArrayData
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Trains a model; returns its figures on the test examples, and the settings chosen for it.

    Args:
        kind: name of the model, one of ``paper.NAMES``.
        settings: settings of the run.
        data: data of the run.
    """
    x, y, classes = data.train.x, data.train.targets.numpy(), data.arrays.num_outputs
    if kind in BASELINES:
        return BASELINES[kind](data.train, data.test, classes, settings.training.seed), {}
    if kind == "leaves":
        tree, chosen = leaves_trained(x, y, settings.training, classes)
        return asdict(measured([tree], data.test)), {"chosen": asdict(chosen)}
    if kind == "flat":
        settings = replace(settings, training=replace(settings.training, k=classes))
    found = trained(settings, data)
    tree = found.tree
    if kind == "from-adaptive":
        held_out = data.validation
        both = stacked(x, held_out.x), np.append(y, held_out.targets.numpy())
        tree = retrained(tree, *both, found.settings)
    details = {"chosen": asdict(found.settings), "iterations": len(found.history) - 1}
    return asdict(measured([tree], data.test)), details
