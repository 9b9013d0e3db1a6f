"""A fitted estimator on disk, as one safetensors file without pickle; marks of training folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from structnet.checks import wrong
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
FOR_ONE = (
    "; a folder is for one training: give this one another folder, and a cross-validation or "
    "search, which trains several times, folder=None"
)
ITEMS, TUPLE = "items", "tuple"  # of a value that is a dictionary or a tuple


class OneFileMixin:
    """An estimator that can be saved to a file and loaded from it."""

    get_params: Callable[..., dict[str, Any]]  # scikit-learn's

    def save(self, path: str | Path) -> None:
        """Writes the fitted estimator to one safetensors file, without pickle.

        The file holds its parameters, the attributes whose names end in _, and its weights. In the
        place of a ``RandomState`` it has the seed that ``fit`` drew from it, ``seed_``, so that
        what is loaded has an int as its ``random_state``.

        Raises:
            TypeError: a parameter, a class or a label is not a plain value.
        """
        check_is_fitted(self)
        module, state = self._state()
        config: dict[str, Any] = {
            "estimator": type(self).__name__,
            "parameters": {
                name: _plain(self._seed_of(value) if name == "random_state" else value)
                for name, value in self.get_params(deep=False).items()
                if name not in state
            },
            # The attributes that scikit-learn calls fitted, except the family's own state.
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
            CheckpointError: the file does not exist, or holds something else.
        """
        weights, config = load_model(path)
        kind = config.get("estimator", "a model that is no estimator")
        if "estimator" not in config and {"model", "settings"} <= config.keys():
            raise CheckpointError(
                f"{path} holds a model of the command, whose inputs are scaled as in its training; "
                f"expected {cls.__name__}, or structnet.recipes.predictions.predict_with("
                f"{str(Path(path).parent)!r}, INPUT), which predicts with it"
            )
        if kind != cls.__name__:
            raise CheckpointError(f"{path} holds {kind}; expected {cls.__name__}")
        try:
            parameters = {name: _from_plain(value) for name, value in config["parameters"].items()}
            if unknown := parameters.keys() - set(cls._get_param_names()):  # type: ignore[attr-defined]  # of scikit-learn
                raise ValueError(
                    f"this version has no parameter {', '.join(sorted(unknown))}; fit it anew"
                )
            estimator = cls(**parameters)
            for name, value in config["fitted"].items():
                if value is not None:
                    setattr(estimator, name, _from_plain(value))
            with bounded(weights):
                shapes = {name: list(weight.shape) for name, weight in weights.items()}
                module = estimator._restore({**config, "shapes": shapes})
            if absent := module.state_dict().keys() - weights.keys():
                raise KeyError(min(absent))
            module.load_state_dict(weights)
        except (RuntimeError, *MALFORMED) as error:
            lacks = f"it lacks {error}, as if another version had saved it; fit it anew"
            what = lacks if isinstance(error, KeyError) else error
            raise CheckpointError(f"{path} does not describe a {cls.__name__}: {what}") from error
        return estimator

    def _seed_of(self, random_state: Any) -> Any:
        """A ``random_state`` as a file holds it: a source of seeds is replaced by the one drawn."""
        plain = random_state is None or isinstance(random_state, Integral)
        return random_state if plain else getattr(self, "seed_", random_state)

    # What a family implements

    def _state(self) -> tuple[nn.Module, dict[str, Any]]:
        """The weights to save, and other values for JSON, which replace parameters and fitted
        attributes of the same names."""
        raise NotImplementedError

    def _restore(self, config: dict[str, Any]) -> nn.Module:
        """Builds the estimator from what :meth:`_state` gave, and returns the module whose weights
        are loaded next; ``config["shapes"]`` has their shapes by name."""
        raise NotImplementedError


def check_seed(folder: Any, random_state: Any) -> None:
    """Refuses a source of seeds beside a folder: a fit with other seeds could not resume there.

    Raises:
        ValueError: there is a folder, and ``random_state`` is not an int.
    """
    if folder is not None and not isinstance(random_state, Integral):
        raise wrong("random_state", "an int if there is a 'folder'", random_state)


def claim(
    folder: str | Path, estimator: BaseEstimator, free: tuple[str, ...], **facts: Any
) -> None:
    """Marks a new folder as that of this training, or checks that a folder belongs to it.

    A folder that holds nothing but a mark may be taken over: its training was refused before its
    first step.

    Args:
        folder: folder for the state of the training.
        estimator: estimator of this training; its parameters must be those of the training that
            the folder belongs to.
        free: names of parameters that may differ.
        facts: other values that must be the same; one with the name of a parameter replaces it.

    Raises:
        CheckpointError: the folder belongs to another training.
    """
    file = Path(folder, CLAIM)
    params = estimator.get_params(deep=False) | facts
    settings = {name: _as_text(value) for name, value in params.items() if name not in free}
    if file.exists() and any(each != file for each in file.parent.iterdir()):
        try:
            check_settings(file, load_model(file)[1], settings)
        except CheckpointError as error:
            raise CheckpointError(f"{error}{FOR_ONE}") from None
    else:
        save_model(file, nn.Identity(), settings)


def _plain(value: Any) -> Any:
    """A value in the form in which JSON stores it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):  # JSON would make text of its keys
        return {ITEMS: [[_plain(key), _plain(each)] for key, each in value.items()]}
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.str, "values": value.tolist()}
    if isinstance(value, tuple):  # JSON would make a list of it
        return {TUPLE: [_plain(each) for each in value]}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path | torch.device) else value


def _from_plain(value: Any) -> Any:
    """A value from JSON, as :func:`_plain` stored it."""
    if isinstance(value, list):
        return [_from_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {ITEMS}:
        return {_from_plain(key): _from_plain(each) for key, each in value[ITEMS]}
    if value.keys() == {TUPLE}:
        return tuple(_from_plain(each) for each in value[TUPLE])
    return np.array(value["values"], dtype=value["dtype"])


def _as_text(value: Any) -> str:
    """A value as a folder's mark stores it: 0, 0.0 and "0.0" are the same number."""
    try:
        return str(value) if isinstance(value, bool) else str(float(value)).removesuffix(".0")
    except (TypeError, ValueError):
        if isinstance(value, partial):  # not its repr, which may tell where in memory things are
            named = (f"{name}={_as_text(each)}" for name, each in value.keywords.items())
            return f"partial({', '.join([*map(_as_text, (value.func, *value.args)), *named])})"
        name = getattr(value, "__qualname__", None)
        return str(value) if name is None else f"{value.__module__}.{name}"


def _refuse(name: str, value: Any) -> None:
    """Raises an error that names the part of an estimator that JSON cannot hold."""
    raise TypeError(
        f"a file holds text, numbers, booleans and None; expected {name!r} to be made of these. "
        f"Got {type(value).__name__}."
    )
