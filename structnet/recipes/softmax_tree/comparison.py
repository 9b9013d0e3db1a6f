"""The models of a comparison: what each learns, and what comes of it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from structnet.recipes.arrays import ArrayData
from structnet.recipes.softmax_tree.baselines import hierarchical, one_vs_all
from structnet.recipes.softmax_tree.settings import SoftmaxTreeRunSettings
from structnet.softmax_tree import (
    SoftmaxTree,
    leaves_trained,
    measured,
    retrained,
    train,
)
from structnet.softmax_tree.points import stacked

BASELINES = {"one-vs-all": one_vs_all, "hierarchical": hierarchical}


def fitted(
    kind: str, settings: SoftmaxTreeRunSettings, data: ArrayData
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Trains a model; gives its figures on the test examples, and what was chosen for it.

    Args:
        kind: one of the names of ``paper.NAMES``.
    """
    classes = data.arrays.num_outputs
    if kind in BASELINES:
        found = BASELINES[kind](data.train, data.test, classes, settings.training.seed)
        return found, {}
    tree, details = _tree(kind, settings, data, classes)
    return asdict(measured(tree, data.test)), details


def _tree(
    kind: str, settings: SoftmaxTreeRunSettings, data: ArrayData, classes: int
) -> tuple[SoftmaxTree, dict[str, Any]]:
    told = settings.training
    x, y, held_out = data.train.x, data.train.targets.numpy(), data.validation
    if kind == "flat":
        told = replace(told, k=classes)
    if kind == "leaves":
        tree, chosen = leaves_trained(x, y, told, classes)
        return tree, {"chosen": asdict(chosen)}
    trained = train(
        x,
        y,
        told,
        settings.growth_told,
        num_classes=classes,
        validation=(held_out.x, held_out.targets.numpy()) if len(held_out) else None,
        refit=True,
    )
    details = {"chosen": asdict(trained.settings), "iterations": len(trained.history) - 1}
    if kind != "from-adaptive":
        return trained.tree, details
    both = stacked(x, held_out.x), np.append(y, held_out.targets.numpy())
    return retrained(trained.tree, *both, trained.settings), details
