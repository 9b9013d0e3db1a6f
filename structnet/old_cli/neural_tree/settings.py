"""What a run of a neural tree is told: the flags given, and the data set's own for the others.

Nothing here imports torch.

Reference:
    Tanno et al., Adaptive Neural Trees, ICML 2019, Supp. C: batches of 512, a learning rate of
    1e-3, a patience of 5, 10 % for validation; 300, 100 and 200 epochs of refinement for SARCOS,
    MNIST and CIFAR-10. Smaller data sets take smaller batches here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from structnet.cli.names import is_table

TASK = "neural-tree"

Settings = dict[str, Any]


class Recipe(NamedTuple):
    """How a data set is modelled where nothing else is said.

    Args:
        preset: its modules.
        refine_epochs: of all modules together, once the tree has grown.
        batch_size: examples a step.
    """

    preset: str
    refine_epochs: int
    batch_size: int = 512


RECIPES = {
    "digits": Recipe("conv", 50, 64),
    "mnist": Recipe("mnist_c", 100),
    "cifar10": Recipe("cifar10_c", 200),
    "sarcos": Recipe("sarcos", 300, 64),  # for the 4,449 rows that are easily had
}
TABLE = Recipe("mlp", 100, 64)

# The modules, and the width of those that come in any width.
WIDTHS = {"mlp": 128, "conv": 16, "sarcos": 128}
IMAGE_PRESETS = ("mnist_a", "mnist_b", "mnist_c", "cifar10_a", "cifar10_b", "cifar10_c", "conv")
PRESETS = (*IMAGE_PRESETS, "sarcos", "mlp")

# Settings that runs did not always have, and what those that lack them were trained with.
LATER = {"n_init": 1, "min_gain": 0.0, "prune": None}

VARIANTS = {  # of Table 4: what the tree grows without
    "full": {},
    "no-routers": {"no_routers": True},
    "no-transformers": {"no_transformers": True},
}


def settings_of(given: Mapping[str, Any]) -> Settings:
    """All settings of a run.

    Args:
        given: the data set, and the settings that the user chose.

    Raises:
        ValueError: settings that do not go together.

    Example:
        >>> settings = settings_of({"data": "mnist", "epochs": 3})
        >>> settings["preset"], settings["epochs"], settings["refine_epochs"]
        ('mnist_c', 3, 100)
    """
    data = given["data"]
    recipe = TABLE if is_table(data) else RECIPES[data]
    preset = given.get("preset", recipe.preset)
    settings = {
        "task": TASK,
        "data": data,
        "data_dir": None,
        "target": None,
        "problem": None,
        "preset": preset,
        "width": WIDTHS.get(preset),
        "no_routers": False,
        "no_transformers": False,
        "max_depth": None,
        "max_leaves": None,
        **LATER,
        "epochs": 100,
        "patience": 5,
        "refine_epochs": recipe.refine_epochs,
        "batch_size": recipe.batch_size,
        "learning_rate": 1e-3,
        "train_size": None,
        "test_size": None,
        "validation_fraction": 0.1,
        "seed": 0,
        "device": "cpu",
        "threads": 1,
    } | given
    _check(settings)
    if is_table(data):
        settings["data"] = str(Path(settings["data_dir"] or "", data).resolve())
    if settings["data_dir"] is not None:
        # Whoever resumes may stand in another folder.
        settings["data_dir"] = str(Path(settings["data_dir"]).resolve())
    return settings


def _check(settings: Settings) -> None:
    data, preset = settings["data"], settings["preset"]
    if preset not in WIDTHS and settings["width"] is not None:
        raise ValueError(f"--width is for {', '.join(WIDTHS)}; the preset is {preset}")
    if settings["no_routers"] and settings["no_transformers"]:
        raise ValueError("--no-routers and --no-transformers together leave nothing to grow")
    for name, flag in (("target", "--target"), ("problem", "--task")):
        if settings[name] is not None and not is_table(data):
            raise ValueError(f"{flag} is for a table, FILE.csv; the data set is {data}")
    if data == "digits" and settings["data_dir"] is not None:
        raise ValueError("digits comes with scikit-learn; it has no files for --data-dir")


def recipes_table() -> str:
    """The data sets' defaults as the text of a table, for ``--help``.

    Example:
        >>> print(recipes_table().splitlines()[2])
          mnist     mnist_c    100            512
    """
    lines = [f"  {'data':<10}{'preset':<11}{'refine-epochs':<15}batch-size"]
    for name, recipe in {**RECIPES, "FILE.csv": TABLE}.items():
        lines.append(
            f"  {name:<10}{recipe.preset:<11}{recipe.refine_epochs:<15}{recipe.batch_size}"
        )
    return "\n".join(lines)
