"""Training of the trees on the data of a run, and of the models of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from structnet.recipes.arrays import ArrayData
from structnet.recipes.softmax_tree.baselines import hierarchical, one_vs_all
from structnet.recipes.softmax_tree.settings import SoftmaxTreeRunSettings
from structnet.softmax_tree import leaves_trained, measured, retrained, train
from structnet.softmax_tree.members import further
from structnet.softmax_tree.training import Trained
from structnet.training.history import History

BASELINES = {"one-vs-all": one_vs_all, "hierarchical": hierarchical}


def trained(
    settings: SoftmaxTreeRunSettings,
    data: ArrayData,
    state_file: Path | None = None,
    callbacks: Sequence[Callable[[History], Any]] = (),
    progress: bool = False,
) -> list[Trained]:
    """Trains a run's trees on its data; those that grow finally learn from held-out examples too.

    Args:
        settings: settings of the run.
        data: data of the run.
        state_file: file of the first tree's state, beside which the others have theirs.
        callbacks: functions called with the history of the first tree after every iteration.
        progress: True to report on standard error how far the training is.
    """
    x, y, held_out = data.train.x, data.train.targets.numpy(), data.validation
    how: dict[str, Any] = {
        "num_classes": data.arrays.num_outputs,
        "validation": (held_out.x, held_out.targets.numpy()) if len(held_out) else None,
        "refit": True,
        "progress": progress,
        "state_file": state_file,
    }
    first = train(x, y, settings.training, settings.growth_told, callbacks=callbacks, **how)
    return [first, *further(first, settings.n_members - 1, x, y, None, **how)]


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
    (found,) = trained(settings, data)
    tree = found.tree
    if kind == "from-adaptive":
        both = data.everything()
        tree = retrained(tree, both.x, both.targets.numpy(), found.settings)
    details = {"chosen": asdict(found.settings), "iterations": len(found.history) - 1}
    return asdict(measured([tree], data.test)), details
