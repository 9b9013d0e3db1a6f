"""A fitted neural tree estimator on disk: one safetensors file, no pickle."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from structnet.neural_tree.member import Member
from structnet.neural_tree.parameters import NAMED
from structnet.training.checkpoint import CheckpointError, load_model, save_model

if TYPE_CHECKING:
    from structnet.neural_tree.base import NeuralTreeEstimator


def save(estimator: NeuralTreeEstimator, path: str | Path) -> None:
    """Writes an estimator; see :meth:`NeuralTreeEstimator.save`."""
    primitives = estimator.primitives
    if not (primitives is None or isinstance(primitives, str)):
        raise TypeError(
            "a file holds the name of a preset, not functions; expected 'primitives' to be None or "
            f"one of {sorted(NAMED)}. Got {type(primitives).__name__}."
        )
    config = {
        "estimator": type(estimator).__name__,
        "parameters": {k: _plain(v) for k, v in estimator.get_params(deep=False).items()},
        "members": [member.config() for member in estimator.members_],
        "fitted": estimator._fitted_config(),
    }
    for name, value in (config["parameters"] | config["fitted"]).items():
        json.dumps(value, default=partial(_refuse, name))
    save_model(path, nn.ModuleList(member.tree for member in estimator.members_), config)


def load(cls: type[NeuralTreeEstimator], path: str | Path) -> NeuralTreeEstimator:
    """Reads an estimator; see :meth:`NeuralTreeEstimator.load`."""
    weights, config = load_model(path)
    found = config.get("estimator", "a model that is no estimator")
    if found != cls.__name__:
        raise CheckpointError(f"{path} holds {found}; expected {cls.__name__}")
    estimator = cls(**config["parameters"])
    estimator._restore_fitted(config["fitted"])
    likelihood, outputs = estimator._task()
    primitives = estimator._primitives(outputs)
    estimator.members_ = [
        Member.from_config(each, primitives, likelihood) for each in config["members"]
    ]
    nn.ModuleList(member.tree for member in estimator.members_).load_state_dict(weights)
    return estimator


def _plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Path | torch.device) else value


def _refuse(name: str, value: Any) -> None:
    """Says which part of an estimator JSON cannot hold."""
    raise TypeError(
        f"a file holds text, numbers, booleans and None; expected {name!r} to be made of these. "
        f"Got {type(value).__name__}."
    )
