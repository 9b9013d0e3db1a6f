"""The hyper-parameters of neural trees: which values they may have."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from fresh_python import python

from structnet.neural_tree import NeuralTreeSettings

LIMITS = {"max_depth", "max_leaves", "max_transformers"}
NONE = {*LIMITS, "patience", "prune", "batch_size", "strength"}
WRONG = {
    "max_depth": -1,
    "max_leaves": 0,
    "max_transformers": -1,
    "min_gain": float("inf"),
    "gain_errors": -0.5,
    "prefer_split": 1,
    "min_samples": -1.0,
    "epochs": 0,
    "refine_epochs": -1,
    "patience": 0,
    "stop_refinement": 1,
    "n_init": True,
    "batch_size": 0,
    "learning_rate": 0.0,
    "weight_decay": -0.1,
    "warm_start_solvers": "no",
    "balance_routers": None,
    "lookahead": 0,
    "cache_bytes": -1,
    "prune": 1.5,
    "strength": 0.0,
    "seed": -1,
}


def test_every_hyper_parameter_has_a_range() -> None:
    assert list(WRONG) == [field.name for field in fields(NeuralTreeSettings)]


@pytest.mark.parametrize("name", WRONG)
def test_a_value_out_of_its_range_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"^The '{name}' parameter must be .* Got .* instead.$"):
        NeuralTreeSettings(**{name: WRONG[name]})


@pytest.mark.parametrize("name", WRONG)
def test_none_is_for_what_has_no_limit(name: str) -> None:
    if name in NONE:
        assert getattr(NeuralTreeSettings(**{name: None}), name) is None
    else:
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            NeuralTreeSettings(**{name: None})


def test_numbers_of_numpy_will_do() -> None:
    settings = NeuralTreeSettings(
        max_leaves=np.int64(3), min_gain=np.float32(0), warm_start_solvers=np.bool_(False)
    )
    assert settings == NeuralTreeSettings(max_leaves=3, min_gain=0.0, warm_start_solvers=False)


def test_settings_stay_as_they_are() -> None:
    settings = NeuralTreeSettings()
    with pytest.raises(FrozenInstanceError):
        settings.epochs = 3
    with pytest.raises(ValueError, match="'epochs'"):  # a changed copy is checked as well
        replace(settings, epochs=0)


def test_settings_need_neither_torch_nor_numpy() -> None:
    code = "import sys; from structnet.neural_tree import NeuralTreeSettings; print(*sys.modules)"
    known = set(python("-c", code).stdout.split())
    assert "structnet.neural_tree" in known and not {"torch", "numpy", "sklearn"} & known


def test_few_samples_are_taken_in_small_batches() -> None:
    sizes = [NeuralTreeSettings().batch(size) for size in (1, 50, 300, 1000, 60_000, 10**9)]
    assert sizes == sorted(sizes) and sizes[0] == 16 and sizes[-2:] == [512, 512]
    assert NeuralTreeSettings(batch_size=7).batch(10**6) == 7


def test_short_epochs_are_waited_for_longer() -> None:
    settings = NeuralTreeSettings(patience=3)
    for size in (10, 200, 5000, 10**6):
        waits, steps = settings.waits(size), size / settings.batch(size)
        assert waits == 3 or waits * steps >= 240 > (waits - 1) * steps
    assert settings.waits(10**6) == 3
    assert NeuralTreeSettings(patience=None).waits(10) is None
