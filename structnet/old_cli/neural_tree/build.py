"""From settings to the modules and the first tree."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from structnet.cli.neural_tree.settings import IMAGE_PRESETS
from structnet.neural_tree import (
    Categorical,
    Likelihood,
    Limits,
    NeuralTree,
    Primitives,
    SquaredError,
    presets,
)

MAKERS = {
    **presets.PRESETS,
    "mlp": presets.mlp,
    "conv": partial(presets.conv, kernel=3, padding=1),
}


def build_tree(config: Mapping[str, Any], structure: Mapping[str, Any] | None = None) -> NeuralTree:
    """An untrained tree, its weights drawn by the run's seed.

    Args:
        config: of ``config.json``: the settings, and what the data are.
        structure: of a tree that has grown, as ``NeuralTree.config`` gives it; the root alone
            otherwise.

    Raises:
        ValueError: the modules are for images, and the data are rows.
    """
    settings, data = config["settings"], config["data"]
    if settings["preset"] in IMAGE_PRESETS and len(data["shape"]) != 3:
        raise ValueError(
            f"the preset {settings['preset']} is for images; {data['name']} has rows of "
            f"{data['shape'][0]} numbers (try --preset mlp)"
        )
    likelihood: Likelihood = SquaredError() if data["classes"] is None else Categorical()
    primitives = primitives_of(settings, likelihood.num_outputs(data["num_outputs"]))
    with torch.random.fork_rng([]):
        torch.manual_seed(settings["seed"])
        if structure is not None:
            return NeuralTree.from_config(structure, primitives, likelihood)
        return NeuralTree(primitives, data["shape"], likelihood)


def primitives_of(settings: Mapping[str, Any], num_outputs: int) -> Primitives:
    """The functions that make the modules of a tree."""
    width = {} if settings["width"] is None else {"width": settings["width"]}
    return MAKERS[settings["preset"]](num_outputs, **width).without(
        routers=settings["no_routers"], transformers=settings["no_transformers"]
    )


def optimizer_of(settings: Mapping[str, Any]) -> partial:
    """What gives the optimizer of some parameters."""
    return partial(torch.optim.Adam, lr=settings["learning_rate"])


def limits_of(settings: Mapping[str, Any]) -> Limits:
    """How far a tree may grow."""
    names = ("max_depth", "max_leaves", "min_gain")
    return Limits(**{name: settings[name] for name in names})
