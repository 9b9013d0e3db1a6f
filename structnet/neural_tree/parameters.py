"""The parameters of the neural tree estimators: which values they may have."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from structnet.estimators.inputs import check_bool, check_number
from structnet.neural_tree import presets
from structnet.neural_tree.tree import PATHS
from structnet.training.processes import own_device

NAMED = {"mlp": presets.mlp, **presets.PRESETS}
CHECKS = {  # name -> kind, low, high, are the ends outside, may it be None
    "max_depth": (Integral, 0, np.inf, False, True),
    "max_leaves": (Integral, 1, np.inf, False, True),
    "max_parameters": (Integral, 0, np.inf, False, True),
    "max_transformers": (Integral, 0, np.inf, False, True),
    "min_gain": (Real, -np.inf, np.inf, True, False),
    "min_samples": (Real, 0, np.inf, False, False),
    "epochs": (Integral, 1, np.inf, False, False),
    "refine_epochs": (Integral, 0, np.inf, False, False),
    "n_init": (Integral, 1, np.inf, False, False),
    "patience": (Integral, 1, np.inf, False, True),
    "batch_size": (Integral, 1, np.inf, False, False),
    "learning_rate": (Real, 0, np.inf, True, False),
    "validation_fraction": (Real, 0, 1, True, False),
    "prune": (Real, 0, 1, False, True),
    "n_members": (Integral, 1, np.inf, False, False),
}
YES_OR_NO = ("routers", "transformers", "standardize", "warm_start_solvers")


def check_parameters(estimator: BaseEstimator) -> None:
    """Refuses a parameter that is out of its range, or does not go with another.

    Raises:
        TypeError, ValueError: which, and what was expected.
    """
    for name, (kind, low, high, open_ends, optional) in CHECKS.items():
        value = getattr(estimator, name)
        check_number(name, value, kind, low, high, open=open_ends, optional=optional)
    for name in YES_OR_NO:
        check_bool(name, getattr(estimator, name))
    if not (estimator.routers or estimator.transformers):
        raise ValueError(
            "routers=False and transformers=False together leave nothing to grow; expected one "
            "of them to be True"
        )
    check_one_of("path", estimator.path, PATHS)
    own_device(estimator.device)
    if estimator.folder is not None and not isinstance(estimator.random_state, Integral):
        raise ValueError(
            "The 'random_state' parameter must be an int where there is a 'folder', so that an "
            f"interrupted fit can go on. Got {estimator.random_state!r} instead."
        )


def check_one_of(name: str, value: Any, allowed: Any) -> None:
    """Checks a parameter that is one of a few words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"The '{name}' parameter must be one of {list(allowed)}. Got {value!r} instead."
        )


def as_text(name: str, value: Any) -> str:
    """A parameter as a folder keeps it: 0 and 0.0 are one number."""
    real = CHECKS.get(name, (None,))[0] is Real and value is not None
    return str(float(value) if real else value)
