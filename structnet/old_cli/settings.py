"""What a run is told: the flags that were given, and the recipe for those that were not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structnet.cli.recipes import ADADELTA_RATE, RECIPES

Settings = dict[str, Any]

# What may differ when a run goes on: where it is computed and where its data lie, not what it is.
PLACES = ("data_dir", "device", "threads")
TASKS = tuple(RECIPES)


def settings_of(given: Mapping[str, Any]) -> Settings:
    """All settings of a run.

    Args:
        given: the task, and the settings that the user chose.

    Raises:
        ValueError: a setting that the task or the model does not have.

    Example:
        >>> settings = settings_of({"task": "listops", "aggregator": "full", "epochs": 3})
        >>> settings["hidden_size"], settings["rank"], settings["epochs"]
        (7, None, 3)
    """
    task, aggregator = given["task"], given.get("aggregator", "tucker")
    recipe = RECIPES[task][aggregator]
    if recipe.rank is None and given.get("rank") is not None:
        raise ValueError(f"the aggregator {aggregator} has no rank; got --rank {given['rank']}")
    if task != "listops" and "max_depth" in given:
        raise ValueError(f"--max-depth is for listops; the task is {task}")
    adadelta = given.get("optimizer") == "adadelta"
    settings = {
        "task": task,
        "aggregator": aggregator,
        **recipe._asdict(),
        "learning_rate": ADADELTA_RATE if adadelta else recipe.learning_rate,
        "weight_decay": 0.0 if adadelta else recipe.weight_decay,
        "bottom": "zero",
        "optimizer": "adamw",
        "patience": None,
        "seed": 0,
        "train_size": None,
        "test_size": None,
        "max_depth": 20 if task == "listops" else None,
        "generate": False,
        "data_dir": None,
        "device": "cpu",
        # The matrices are small: a second thread gains little, and where other programs run, waits.
        "threads": 1,
    } | given
    if settings["data_dir"] is not None:
        # Whoever resumes may stand in another folder.
        settings["data_dir"] = str(Path(settings["data_dir"]).resolve())
    return settings


def differences(saved: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """The names of the settings that say something else than the saved ones, places apart."""
    return [
        name for name, value in settings.items() if name not in PLACES and saved.get(name) != value
    ]


def resumed(saved: Mapping[str, Any], given: Mapping[str, Any], run: str | Path) -> Settings:
    """The settings of a run that goes on: the saved ones, but for the places.

    Args:
        saved: the settings that the run was started with.
        given: what the user says this time.
        run: the run's folder.

    Raises:
        ValueError: the two contradict each other.

    Example:
        >>> resumed({"epochs": 3, "device": "cpu"}, {"epochs": 3, "device": "cuda"}, "runs/a")
        {'epochs': 3, 'device': 'cuda'}
        >>> resumed({"epochs": 3}, {"epochs": 5}, "runs/a")
        Traceback (most recent call last):
            ...
        ValueError: runs/a was started with epochs 3, and a run that goes on keeps its settings;
        got epochs 5
    """
    for name in differences(saved, given):
        label = name.replace("_", "-")
        raise ValueError(
            f"{run} was started with {label} {saved.get(name)}, and a run that goes on keeps "
            f"its settings; got {label} {given[name]}"
        )
    return {**saved, **{name: given[name] for name in PLACES if name in given}}
