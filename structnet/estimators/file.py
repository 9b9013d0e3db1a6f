"""A fitted estimator on disk: one safetensors file, no pickle; and whose a folder is."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from structnet.training.checkpoint import (
    MALFORMED,
    CheckpointError,
    bounded,
    check_settings,
    load_model,
    save_model,
)

if TYPE_CHECKING:
    from typing_extensions import Self

CLAIM = "fit.safetensors"
ITEMS = "items"  # of a parameter that is a dictionary


class OneFileMixin:
    """An estimator that goes to a file and comes back."""

    get_params: Callable[..., dict[str, Any]]  # scikit-learn's

    def save(self, path: str | Path) -> None:
        """Writes the fitted estimator to one safetensors file, without pickle.

        Its parameters, what ends in _, and its state go there.

        Raises:
            TypeError: a parameter, a class or a label is no plain value.
        """
        check_is_fitted(self)
        module, state = self._state()
        config: dict[str, Any] = {
            "estimator": type(self).__name__,
            "parameters": {
                name: _plain(value)
                for name, value in self.get_params(deep=False).items()
                if name not in state
            },
            # What scikit-learn calls fitted, but for the family's own state.
            "fitted": {
                name: _plain(value)
                for name, value in vars(self).items()
                if name.endswith("_")
                and not name.startswith("_")
                and name.rstrip("_") not in state
                and value is not module
            },
            **state,
        }
        for name, value in (config["parameters"] | config["fitted"]).items():
            json.dumps(value, default=partial(_refuse, name))
        save_model(path, module, config)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The estimator that :meth:`save` wrote.

        Raises:
            CheckpointError: there is no such file, or it holds something else.
        """
        weights, config = load_model(path)
        found = config.get("estimator", "a model that is no estimator")
        if found != cls.__name__:
            raise CheckpointError(f"{path} holds {found}; expected {cls.__name__}")
        try:
            estimator = cls(**{name: _given(value) for name, value in config["parameters"].items()})
            for name, value in config["fitted"].items():
                if value is not None:
                    setattr(estimator, name, _restored(value))
            with bounded(weights):
                shapes = {name: list(weight.shape) for name, weight in weights.items()}
                module = estimator._restore({**config, "shapes": shapes})
            module.load_state_dict(weights)
        except (RuntimeError, *MALFORMED) as error:
            raise CheckpointError(f"{path} does not describe a {cls.__name__}: {error}") from error
        return estimator

    # What a family gives

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        """The weights to save, and all else that JSON can hold, in place of parameters and fitted
        attributes of the same names."""
        raise NotImplementedError

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        """Builds what :meth:`_state` told of, and gives the module whose weights are to come; of
        these the ``"shapes"`` are told, by name."""
        raise NotImplementedError


def claim(
    folder: str | Path, estimator: BaseEstimator, free: tuple[str, ...], **facts: Any
) -> None:
    """Marks a new folder as that of one training, or makes sure that it is.

    A mark alone, of a training that was refused before its first step, binds nobody.

    Args:
        folder: place of the training's state.
        estimator: estimator whose parameters the training must share, if they are plain values.
        free: names of parameters that may differ.
        facts: others that it must share, in the parameters' place if they have the name of one.

    Raises:
        CheckpointError: the folder belongs to another training.
    """
    file = Path(folder, CLAIM)
    said = estimator.get_params(deep=False) | facts
    settings = {name: _as_text(value) for name, value in said.items() if name not in free}
    if file.exists() and any(each != file for each in file.parent.iterdir()):
        check_settings(file, load_model(file)[1], settings)
    else:
        save_model(file, nn.Identity(), settings)


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):  # JSON would make text of its keys
        return {ITEMS: [[_plain(key), _plain(each)] for key, each in value.items()]}
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.str, "values": value.tolist()}
    return str(value) if isinstance(value, Path | torch.device) else value


def _given(value: Any) -> Any:
    """A parameter from JSON."""
    if isinstance(value, dict) and value.keys() == {ITEMS}:
        return dict(value[ITEMS])
    return value


def _restored(value: Any) -> Any:
    """A fitted attribute from JSON, which has lists for tuples."""
    if isinstance(value, dict):
        return np.array(value["values"], dtype=value["dtype"])
    return tuple(value) if isinstance(value, list) else value


def _as_text(value: Any) -> str:
    """A value as a folder keeps it: 0, 0.0 and "0.0" are one number."""
    try:
        return str(value) if isinstance(value, bool) else str(float(value)).removesuffix(".0")
    except (TypeError, ValueError):
        return str(value)


def _refuse(name: str, value: Any) -> None:
    """Says which part of an estimator JSON cannot hold."""
    raise TypeError(
        f"a file holds text, numbers, booleans and None; expected {name!r} to be made of these. "
        f"Got {type(value).__name__}."
    )
